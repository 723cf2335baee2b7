"""The index of where virtual partitions end, as a running gateway writes, reads and builds it.

What is decided stands in `tenancy/virtual_partitions/index`. What is not obvious here:

* There is a topic on each physical cluster with virtual partitions, made when a tenant there first has some.
* Each process reads the topic and writes what it has found out itself. One process of all gateways reads logs that no
  client asks about: of a gateway's workers the one that does the upkeep, of several gateways the one whose name was
  written last (`scan_turn.py`).
* What could not be written is written later: the table of entries is what waits, and it has a bound.
* A gateway that starts waits for some seconds until it has read the topic. Nothing else waits for the index: while it
  cannot be read or written, ListOffsets answers without it.
"""
