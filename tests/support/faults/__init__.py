"""Networks that fail: a relay with faults, a broker and clients that are reached through it."""
