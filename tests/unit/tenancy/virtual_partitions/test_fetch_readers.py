"""The division of a Fetch among virtual partitions, and of its answer, piece by piece; whole exchanges are in
filters/virtual/test_fetched_partitions.py."""

import random
from typing import Any

import pytest

from bifrost.tenancy.virtual_partitions.fetch_readers import FetchDivision, FetchReader, FetchReaders, ask
from bifrost.tenancy.virtual_partitions.partition_map import PartitionMap, VirtualPartition
from bifrost.tenancy.virtual_partitions.scanned_offsets import ScannedOffsets
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import FetchRequest, FetchResponse
from unit.filters.virtual.test_fetched_partitions import own, stored

KEY = ("orders", bytes(16))
MAPS = [PartitionMap(12, 4), PartitionMap(7, 3), PartitionMap.of_ratio(5).at(2)]


def wanted(number: int, offset: int, most: int = 100, epoch: int = 3) -> FetchRequest.FetchPartition:
    return FetchRequest.FetchPartition(
        partition=number, fetch_offset=offset, partition_max_bytes=most, current_leader_epoch=epoch
    )


def asked_for(
    partitions: PartitionMap, some: list[Any], scanned: ScannedOffsets | None = None, **fields: Any
) -> tuple[list[Any], dict[int, FetchReaders], list[int]]:
    """Return what the broker is asked for, the readers, and what there is not."""
    readers, refused = dict[int, FetchReaders](), list[int]()
    scanned = ScannedOffsets() if scanned is None else scanned
    begin_of, has_start = fields.get("begin_of"), fields.get("has_start", set())
    found = ask(readers, some, KEY, partitions, scanned, has_start, begin_of, refused.append)
    return found, readers, refused


@pytest.mark.parametrize("partitions", MAPS, ids=str)
def test_each_physical_partition_is_asked_for_once_from_the_lowest_offset_on(
    partitions: PartitionMap,
) -> None:
    chance = random.Random(3)
    for _ in range(200):
        some = [
            (number, chance.randrange(50), chance.randrange(-9, 50), chance.randrange(-1, 5))
            for number in chance.sample(range(-2, partitions.virtual + 2), partitions.virtual)
        ]
        found, readers, refused = asked_for(partitions, [wanted(*one) for one in some])

        known = [one for one in some if partitions.has(one[0])]
        assert refused == [one[0] for one in some if not partitions.has(one[0])]
        assert len({one.partition for one in found}) == len(found)
        for one in found:
            parts = [it for it in known if partitions.place_of(VirtualPartition(it[0]))[1] == one.partition]
            assert one.fetch_offset == min(it[1] for it in parts)
            assert one.partition_max_bytes == max(0, *(it[2] for it in parts), 0)
            assert one.current_leader_epoch == max(it[3] for it in parts)
            by_group = {partitions.place_of(VirtualPartition(it[0]))[0]: it for it in parts}
            of_groups = readers[one.partition].by_group
            assert {group: (it.partition, it.offset) for group, it in of_groups.items()} == {
                group: it[:2] for group, it in by_group.items()
            }
        assert sum(map(len, readers.values())) == len(known)


def test_what_was_scanned_is_not_asked_for_again() -> None:
    scanned = ScannedOffsets()
    scanned.note((KEY, 4), 10, 30, 3)
    [one], readers, _ = asked_for(MAPS[0], [wanted(4, 12)], scanned)

    assert one.fetch_offset == 30
    reader = readers[0].by_group[1]
    assert (reader.partition, reader.offset, reader.asked, reader.leader_epoch) == (4, 12, 30, 3)


def test_a_log_may_be_read_from_where_it_begins() -> None:
    scanned, asked_at = ScannedOffsets(), list[tuple[int, int, int]]()

    def begin_of(physical: int, group: int, offset: int) -> int:
        asked_at.append((physical, group, offset))
        return 2

    [one], _, _ = asked_for(MAPS[0], [wanted(5, 12)], scanned, begin_of=begin_of)
    assert (one.fetch_offset, asked_at) == (2, [(1, 1, 12)])
    scanned.note_begun((KEY, 5), 12)
    [one], _, _ = asked_for(MAPS[0], [wanted(5, 12)], scanned, begin_of=begin_of)
    assert one.fetch_offset == 12
    [one], _, _ = asked_for(MAPS[0], [wanted(5, 13)], scanned, begin_of=begin_of, has_start={(KEY, 5)})
    assert (one.fetch_offset, len(asked_at)) == (13, 1)


def answer(index: int, records: bytes | None, end: int, **fields: Any) -> FetchResponse.PartitionData:
    return FetchResponse.PartitionData(
        partition_index=index, high_watermark=end, last_stable_offset=end, records=records, **fields
    )


