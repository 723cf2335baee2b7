"""Filters about groups of consumers and their members.

What is not obvious here:

* The empty group ID is a group. Kafka lets old clients commit offsets under it, and all of them would share it: it is
  prefixed like any other, and only JoinGroup, which Kafka refuses, is refused here.
* The consumer protocol's payloads are built anew: the broker reads the topics out of them, to decide which offsets
  may expire and to assign partitions in KIP-848 groups, and more leniently than any client. What cannot be read to
  its last byte is refused.
"""
