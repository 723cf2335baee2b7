from typing import Any

import pytest

from bifrost.pipeline.stored.topic_log import OffsetRange
from bifrost.pipeline.stored.virtual.listed_offsets import Difference
from bifrost.pipeline.stored.virtual.stored_index import index_differences, split_at
from bifrost.tenancy.virtual_partitions.index.index_entry import IndexEntry
from bifrost.tenancy.virtual_partitions.index.log_piece import BatchMark
from bifrost.tenancy.virtual_partitions.partition_map import PartitionMap

PLACE = ("t", 1)
ENDS = {0: 100, 1: 50}
OWN = {1: 100, 3: 50, 2: 70}
"""Of virtual partitions; the last one is of another physical one."""


def entry(ends: dict[int, int] = ENDS, begin: int = 0) -> IndexEntry:
    return IndexEntry(bytes(16), begin, 100, BatchMark(99, 0, 7), ends)


def found(one: IndexEntry, own: dict[int, int] = OWN, start: int = 0, **options: Any) -> list[Difference]:
    own_options = {"is_same_log": True, "is_compacted": False, **options}
    return list(index_differences(PLACE, PartitionMap(5, 2), one, own, start, **own_options))


def test_a_right_entry_is_no_difference() -> None:
    assert found(entry()) == []
    # Of a group that there is not in this physical partition, nor in the configuration.
    assert found(entry(ENDS | {2: 30})) == []


@pytest.mark.parametrize(
    ("ends", "virtual", "expected", "answered"),
    [
        ({0: 100, 1: 49}, 3, "50", 49),
        ({0: 100, 1: 51}, 3, "50", 51),
        ({0: 100}, 3, "50", 0),
        ({0: 99, 1: 50}, 1, "100", 99),
    ],
)
def test_a_wrong_end_is_told(ends: dict[int, int], virtual: int, expected: str, answered: int) -> None:
    assert found(entry(ends)) == [Difference("t", virtual, "index", expected, answered)]


def test_the_last_record_may_have_been_deleted_since() -> None:
    own = {1: 100}
    assert found(entry(), own, start=50) == []
    assert found(entry(), own, start=60) == []
    assert found(entry(), own, start=49) == [Difference("t", 3, "index", "0 to 49", 50)]
    assert found(entry({0: 1}), {}, start=100) == []


def test_an_entry_may_begin_behind_the_start_of_the_log() -> None:
    assert found(entry({0: 100}, begin=60)) == []
    assert found(entry(ENDS, begin=60)) == [Difference("t", 3, "index", "0", 50)]


def test_compaction_may_have_removed_the_last_record() -> None:
    assert found(entry(), {1: 100, 3: 20}, is_compacted=True) == []
    assert found(entry(), {1: 100, 3: 60}, is_compacted=True) == [
        Difference("t", 3, "index", "60 to 100", 50)
    ]


def test_an_entry_of_another_log_is_told_once() -> None:
    assert found(entry(), is_same_log=False) == [Difference("t", 1, "index", "the entry of another log", 100)]
    # Compaction has written the batch anew.
    assert found(entry(), is_same_log=False, is_compacted=True) == []


def test_a_range_ends_where_an_entry_ends() -> None:
    ranges = [
        OffsetRange("t", 1, 0, 60),
        OffsetRange("t", 1, 60, 140),
        OffsetRange("t", 1, 140, 200),
        OffsetRange("t", 0, 0, 200),
    ]
    assert split_at(ranges, {PLACE: entry()}) == [
        ranges[0],
        OffsetRange("t", 1, 60, 100),
        OffsetRange("t", 1, 100, 140),
        *ranges[2:],
    ]
    assert split_at(ranges[2:], {PLACE: entry()}) == ranges[2:]
    assert split_at([OffsetRange("t", 1, 0, 100)], {PLACE: entry()}) == [OffsetRange("t", 1, 0, 100)]
