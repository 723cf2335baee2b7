"""How long and how much of what brokers have answered is known of one partition."""

FRESH_NS = 2_000_000_000
"""How long an answer stands, in nanoseconds: what was deleted, truncated or made anew meanwhile is noticed so late."""
KEPT_NS = 10_000_000_000
"""How long an answer is given, in nanoseconds, if what was told of the log within FRESH_NS says that it still has all
of its offsets: clients on a busy machine may be seconds apart."""
MAX_READERS = 16
"""Connections whose place is known, those that asked last: with `MAX_PARTITIONS` some MiB of a tenant at the most."""
MAX_ANSWERS = 256
"""Most answers that are kept of a partition: at its end there may be one for each record."""
