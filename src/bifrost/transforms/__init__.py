"""Transforms of records: pure functions over batches as columns, the same on the wire and over history. No I/O."""
