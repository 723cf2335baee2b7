"""What the gateway writes down about what its tenants did: exact counters, events, and how they become records."""
