"""The group of a virtual partition before the keys of records: see key_groups.pyx."""

from typing_extensions import Buffer

from bifrost.records.codec.memory import Memory, MemoryBudget

KEYED_GROUPS: int
"""Most groups of a compacted topic; also what says that a key begins with none."""
MOST_GROWTH: float
"""How many times as long records may become by their groups, at the most."""

def with_group(section: Buffer, count: int, group: int, budget: MemoryBudget) -> tuple[Memory, list[int]]:
    """Return records with a group before their keys, and which of them have no key: these are left out.

    Args:
        section: the records, unpacked.
        count: how many there are.
        group: from 0 to 127.
        budget: what the memory is taken from.
    Returns:
        The records, and the first hundred of those without a key, counted from 0.
    Raises:
        CorruptBatch: a record is not whole, or there are more or fewer.
        TooLarge, NoRoom: they come to more than the budget has.
        ValueError: there is no such group.
    """

def without_group(section: Buffer, count: int, group: int, budget: MemoryBudget) -> Memory:
    """Return records as their producer has written them, in which each key begins with the group.

    Args:
        section: the records, unpacked.
        count: how many there are.
        group: of all of them.
        budget: what the memory is taken from.
    Raises:
        CorruptBatch: a key does not begin so, a record is not whole, or there are more or fewer.
        TooLarge, NoRoom: they come to more than the budget has.
    """

def first_group(section: Buffer) -> int:
    """Return the group of the first record; 128: its key says none.

    Raises:
        CorruptBatch: the record is not whole.
    """
