from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bifrost.records.codec.memory import MemoryBudget
from bifrost.records.crc32c import crc32c
from bifrost.tenancy.virtual_partitions.compacted.keyed_batches import keyed_batch
from bifrost.tenancy.virtual_partitions.partition_map import PartitionGroup
from bifrost.tenancy.virtual_partitions.shares.acquired_batches import Acquired, Range, acquired_batches
from bifrost.tenancy.virtual_partitions.tagged_batches import TransactionalBatch
from bifrost.tenancy.virtual_partitions.virtual_batches import CORRUPT, OLD_FORMAT, UnfitBatch, marked_batch
from support.clients.keyed_batches import plain_batch
from support.clients.record_batches import build_batch
from support.stage.counted_pauses import counted_pauses

EACH = 3
CONTROL = 0x20


def whole(records: Any) -> bytes:
    return b"".join(records) if isinstance(records, tuple) else bytes(records)


def stored(offset: int, batch: Any) -> bytes:
    """Return a batch as a broker has it at an offset."""
    return struct.pack(">q", offset) + whole(batch)[8:]


def batch_of(group: int, *, size: int = 0) -> bytes:
    values = [b"%d" % number + b"." * size for number in range(EACH)]
    return whole(marked_batch(build_batch(values, producer_id=7, producer_epoch=0, base_sequence=0), group))


def marker() -> bytes:
    """Return a marker of a transaction, of three offsets for once."""
    made = bytearray(build_batch([b"1", b"2", b"3"], producer_id=7, producer_epoch=0, is_transactional=True))
    made[22] |= CONTROL
    made[17:21] = struct.pack(">I", crc32c(bytes(made[21:])))
    return bytes(made)


def log_of(*groups: int | None, size: int = 0) -> bytes:
    """Return three records of each group, one batch after the other; None: a marker of a transaction."""
    return b"".join(
        stored(place * EACH, marker() if group is None else batch_of(group, size=size))
        for place, group in enumerate(groups)
    )


def divided(
    log: bytes, ranges: list[Range], groups: Iterable[int] = range(3), **options: Any
) -> dict[int, Acquired]:
    found = acquired_batches(log, ranges, [PartitionGroup(one) for one in groups], **options)
    return {int(group): one for group, one in found.items()}


def offsets_of(acquired: Acquired) -> list[int]:
    """Return the first offset of each batch."""
    data, found = whole(acquired.records), []
    while data:
        base, length = struct.unpack_from(">qi", data)
        found.append(base)
        data = data[12 + length :]
    return found


def test_each_virtual_partition_gets_its_own_batches_and_their_offsets() -> None:
    log = log_of(0, 1, 1, 0, 2)
    found = divided(log, [(0, 14, 1)])

    assert {group: one.ranges for group, one in found.items()} == {
        0: [(0, 2, 1), (9, 11, 1)],
        1: [(3, 8, 1)],
        2: [(12, 14, 1)],
    }
    assert {group: offsets_of(one) for group, one in found.items()} == {0: [0, 9], 1: [3, 6], 2: [12]}
    assert sum(one.own_bytes for one in found.values()) == len(log)


def test_a_part_of_a_batch_is_given_with_the_whole_batch() -> None:
    found = divided(log_of(0, 1), [(1, 1, 2), (2, 3, 1), (5, 5, 4)])

    assert {group: one.ranges for group, one in found.items()} == {
        0: [(1, 1, 2), (2, 2, 1)],
        1: [(3, 3, 1), (5, 5, 4)],
    }
    assert {group: offsets_of(one) for group, one in found.items()} == {0: [0], 1: [3]}


def test_batches_of_which_nothing_is_acquired_are_left_out() -> None:
    found = divided(log_of(0, 1, 0), [(6, 8, 1)])

    assert {group: (one.ranges, offsets_of(one)) for group, one in found.items()} == {0: ([(6, 8, 1)], [6])}


def test_what_is_nobodys_goes_with_the_next_batch() -> None:
    found = divided(log_of(0, None, 1, None), [(0, 11, 1)])

    assert {group: one.ranges for group, one in found.items()} == {0: [(0, 2, 1)], 1: [(3, 11, 1)]}
    assert {group: offsets_of(one) for group, one in found.items()} == {0: [0], 1: [6]}


def test_markers_alone_go_to_the_first() -> None:
    found = divided(log_of(None, None), [(0, 5, 1)])

    assert found == {0: Acquired((), [(0, 5, 1)], 0)}


def test_offsets_that_compaction_left_out_go_with_the_next_batch() -> None:
    log = stored(4, batch_of(1)) + stored(20, batch_of(0))
    found = divided(log, [(0, 22, 1)])

    assert {group: one.ranges for group, one in found.items()} == {1: [(0, 6, 1)], 0: [(7, 22, 1)]}


