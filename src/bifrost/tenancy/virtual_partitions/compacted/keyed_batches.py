"""Batches of compacted topics: with the group before their keys as brokers have them, and as clients have them.

A batch keeps all that its header says but its length and its checksum, its codec too, and each record its timestamp,
value, headers and offset, with the gaps that compaction has left. The marks of a group (virtual_batches.py,
tagged_batches.py) say which batches are a consumer's own, as in other topics; the keys of those have to agree.
"""

from bifrost.records.codec.client_batch import as_batch
from bifrost.records.codec.memory import MemoryBudget
from bifrost.tenancy.virtual_partitions.compacted.key_groups import without_group
from bifrost.tenancy.virtual_partitions.tagged_batches import (
    MAX_KEYED,
    MAX_UNPACKED,
    Records,
    keyed_section,
    packed,
    sealed,
    unpacked,
)

_HEADER = 61


def keyed_batch(data: Records, group: int, budget: MemoryBudget) -> bytes:
    """Return a client's batch with the group before each key.

    Args:
        data: one whole batch with a right checksum.
        group: of its virtual partition.
        budget: what the request may unpack, of which the batch takes its unpacked bytes for good.
    Raises:
        NullKeys: records have no key.
        TooLarge: it has more than MAX_UNPACKED, or more than the budget has left: `bound` says which.
        RecordsError: the broker would not take it.
    """
    batch = as_batch(data)
    section = unpacked(batch, MAX_UNPACKED, MemoryBudget("request", budget.room()))
    budget.take(len(section))
    pieces = packed(batch.codec, keyed_section(section, batch.record_count, group))
    return b"".join(sealed(bytearray(batch.data[:_HEADER]), pieces))


def unkeyed_batch(data: memoryview, group: int, section: memoryview | None = None) -> bytes:
    """Return a stored batch as its producer has written it.

    Args:
        data: the batch, which has records.
        group: of the virtual partition whose it is.
        section: its records, unpacked, if they are; None: they are not.
    Raises:
        RecordsError: a key does not begin with the group, or the batch is broken.
    """
    batch = as_batch(data)
    keyed = unpacked(batch, MAX_KEYED) if section is None else section
    made = without_group(keyed, batch.record_count, group, MemoryBudget("batch", MAX_KEYED))
    return b"".join(sealed(bytearray(batch.data[:_HEADER]), packed(batch.codec, memoryview(made))))
