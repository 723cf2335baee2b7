"""Encryption of records: envelopes, sealed batches and sealed records, data keys and their caches. No I/O."""
