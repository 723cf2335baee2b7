"""What the gateway writes down about what its tenants did: exact counters, events, and how they become records.

What is not obvious here:

* A client's counters are forgotten only when nothing of it is in flight: an answer that comes later would count into
  nowhere.
"""
