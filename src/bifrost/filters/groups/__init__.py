"""Filters about groups of consumers and their members.

What is not obvious here:

* The empty group ID is a group. Kafka lets old clients commit offsets under it, and all of them would share it: it is
  prefixed like any other, and only JoinGroup, which Kafka refuses, is refused here.
* The gateway encodes the consumer protocol's payloads again: the broker reads topics from them, to decide which offsets
  may expire and to assign partitions in KIP-848 groups, and reads more leniently than any client. A payload that cannot
  be read to its last byte is refused.
"""
