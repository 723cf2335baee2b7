"""Stored batches of topics with virtual partitions: which virtual partition has each, and which batches none has."""