def as_bytes(records: Any) -> bytes:
    return b"".join(records) if isinstance(records, tuple) else bytes(records)


@pytest.mark.parametrize("partitions", MAPS, ids=str)
def test_each_virtual_partition_gets_its_own_records(partitions: PartitionMap) -> None:
    """Random logs of both kinds of partitions; what is kept is as it came, though the parts are changed."""
    chance = random.Random(4)
    for _ in range(200):
        groups = [chance.randrange(partitions.groups) for _ in range(chance.randrange(6))]
        log, end = stored(*groups), len(groups) + chance.randrange(2)
        numbers = sorted(chance.sample(range(partitions.virtual), chance.randrange(1, partitions.virtual)))
        _, readers, _ = asked_for(partitions, [wanted(number, chance.randrange(3)) for number in numbers])
        kept = dict[int, tuple[bytes, int, int]]()

        def keep(place: Any, partition: Any, records: Any, behind: int, kept: dict[int, Any] = kept) -> None:
            kept[place[1]] = as_bytes(records), partition.high_watermark, behind

        division = FetchDivision(ScannedOffsets(), is_committed=False, keep=keep, refuse=lambda *_: None)
        sent = [answer(index, log, end) for index in readers]
        shown = division.divided(sent, KEY, readers, is_keyed=False)

        assert sorted(one.partition_index for one in shown) == numbers
        assert kept == {index: (log, end, len(groups)) for index in readers}
        assert division.own_bytes + division.foreign_bytes == len(log) * len(readers)
        for one in shown:
            group, physical = partitions.place_of(VirtualPartition(one.partition_index))
            reader = readers[physical].by_group[group]
            assert as_bytes(one.records) == own(log, group, reader.offset)
            last = max((at + 1 for at, it in enumerate(groups) if it == group), default=0)
            reaches = end <= max(len(groups), reader.asked)
            assert one.high_watermark == (max(last, reader.offset) if reaches else end)


def test_a_partition_without_records_keeps_its_own_kind_of_nothing() -> None:
    for nothing in (b"", None):
        _, readers, _ = asked_for(MAPS[0], [wanted(0, 7), wanted(4, 9)])
        scanned = ScannedOffsets()
        division = FetchDivision(scanned, is_committed=True, keep=None, refuse=lambda *_: None)
        first, second = division.divided([answer(0, nothing, 9)], KEY, readers, is_keyed=False)

        assert (first.records, second.records) == (nothing, nothing)
        assert (first.partition_index, first.high_watermark, second.high_watermark) == (0, 9, 9)
        assert (len(scanned), division.own_bytes, division.foreign_bytes) == (0, 0, 0)


def test_errors_are_handed_over_with_their_readers() -> None:
    _, readers, _ = asked_for(MAPS[0], [wanted(0, 7), wanted(4, 9), wanted(1, 3)])
    refused = list[tuple[Any, list[tuple[Any, FetchReader]]]]()
    division = FetchDivision(
        ScannedOffsets(),
        is_committed=False,
        keep=None,
        refuse=lambda key, parts: refused.append((key, parts)),
    )
    sent = [answer(0, b"", -1, error_code=int(ErrorCode.OFFSET_OUT_OF_RANGE)), answer(3, b"", 5)]
    shown = division.divided(sent, KEY, readers, is_keyed=False)

    [(key, parts)] = refused
    assert (key, [(part.partition_index, reader.offset) for part, reader in parts]) == (KEY, [(0, 7), (4, 9)])
    assert shown == [part for part, _ in parts], "a partition that was not asked for is left out"
    assert all(one.error_code == ErrorCode.OFFSET_OUT_OF_RANGE for one in shown)


@pytest.mark.parametrize(
    ("damage", "code"),
    [
        (lambda log: log[:16] + b"\x01" + log[17:], "UNSUPPORTED_FOR_MESSAGE_FORMAT"),
        (lambda log: log * 2, "CORRUPT_MESSAGE"),
    ],
    ids=["old format", "twice"],
)
def test_batches_that_cannot_be_told_apart_are_errors(damage: Any, code: str) -> None:
    kept = list[Any]()
    _, readers, _ = asked_for(MAPS[0], [wanted(0, 0), wanted(4, 0)])
    division = FetchDivision(
        ScannedOffsets(),
        is_committed=False,
        keep=lambda *one: kept.append(one),
        refuse=lambda *_: None,
    )
    shown = division.divided([answer(0, damage(stored(0, 1)), 2)], KEY, readers, is_keyed=False)

    assert [(one.records, one.error_code) for one in shown] == [(b"", ErrorCode[code])] * 2
    assert not kept
