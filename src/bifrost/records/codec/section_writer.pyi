"""Writes a batch from its header and columns: see section_writer.pyx."""

from bifrost.records.codec.columns import Columns
from bifrost.records.codec.memory import MemoryBudget

def write_batch(
    header: bytes,
    codec: int,
    columns: Columns,
    level: int | None,
    budget: MemoryBudget,
    *,
    is_create_time: bool,
) -> bytes:
    """Return a whole batch.

    Args:
        header: the 61 bytes before the records; length, checksum and maximum timestamp in it are replaced.
        codec: 0 (none) to 4 (zstd).
        columns: the records.
        level: see `compress` of compression.pyi.
        budget: what the memory is taken from that is needed meanwhile.
        is_create_time: whether the maximum timestamp is that of the records; else it is the log's and stays.
    Raises:
        ValueError: the columns do not fit together.
        TooLarge, NoRoom: the batch comes to more than the budget has, or than a length can say.
    """
