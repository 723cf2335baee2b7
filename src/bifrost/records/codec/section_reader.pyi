"""Reads the unpacked records of a batch into columns: see section_reader.pyx."""

from typing_extensions import Buffer

from bifrost.records.codec.columns import Columns
from bifrost.records.codec.memory import MemoryBudget

def read_section(data: Buffer, count: int, budget: MemoryBudget) -> Columns:
    """Return the records as columns, whose bytes stay in `data`.

    Args:
        data: the unpacked records, exactly.
        count: how many they are.
        budget: what the columns are taken from: 32 bytes per record, 16 per header.
    Raises:
        CorruptBatch: a record is malformed, or bytes are left behind the last one.
        TooLarge, NoRoom: the columns come to more than the budget has.
    """
