"""Keeps committed offsets of virtual partitions as long as brokers keep those of their consumer groups, no longer.

What is decided there stands in `tenancy/virtual_partitions/kept_offsets.py`. What is not obvious here:

* One process of a gateway does it, and each gateway of a fleet does: all of it may be done twice.
* Tenants have turns, so one with masses of groups keeps no other one's from being looked after.
* An offset is deleted only if the coordinator has said twice that its consumer group is gone.
"""
