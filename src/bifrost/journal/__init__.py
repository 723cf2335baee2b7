"""What the gateway writes down about what its tenants did: exact counters, events, and how they become records.

What is not obvious here:

* A client's counters are forgotten only when none of its requests is in flight: a later answer would not be counted.
"""
