"""Decides which tenant owns which name. No I/O.

What is not obvious here:

* The tenant sees a member ID that contains a client ID's prefix with a UUID of version 8 and without the prefix. A
  gateway cannot remember which IDs had the prefix, because the client may come back through another one.
  `tenancy/member_ids.py` proves that no two IDs become one.
* A null client ID becomes the bare prefix: a broker treats null as empty, and the clients without an ID of all tenants
  would share a quota.
* The empty transactional ID is not prefixed: Kafka refuses it everywhere, but with a prefix it would work.
"""
