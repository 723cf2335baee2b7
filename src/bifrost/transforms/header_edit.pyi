"""Adds, removes and renames headers of all records of a batch: see header_edit.pyx."""

from bifrost.records.codec.columns import Columns
from bifrost.records.codec.memory import MemoryBudget

REMOVED: int
"""In `changes`: the header is removed."""

def edit_headers(
    columns: Columns, changes: dict[bytes, int], texts: list[bytes], first: int, budget: MemoryBudget
) -> Columns:
    """Return the records with other headers; the same columns if nothing changes.

    Args:
        columns: the records.
        changes: by the key of a header that changes, -1 where it is removed, else the place of its new key in `texts`.
        texts: new keys, then key and value of each header that all records get.
        first: where in `texts` the headers begin that are added.
        budget: what the headers are taken from, as long as a column lives.
    Raises:
        ValueError: the columns do not fit together.
        TooLarge, NoRoom: the headers come to more than the budget has.
    """
