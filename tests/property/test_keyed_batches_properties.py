"""Whatever a client produces to a compacted topic, and whatever compaction leaves of it: what is left is as it was."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bifrost.records.codec.client_batch import as_batch
from bifrost.records.codec.columns import ColumnRecord
from bifrost.records.codec.errors import RecordsError
from bifrost.records.codec.memory import MemoryBudget
from bifrost.records.crc32c import crc32c
from bifrost.tenancy.virtual_partitions.compacted.key_groups import MOST_GROWTH, with_group, without_group
from bifrost.tenancy.virtual_partitions.compacted.keyed_batches import keyed_batch, unkeyed_batch
from bifrost.tenancy.virtual_partitions.partition_map import PartitionGroup
from bifrost.tenancy.virtual_partitions.virtual_batches import own_records
from support.clients.keyed_batches import records_of
from support.records.record_columns import batch_of

BYTES = st.one_of(st.binary(max_size=12), st.integers(60, 66).map(bytes), st.integers(8188, 8194).map(bytes))
HEADERS = st.lists(st.tuples(st.binary(max_size=5), st.none() | st.binary(max_size=5)), max_size=3).map(tuple)
RECORDS = st.lists(
    st.builds(ColumnRecord, st.just(0), st.integers(-(2**40), 2**40), BYTES, st.none() | BYTES, HEADERS),
    min_size=1,
    max_size=12,
).map(lambda rows: [one._replace(offset_delta=row) for row, one in enumerate(rows)])
GROUP, CODEC = st.integers(0, 127), st.integers(0, 4)


def room() -> MemoryBudget:
    return MemoryBudget("request", 1 << 24)


@given(RECORDS, GROUP, CODEC, st.sets(st.integers(0, 11)), st.integers(0, 2**40))
def test_what_compaction_leaves_comes_back(
    records: list[ColumnRecord], group: int, codec: int, gone: set[int], offset: int
) -> None:
    batch = batch_of(records, codec=codec, base_offset=offset, producer=(7, 1, 40))
    stored = keyed_batch(batch, group, room())

    assert stored[:8] + stored[12:17] + stored[21:61] == batch[:8] + batch[12:17] + batch[21:61]
    assert as_batch(stored).crc == crc32c(stored[21:])
    keyed = [one._replace(key=bytes([group]) + (one.key or b"")) for one in records]
    assert records_of(stored) == keyed
    # Batches in which nothing is left are of no group, and never looked into.
    gone -= {len(records) - 1}
    left = [one for one in keyed if one.offset_delta not in gone]
    cleaned = batch_of(
        left, codec=codec, base_offset=offset, last_offset_delta=len(records) - 1, producer=(7, 1, 40)
    )
    back = unkeyed_batch(memoryview(cleaned), group)
    assert records_of(back) == [one for one in records if one.offset_delta not in gone]
    assert back[:8] + back[12:17] + back[21:61] == cleaned[:8] + cleaned[12:17] + cleaned[21:61]
    assert as_batch(back).crc == crc32c(back[21:])


@given(RECORDS, GROUP, CODEC, st.data())
def test_broken_records_are_an_error_and_nothing_else(
    records: list[ColumnRecord], group: int, codec: int, data: st.DataObject
) -> None:
    section = bytearray(batch_of(records)[61:])
    for _ in range(data.draw(st.integers(1, 3))):
        section[data.draw(st.integers(0, len(section) - 1))] = data.draw(st.integers(0, 255))
    count = data.draw(st.sampled_from([len(records), len(records) - 1, len(records) + 1]))
    for change in (with_group, without_group):
        try:
            made = change(section, count, group, room())
        except RecordsError:
            continue
        memory = made[0] if isinstance(made, tuple) else made
        assert len(memory) <= len(section) * MOST_GROWTH


@given(st.lists(st.tuples(st.integers(0, 3), RECORDS, CODEC), min_size=1, max_size=6))
def test_each_consumer_gets_the_keys_of_its_own(parts: list[tuple[int, list[ColumnRecord], int]]) -> None:
    log, wanted, at = b"", dict[int, list[bytes | None]](), 0
    for group, records, codec in parts:
        producer = (7 + (group << 40), 0, 0)
        stored = keyed_batch(batch_of(records, codec=codec, base_offset=at, producer=producer), group, room())
        log += stored
        at += len(records)
        wanted.setdefault(group, []).extend(one.key for one in records)
    own = own_records(log, {PartitionGroup(group): 0 for group in wanted}, is_keyed=True)

    for group, keys in wanted.items():
        pieces = own.records[PartitionGroup(group)]
        data = memoryview(b"".join(pieces) if isinstance(pieces, tuple) else bytes(pieces))
        found = list[bytes | None]()
        while data:
            batch = as_batch(data[: int.from_bytes(data[8:12], "big") + 12])
            found += [] if batch.is_control else [one.key for one in records_of(batch.data)]
            data = data[len(batch.data) :]
        assert found == keys
