"""Who owns which name. Decides, does no I/O.

What is not obvious here:

* A member ID with a client ID's prefix is the tenant's with a UUID of version 8, because nobody may remember which
  IDs had the prefix: the client may come back through another gateway. `tenancy/member_ids.py` proves that no two IDs
  become one.
* A null client ID becomes the bare prefix: a broker takes null for empty, and all tenants' clients without an ID
  would share a quota.
* The empty transactional ID is not prefixed: Kafka refuses it everywhere, prefixed it would work.
"""
