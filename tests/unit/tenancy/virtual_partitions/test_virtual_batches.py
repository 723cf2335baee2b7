import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.record.memory_records import MemoryRecords

from bifrost.records.crc32c import crc32c
from bifrost.tenancy.virtual_partitions.partition_map import PartitionGroup
from bifrost.tenancy.virtual_partitions.virtual_batches import (
    CORRUPT,
    FOREIGN_PRODUCER,
    MAX_PRODUCER_ID,
    OLD_FORMAT,
    SEVERAL,
    TRANSACTIONAL,
    UnfitBatch,
    around,
    first_batch,
    has_producer,
    last_offsets,
    latest_batches,
    marked_batch,
    of_group,
    own_records,
)
from support.clients.record_batches import build_batch, read_batches
from support.stage.counted_pauses import counted_pauses

HEADER = 61


def own_of(records: Any, group: int, from_offset: int) -> Any:
    """Return the records of one group alone."""
    return own_records(records, {PartitionGroup(group): from_offset}).records[PartitionGroup(group)]


def whole(records: Any) -> bytes:
    return b"".join(records) if isinstance(records, tuple) else bytes(records)


def producer_of(batch: bytes) -> tuple[int, int, int]:
    return struct.unpack_from(">qhi", batch, 43)


def is_right(batch: bytes) -> bool:
    length, crc = struct.unpack_from(">i", batch, 8)[0], struct.unpack_from(">I", batch, 17)[0]
    return length + 12 == len(batch) and crc == crc32c(batch[21:])


def at(offset: int, batch: bytes) -> bytes:
    """Return a batch as it is stored at an offset."""
    return struct.pack(">q", offset) + batch[8:]


def sealed(batch: bytearray) -> bytes:
    struct.pack_into(">I", batch, 17, crc32c(bytes(batch[21:])))
    return bytes(batch)


BATCH = build_batch([b"one", b"two"], producer_id=77, producer_epoch=3, base_sequence=5)
NAMELESS = build_batch([b"one", b"two"])


@pytest.mark.parametrize("size", [1, 5_000, 1_000_000])
@pytest.mark.parametrize("kind", [bytes, memoryview])
def test_a_batch_is_marked_in_its_producer_id_alone(kind: Any, size: int) -> None:
    batch = build_batch([b"v" * size], producer_id=77, producer_epoch=3, base_sequence=5)
    made = whole(marked_batch(kind(batch), 9))

    assert is_right(made)
    assert producer_of(made) == (77 + (9 << 40), 3, 5)
    assert made[:17] + made[21:43] + made[51:] == batch[:17] + batch[21:43] + batch[51:]


def test_batches_of_the_first_group_stay_as_they_are() -> None:
    assert marked_batch(BATCH, 0) is BATCH
    assert marked_batch(NAMELESS, 0) is NAMELESS


def test_a_batch_without_a_producer_gets_one() -> None:
    assert (has_producer(BATCH), has_producer(NAMELESS), has_producer(b"")) == (True, False, False)
    made = whole(marked_batch(NAMELESS, 2, 4000, 32_766))

    assert is_right(made)
    assert producer_of(made) == (4000 + (2 << 40), 32_766, 0)
    with pytest.raises(UnfitBatch, match="no producer ID"):
        marked_batch(NAMELESS, 2)


@pytest.mark.parametrize(
    ("records", "fault"),
    [
        (b"", CORRUPT),
        (BATCH[:40], CORRUPT),
        (BATCH[:-1], CORRUPT),
        (BATCH[:-1] + b"?", CORRUPT),
        (BATCH + BATCH, SEVERAL),
        (BATCH + b"\0", SEVERAL),
        (BATCH[:16] + b"\1" + BATCH[17:], OLD_FORMAT),
        (build_batch([b"x"], producer_id=1, base_sequence=0, is_transactional=True), TRANSACTIONAL),
        (sealed(bytearray(BATCH[:43] + struct.pack(">q", MAX_PRODUCER_ID) + BATCH[51:])), FOREIGN_PRODUCER),
    ],
)
@pytest.mark.parametrize("group", [0, 1])
def test_a_batch_that_cannot_be_marked_is_refused(records: bytes, fault: int, group: int) -> None:
    with pytest.raises(UnfitBatch) as unfit:
        marked_batch(records, group, 5, 0)

    assert unfit.value.fault == fault


