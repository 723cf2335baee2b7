"""What the gateway writes down about what its tenants did: exact counters, events, and how they become records.

What is not obvious here:

* The counters of a client's messages are compiled (`usage.pyx`) and stand here, not in forwarding/, which adds to them
  as messages pass: the journal makes them, says what is counted (`tallies.py`), and takes out the numbers.
* A client's counters are forgotten only when none of its requests is in flight: a later answer would not be counted.
"""
