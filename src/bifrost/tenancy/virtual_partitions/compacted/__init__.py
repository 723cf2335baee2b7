"""Compacted topics with virtual partitions: the key of each record begins with the group of its virtual partition.

    client    key k             broker    group (one byte) k

A log cleaner keeps the last record of each key in a physical partition. With the group in front virtual partitions that
share one have no key in common, so each keeps its own last records, and a record without a value deletes no key of
another. Consumers get keys as they were written.
"""