def log_of(*groups: int, each: int = 3, size: int = 0, base: int = 0) -> bytes:
    """Return batches as a broker has them, one for each group in this order, from the offset `base` on."""
    log = b""
    for place, group in enumerate(groups):
        values = [b"%d-%d" % (place, number) + b"." * size for number in range(each)]
        batch = build_batch(values, producer_id=7, producer_epoch=0, base_sequence=0)
        log += struct.pack(">q", base + place * each) + whole(marked_batch(batch, group))[8:]
    return log


def shown(records: Any) -> list[tuple[int, int, int]]:
    """Return the first and the last offset of each batch, and how many records it has; a marker has none."""
    found, data = [], whole(records)
    while data:
        base, length, last = *struct.unpack_from(">qi", data), struct.unpack_from(">i", data, 23)[0]
        assert is_right(data[: length + 12])
        is_marker = struct.unpack_from(">h", data, 21)[0] & 0x20
        found.append((base, base + last, 0 if is_marker else struct.unpack_from(">i", data, 57)[0]))
        data = data[length + 12 :]
    return found


def test_there_is_one_marker_for_each_run_of_foreign_batches() -> None:
    log = log_of(0, 1, 1, 2, 0, 1, 2)

    assert shown(own_of(log, 0, 0)) == [(0, 2, 3), (3, 11, 0), (12, 14, 3), (15, 20, 0)]
    assert shown(own_of(log, 1, 0)) == [
        (0, 2, 0),
        (3, 5, 3),
        (6, 8, 3),
        (9, 14, 0),
        (15, 17, 3),
        (18, 20, 0),
    ]
    assert shown(own_of(log, 3, 0)) == [(0, 20, 0)]
    (own,) = (one for one in read_batches(whole(own_of(log, 2, 0))) if one.base_offset == 9)
    assert b"3-0" in own.payload


@pytest.mark.parametrize("last", [0, 63, 64, 8191, 8192, 1 << 20, 1 << 21, 1 << 28, 2**31 - 1])
def test_a_marker_is_a_commit_of_no_producer_at_the_last_offset(last: int) -> None:
    log = bytearray(log_of(1, each=1))
    struct.pack_into(">i", log, 23, last)
    made = whole(own_of(sealed(log), 0, 0))
    batch = MemoryRecords(made).next_batch()
    assert batch is not None

    assert is_right(made)
    assert (batch.is_control_batch, batch.is_transactional, batch.producer_id) == (True, True, -1)
    (marker,) = batch
    assert (marker.offset, marker.key, marker.value) == (last, b"\0\0\0\1", bytes(6))
    assert (marker.version, marker.type) == (0, 1)


def test_records_of_one_group_alone_are_not_copied() -> None:
    log = log_of(1, 1, size=5000)

    assert own_of(log, 1, 0) is log
    (piece,) = own_of(log, 1, 3)
    assert isinstance(piece, memoryview)
    assert piece.obj is log


def test_many_small_batches_become_one_piece() -> None:
    log = log_of(*[0, 1] * 500)

    (piece,) = own_of(log, 1, 0)
    assert isinstance(piece, bytes)
    assert len(shown(piece)) == 1000


def test_large_and_small_batches_keep_their_order() -> None:
    log = log_of(0, 1, 1, 0) + log_of(1, 0, 1, size=5000, base=12) + log_of(0, 1, base=21)
    found = own_of(log, 1, 0)

    assert [type(one) for one in found] == [bytes, memoryview, bytes, memoryview, bytes]
    assert [base for base, _, count in shown(found) if count] == [3, 6, 12, 18, 24]


def test_offsets_that_have_no_place_in_one_batch_are_skipped() -> None:
    far = 1 << 40
    log = log_of(1) + log_of(0, base=far) + log_of(1, base=far + 3)

    assert shown(own_of(log, 1, 0)) == [(0, 2, 3), (far + 2, far + 2, 0), (far + 3, far + 5, 3)]


