"""Records of the gateway's own batches: see record_reader.pyx."""

from typing import TypeVar

_Record = TypeVar("_Record", bound=tuple[int, int, bytes | None, bytes | None])

def read_records(
    data: bytes, kind: type[_Record], base_offset: int, base_timestamp: int, count: int
) -> list[_Record]:
    """Return the records of a batch, each a tuple of this type: offset, timestamp in ms, key, value.

    Args:
        data: the records, unpacked.
        kind: the type of tuple.
        base_offset: the batch's, which the records' are added to.
        base_timestamp: likewise, in milliseconds.
        count: how many records there are.
    Raises:
        ValueError: there are not as many, or one is not whole.
    """