def test_what_belongs_to_an_unknown_virtual_partition_is_left_to_its_lock() -> None:
    found = divided(log_of(0, 5, None, 1), [(0, 11, 1)])

    assert {group: one.ranges for group, one in found.items()} == {0: [(0, 2, 1)], 1: [(6, 11, 1)]}


def test_what_is_behind_the_last_whole_batch_is_left_to_its_lock() -> None:
    assert divided(b"", [(0, 5, 1)]) == {}
    found = divided(log_of(0, 1)[:-1], [(0, 5, 1)])
    assert {group: one.ranges for group, one in found.items()} == {0: [(0, 2, 1)]}


def test_what_is_acquired_is_taken_in_the_order_of_offsets() -> None:
    found = divided(log_of(0, 0), [(4, 5, 2), (0, 1, 1)])
    assert found[0].ranges == [(0, 1, 1), (4, 5, 2)]


def test_large_batches_of_one_virtual_partition_are_not_copied() -> None:
    log = log_of(1, 1, size=5_000)
    found = divided(log, [(0, 5, 1)])[1]

    assert [memoryview(one).obj for one in found.records] == [log]


def test_batches_of_transactions_have_no_tag() -> None:
    plain = build_batch([b"v"], producer_id=7, producer_epoch=3, base_sequence=0, is_transactional=True)
    log = stored(0, TransactionalBatch(plain).tagged(0, 0)) + stored(
        1, TransactionalBatch(plain).tagged(2, 1)
    )
    claim = stored(2, TransactionalBatch(plain).claim(2, bytes(16)))
    found = divided(log + claim, [(0, 2, 1)])

    assert {group: one.ranges for group, one in found.items()} == {0: [(0, 0, 1)], 2: [(1, 2, 1)]}
    assert whole(found[0].records) == stored(0, plain)
    assert b"__virtual" not in whole(found[2].records)
    assert whole(found[2].records)[61:] == plain[61:]


def test_batches_of_compacted_topics_have_their_own_keys() -> None:
    plain = plain_batch([b"k"], producer=(7, 0, 0))
    budget = MemoryBudget("request", 1 << 20)
    log = b"".join(
        stored(offset, marked_batch(keyed_batch(plain, group, budget), group))
        for offset, group in enumerate((0, 2))
    )
    found = divided(log, [(0, 1, 1)], is_keyed=True)

    assert {group: one.ranges for group, one in found.items()} == {0: [(0, 0, 1)], 2: [(1, 1, 1)]}
    assert {whole(one.records)[61:] for one in found.values()} == {plain[61:]}


@pytest.mark.parametrize(
    ("log", "fault"),
    [
        (log_of(0) + log_of(0), CORRUPT),
        (log_of(0)[:16] + b"\1" + log_of(0)[17:], OLD_FORMAT),
        (log_of(0)[:23] + b"\xff" + log_of(0)[24:], CORRUPT),
    ],
)
def test_broken_batches_are_not_given(log: bytes, fault: int) -> None:
    with pytest.raises(UnfitBatch) as unfit:
        divided(log, [(0, 5, 1)])

    assert unfit.value.fault == fault


def test_there_are_pauses() -> None:
    log = log_of(*(number % 3 for number in range(3_000)))
    ranges = [(offset, offset, 1) for offset in range(3 * 3_000)]

    with counted_pauses() as pauses:
        divided(log, ranges)
    assert pauses.count > 30


@given(
    st.lists(st.sampled_from([0, 1, 2, 3, None]), max_size=12),
    st.sets(st.integers(0, 40)),
    st.lists(st.integers(0, 40), max_size=4),
)
def test_each_acquired_offset_goes_to_its_owner(
    groups: list[int | None], acquired: set[int], cuts: list[int]
) -> None:
    """Group 3 is not known. A range ends where one offset is missing, and at each cut."""
    ranges: list[Range] = []
    for offset in sorted(acquired):
        if ranges and ranges[-1][1] == offset - 1 and offset not in cuts:
            ranges[-1] = ranges[-1][0], offset, 1
        else:
            ranges.append((offset, offset, 1))
    found = divided(log_of(*groups), ranges)

    given_: dict[int, int] = {}
    for group, one in found.items():
        own = [offset for first, last, _ in one.ranges for offset in range(first, last + 1)]
        assert own == sorted(own)
        assert not given_.keys() & set(own)
        given_ |= dict.fromkeys(own, group)
        wanted = [
            place * EACH
            for place, of in enumerate(groups)
            if of == group and acquired & set(range(place * EACH, (place + 1) * EACH))
        ]
        assert offsets_of(one) == wanted
    for offset in acquired:
        owner = groups[offset // EACH] if offset // EACH < len(groups) else 3
        if owner == 3:
            assert offset not in given_
        elif owner is not None:
            assert given_[offset] == owner
        else:
            following = [one for one in groups[offset // EACH :] if one is not None]
            if not following or following[0] != 3:
                assert offset in given_
