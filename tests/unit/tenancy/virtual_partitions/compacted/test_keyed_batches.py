import struct

import pytest

from bifrost.records.codec.client_batch import as_batch
from bifrost.records.codec.columns import ColumnRecord
from bifrost.records.codec.errors import CorruptBatch, TooLarge
from bifrost.records.codec.memory import MemoryBudget
from bifrost.records.crc32c import crc32c
from bifrost.tenancy.virtual_partitions.compacted.keyed_batches import keyed_batch, unkeyed_batch
from bifrost.tenancy.virtual_partitions.partition_map import PartitionGroup
from bifrost.tenancy.virtual_partitions.tagged_batches import (
    GROUPS,
    MAX_UNPACKED,
    NullKeys,
    TransactionalBatch,
    mark_of,
    opened,
)
from bifrost.tenancy.virtual_partitions.virtual_batches import (
    Own,
    UnfitBatch,
    around,
    first_batch,
    last_offsets,
    latest_batches,
    marked_batch,
    own_records,
)
from support.clients.keyed_batches import plain_batch, records_of
from support.records.record_columns import batch_of

PRODUCER = (77, 3, 5)


def room() -> MemoryBudget:
    return MemoryBudget("request", MAX_UNPACKED)


def stored(batch: bytes, group: int, at: int = 0) -> bytes:
    """Return a client's batch as the broker has it."""
    marked = marked_batch(keyed_batch(batch, group, room()), group)
    made = bytearray(b"".join(marked) if isinstance(marked, tuple) else marked)
    struct.pack_into(">q", made, 0, at)
    return bytes(made)


def compacted(batch: bytes, *rows: int) -> bytes:
    """Return a stored batch as compaction leaves it when only these records are the last of their keys."""
    was = as_batch(batch)
    kept = [one for one in records_of(batch) if one.offset_delta in rows]
    return batch_of(
        kept,
        codec=was.codec,
        base_offset=was.base_offset,
        last_offset_delta=was.last_offset_delta,
        producer=(was.producer_id, was.producer_epoch, was.base_sequence),
        attributes=was.attributes & 0x10,
    )


def emptied(batch: bytes, at: int) -> bytes:
    """Return it as compaction leaves it, for what the broker knows of its producer, when no record is kept."""
    header = bytearray(batch[:61])
    struct.pack_into(">qi", header, 0, at, 61 - 12)
    struct.pack_into(">i", header, 57, 0)
    struct.pack_into(">I", header, 17, crc32c(bytes(header[21:])))
    return bytes(header)


def of(own: Own, group: int) -> bytes:
    records = own.records[PartitionGroup(group)]
    return b"".join(records) if isinstance(records, tuple) else bytes(records)


def keys_in(records: bytes) -> list[bytes | None]:
    """Return the keys of fetched batches that an application sees."""
    found, at = [], 0
    while at < len(records):
        size = struct.unpack_from(">i", records, at + 8)[0] + 12
        batch = as_batch(memoryview(records)[at : at + size])
        assert crc32c(batch.data[21:]) == batch.crc
        found += [] if batch.is_control else [one.key for one in records_of(batch.data)]
        at += size
    return found


@pytest.mark.parametrize("codec", range(5))
def test_a_batch_keeps_all_but_its_keys(codec: int) -> None:
    records = [
        ColumnRecord(0, 0, b"a", b"1", ((b"header", b"x"), (b"empty", None))),
        ColumnRecord(1, -5, b"", None),
        ColumnRecord(2, 7, b"b" * 300, b""),
    ]
    batch = batch_of(records, codec=codec, producer=PRODUCER)
    made = keyed_batch(batch, 9, room())

    assert records_of(made) == [one._replace(key=b"\x09" + (one.key or b"")) for one in records]
    assert as_batch(made).crc == crc32c(made[21:])
    assert made[21:61] == batch[21:61]
    back = unkeyed_batch(memoryview(made), 9)
    assert records_of(back) == records
    assert back[12:17] + back[21:61] == batch[12:17] + batch[21:61]
    assert codec or back == batch


def test_records_without_keys_are_refused_by_their_places() -> None:
    with pytest.raises(NullKeys) as caught:
        keyed_batch(plain_batch([b"a", None, b"b", None]), 1, room())

    assert caught.value.rows == [1, 3]