def test_batches_out_of_order_are_not_passed_on() -> None:
    with pytest.raises(UnfitBatch, match="before the one before it ends"):
        own_of(log_of(1, 0) + log_of(1), 1, 0)


def test_a_mark_beyond_all_groups_is_of_others() -> None:
    log = bytearray(log_of(1))
    struct.pack_into(">q", log, 43, 2**63 - 1)

    own = own_records(sealed(log), {PartitionGroup(one): 0 for one in range(512)})
    assert own.own_bytes == 0
    assert {shown(one)[0] for one in own.records.values()} == {(0, 2, 0)}
    assert last_offsets(sealed(log), 10) == (3, {})
    assert first_batch(sealed(log), 511, 0, -1) == (3, None)


def test_batches_before_the_offset_are_left_out() -> None:
    log = log_of(0, 1, 0)

    assert shown(own_of(log, 1, 5)) == [(3, 5, 3), (6, 8, 0)]
    assert shown(own_of(log, 1, 6)) == [(6, 8, 0)]
    assert shown(own_of(log, 1, 9)) == []


def test_an_incomplete_batch_at_the_end_is_left_out() -> None:
    log = log_of(0, 1)

    for size in range(len(log) // 2 + 1, len(log), 7):
        assert shown(own_of(log[:size], 0, 0)) == [(0, 2, 3)]
        assert shown(own_of(log[:size], 1, 0)) == [(0, 2, 0)]


def test_batches_that_say_nothing_are_of_the_first_group() -> None:
    assert own_of(NAMELESS, 0, 0) is NAMELESS
    assert shown(own_of(NAMELESS, 1, 0)) == [(0, 1, 0)]


@pytest.mark.parametrize(
    ("until", "expected", "position"),
    [
        (0, [(0, 2, 3)], 3),
        (3, [(0, 2, 3)], 3),
        (4, [(0, 2, 3), (3, 3, 0)], 4),
        (9, [(0, 2, 3), (3, 8, 0)], 9),
        (100, [(0, 2, 3), (3, 8, 0)], 9),
    ],
)
def test_the_marker_at_the_end_ends_where_it_is_told(
    until: int, expected: list[tuple[int, int, int]], position: int
) -> None:
    own = own_records(log_of(0, 1, 1), {PartitionGroup(0): 0, PartitionGroup(1): 4}, until)

    assert shown(own.records[PartitionGroup(0)]) == expected
    assert shown(own.records[PartitionGroup(1)]) == [(3, 5, 3), (6, 8, 3)]
    assert own.positions == {0: position, 1: 9}
    assert own.end == 9


def test_a_consumer_behind_what_was_read_stays_where_it_is() -> None:
    own = own_records(log_of(0, 1), {PartitionGroup(0): 50}, 9)

    assert (shown(own.records[PartitionGroup(0)]), own.positions, own.end) == ([], {0: 50}, 6)
    assert own_records(b"", {PartitionGroup(0): 50}) == ({0: b""}, {0: 50}, 0, 0, [])


def test_the_last_offset_of_each_group_is_told() -> None:
    log = log_of(0, 1, 0, 3, base=30)

    assert last_offsets(log, 1_000) == (42, {0: 38, 1: 35, 3: 41})
    # Whole batches, as far as they begin before the offset.
    assert last_offsets(log, 36) == (36, {0: 32, 1: 35})
    assert last_offsets(log, 37) == (39, {0: 38, 1: 35})
    assert last_offsets(log, 30) == (33, {})
    assert last_offsets(log[:-1], 1_000) == (39, {0: 38, 1: 35})
    assert last_offsets(b"", 1_000) == (-1, {})


def test_the_first_batch_of_a_group_from_an_offset_and_a_time_on_is_found() -> None:
    log = bytearray(log_of(0, 1, 1, 0, 1))
    size = len(log) // 5
    for at, time_ms in enumerate([100, 200, 300, 150, 250]):
        struct.pack_into(">q", log, at * size + 35, time_ms)

    def found(group: int, offset: int, time_ms: int = -1) -> tuple[int, int]:
        end, batch = first_batch(bytes(log), group, offset, time_ms)
        return end, -1 if batch is None else struct.unpack_from(">q", batch)[0]

    assert found(1, 0) == found(1, 5) == (6, 3)
    assert found(1, 6) == (9, 6)
    assert found(1, 0, 201) == (9, 6)
    assert found(1, 9, 250) == (15, 12)
    assert found(1, 9, 251) == found(2, 0) == (15, -1)
    assert first_batch(b"", 0, 0, -1) == (-1, None)


@pytest.mark.parametrize(
    "spoil", [log_of(1, 0) + log_of(1), log_of(0)[:16] + b"\1" + log_of(0)[17:]], ids=["order", "format"]
)
def test_nothing_is_looked_up_in_what_is_broken(spoil: bytes) -> None:
    with pytest.raises(UnfitBatch):
        last_offsets(spoil, 100)
    with pytest.raises(UnfitBatch):
        first_batch(spoil, 2, 0, -1)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ((16, b"\1"), OLD_FORMAT),
        ((8, b"\0\0\0\x10"), CORRUPT),
        ((8, b"\xff\xff\xff\xf0"), CORRUPT),
        ((23, b"\xff\0\0\0"), CORRUPT),
    ],
)
def test_broken_batches_are_not_passed_on(change: tuple[int, bytes], fault: int) -> None:
    log = bytearray(log_of(0, 1))
    log[change[0] : change[0] + len(change[1])] = change[1]

    with pytest.raises(UnfitBatch) as unfit:
        own_of(bytes(log), 0, 0)
    assert unfit.value.fault == fault


