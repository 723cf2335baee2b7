"""Proposals of virtual partitions: what topics carry by the journal, and on how few physical partitions that fits."""
