"""Finds the records of a batch that a policy does not allow: see record_search.pyx."""

from bifrost.records.codec.columns import Columns

def find_records(
    columns: Columns, needs_key: bool, header_keys: list[bytes], max_bytes: int, most: int
) -> list[tuple[int, int]]:
    """Return the records that are not allowed, in their order, each with what is wrong with it.

    Args:
        columns: the records.
        needs_key: whether each must have a key.
        header_keys: headers that each must have, at most 32.
        max_bytes: most bytes of key, value and headers together.
        most: when so many are found, the search ends.
    Returns:
        Pairs of a record's index and -1: it has no key; -2: it is too large; else the index of a header that it lacks.
    Raises:
        ValueError: the columns do not fit together, or too many headers are asked for.
    """