@given(st.lists(st.integers(0, 3), max_size=12), st.integers(0, 40))
def test_the_groups_together_have_everything_once(groups: list[int], from_offset: int) -> None:
    log = log_of(*groups)
    seen: list[int] = []
    own = own_records(log, {PartitionGroup(one): from_offset for one in range(4)})
    assert own.own_bytes <= len(log)
    assert own.own_bytes == len(log) or from_offset
    assert own.end == 3 * len(groups)
    assert set(own.positions.values()) == {max(from_offset, own.end)}
    for group in range(4):
        batches = shown(own.records[PartitionGroup(group)])
        # A consumer's position ends at the same place in each.
        ends = [last for _, last, _ in shown(log) if last >= from_offset]
        assert [last for _, last, _ in batches][-1:] == ends[-1:]
        seen += [base for base, _, count in batches if count]
    assert sorted(seen) == [base for base, last, _ in shown(log) if last >= from_offset]


@pytest.mark.parametrize(
    ("producer_id", "group", "expected"),
    [
        (7, 0, 7),
        (7, 1, -1),
        (7 + (1 << 40), 1, 7),
        (7 + (1 << 40), 0, -1),
        (-1, 0, -1),
        (-1, 1, -1),
        (1 << 40, 1, 0),
    ],
)
def test_a_producer_is_shown_to_its_own_group(producer_id: int, group: int, expected: int) -> None:
    assert of_group(producer_id, group) == expected


def test_a_producer_id_has_forty_bits() -> None:
    assert MAX_PRODUCER_ID == 2**40


def test_fetched_batches_are_walked_over_with_pauses() -> None:
    """Of a million small batches, or of a thousand that unpack to 16 MiB each."""
    small = b"".join(at(number, build_batch([b"v"])) for number in range(2_000))
    packed = build_batch(
        [bytes(100_000)],
        producer_id=7,
        producer_epoch=0,
        base_sequence=0,
        is_transactional=True,
        compression_type=1,
    )
    in_transactions = b"".join(at(number, packed) for number in range(20))

    for records, least in ((small, 30), (in_transactions, 20)):
        for walk in (
            lambda records: own_records(records, {0: 0, 1: 0}),
            lambda records: last_offsets(records, 1 << 40),
            lambda records: first_batch(records, 1, 0, -1),
            lambda records: around(records, {0: 10, 1: 10}),
            lambda records: latest_batches(records, 1 << 40),
        ):
            with counted_pauses() as pauses:
                walk(records)
            assert pauses.count >= least
