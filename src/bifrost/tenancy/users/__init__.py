"""Users that tenants make themselves, by SCRAM credentials in the shared state (KIP-554). No I/O.

What is not obvious here:

* A user name decides the tenant, before anything else of a client is known. So each tenant's names begin with a prefix
  of its own, which the operator gives, and no name can be another tenant's or hide one of the configuration.
* Where a prefix changes hands, the users that were made under it stay the earlier tenant's records, and can neither
  authenticate nor be seen by the later one.
"""
