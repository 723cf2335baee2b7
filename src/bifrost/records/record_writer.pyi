"""Encoded records: see record_writer.pyx."""

def encode_records(records: list[tuple[int, bytes | None, bytes | None]], base_timestamp: int) -> bytes:
    """Return records (timestamp in ms, key, value) encoded as the first records of a batch of format v2."""