def test_a_request_unpacks_a_bounded_number_of_bytes() -> None:
    large = batch_of([ColumnRecord(0, 0, b"k", bytes(MAX_UNPACKED // 2))], codec=4)
    budget = room()
    keyed_batch(large, 1, budget)
    with pytest.raises(TooLarge) as caught:
        keyed_batch(large, 1, budget)
    assert caught.value.bound == "request"
    plain = batch_of([ColumnRecord(0, 0, b"k", bytes(MAX_UNPACKED // 2))])
    with pytest.raises(TooLarge) as caught:
        keyed_batch(plain, 1, budget)
    assert caught.value.bound == "request"
    keyed_batch(plain_batch([b"small"]), 1, budget)


@pytest.mark.parametrize("codec", [0, 1, 4])
def test_a_batch_that_no_request_has_room_for_is_too_large(codec: int) -> None:
    with pytest.raises(TooLarge) as caught:
        keyed_batch(batch_of([ColumnRecord(0, 0, b"k", bytes(MAX_UNPACKED))], codec=codec), 1, room())

    assert caught.value.bound == "batch"


def test_the_largest_batch_that_is_written_is_read() -> None:
    least = batch_of([ColumnRecord(row, 0, b"", None) for row in range(500_000)])
    made = keyed_batch(least, 1, room())

    assert len(unkeyed_batch(memoryview(made), 1)) == len(least)


@pytest.mark.parametrize("codec", range(5))
def test_each_group_has_a_key_space_of_its_own(codec: int) -> None:
    log = b"".join(
        stored(plain_batch([b"k", b"l"], codec, producer=PRODUCER), group, 2 * group) for group in range(3)
    )
    own = own_records(log, {PartitionGroup(group): 0 for group in range(3)}, is_keyed=True)

    assert {group: keys_in(of(own, group)) for group in range(3)} == {
        group: [b"k", b"l"] for group in range(3)
    }
    assert set(own.positions.values()) == {6}
    assert last_offsets(log, 100, is_keyed=True) == (6, {0: 1, 1: 3, 2: 5})


@pytest.mark.parametrize("is_transactional", [False, True])
@pytest.mark.parametrize("codec", [0, 1, 4])
def test_a_batch_whose_first_record_has_gone_is_still_its_groups(codec: int, is_transactional: bool) -> None:
    batch = plain_batch([b"a", b"b", b"c"], codec, producer=PRODUCER, is_transactional=is_transactional)
    if is_transactional:
        whole = b"".join(TransactionalBatch(batch, key_group=2).tagged(2, 40))
        assert as_batch(whole).base_sequence == 40
    else:
        whole = stored(batch, 2)
    left = compacted(whole, 1)

    assert keys_in(of(own_records(left, {PartitionGroup(2): 0}, is_keyed=True), 2)) == [b"b"]
    assert keys_in(of(own_records(left, {PartitionGroup(1): 0}, is_keyed=True), 1)) == []
    assert last_offsets(left, 100, is_keyed=True) == (3, {2: 2})
    assert first_batch(left, 2, 0, -1, is_keyed=True) == (3, left)
    assert first_batch(left, 1, 0, -1, is_keyed=True) == (3, None)
    assert list(latest_batches(left, 100, is_keyed=True)[1]) == [2]
    assert around(left, {PartitionGroup(2): 0}, is_keyed=True) == (3, {}, {2: 0})


@pytest.mark.parametrize("is_transactional", [False, True])
def test_a_batch_without_records_is_no_ones(is_transactional: bool) -> None:
    batch = plain_batch([b"a"], 1, producer=PRODUCER, is_transactional=is_transactional)
    tagged = b"".join(TransactionalBatch(batch, key_group=1).tagged(1, 0)) if is_transactional else b""
    whole = tagged or stored(batch, 1)
    left = emptied(whole, 5)
    log = stored(plain_batch([b"k"]), 0) + left
    own = own_records(log, {PartitionGroup(0): 0, PartitionGroup(1): 0}, is_keyed=True)

    assert keys_in(of(own, 0)) == [b"k"]
    assert keys_in(of(own, 1)) == []
    assert own.positions == {0: 6, 1: 6}
    assert last_offsets(log, 100, is_keyed=True) == (6, {0: 0})
    assert opened(memoryview(left), is_keyed=True)[0] == GROUPS


def test_a_gap_before_a_batch_is_passed() -> None:
    log = stored(plain_batch([b"k"]), 0, 10) + stored(plain_batch([b"l"], producer=PRODUCER), 1, 90)
    own = own_records(log, {PartitionGroup(0): 3, PartitionGroup(1): 3}, is_keyed=True)

    assert keys_in(of(own, 0)) == [b"k"]
    assert keys_in(of(own, 1)) == [b"l"]


def test_keys_that_are_not_of_the_batchs_group_are_corrupt() -> None:
    for wrong in (plain_batch([b"text"]), plain_batch([b"\0ok", b"\1not"]), plain_batch([None])):
        with pytest.raises(UnfitBatch):
            own_records(wrong, {PartitionGroup(0): 0}, is_keyed=True)
        # Those of other groups are not looked into.
        own_records(wrong, {PartitionGroup(1): 0}, is_keyed=True)


def test_a_claim_has_a_key_that_compaction_keeps_apart() -> None:
    batch = plain_batch([b"a"], 4, producer=PRODUCER, is_transactional=True)
    claim = TransactionalBatch(batch, key_group=1).claim(0, b"mark")
    (record,) = records_of(claim)

    assert (record.key, record.value) == (b"\xff" + struct.pack(">q", 77), None)
    assert mark_of(claim) == b"mark"
    assert opened(memoryview(claim), is_keyed=True)[0] == GROUPS
    assert last_offsets(claim, 100, is_keyed=True) == (1, {})


def test_a_transactional_batch_without_keys_is_refused() -> None:
    batch = plain_batch([b"a", None], producer=PRODUCER, is_transactional=True)
    with pytest.raises(NullKeys) as caught:
        TransactionalBatch(batch, key_group=0)

    assert caught.value.rows == [1]
    TransactionalBatch(batch)


@pytest.mark.parametrize("codec", range(5))
@pytest.mark.parametrize("group", [0, 3])
def test_a_transactional_batch_comes_back_as_it_was(codec: int, group: int) -> None:
    batch = plain_batch([b"a", b"b"], codec, producer=PRODUCER, is_transactional=True)
    made = memoryview(b"".join(TransactionalBatch(batch, key_group=group).tagged(group, 5)))
    found, section = opened(made, is_keyed=True)

    assert found == group
    assert records_of(unkeyed_batch(made, group, section)) == records_of(batch)
    assert made[21:61] == batch[21:61]


def test_a_codec_that_there_is_not_is_corrupt() -> None:
    unknown = bytearray(plain_batch([b"a"]))
    unknown[22] |= 7
    with pytest.raises(CorruptBatch):
        keyed_batch(bytes(unknown), 0, room())
    with pytest.raises(CorruptBatch):
        opened(memoryview(bytes(unknown)), is_keyed=True)
