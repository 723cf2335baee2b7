"""The log is one of batches with some records each; what is read at a time is a few of them, as a Fetch has it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bifrost.tenancy.virtual_partitions.logs.log_cut import LogCut
from bifrost.tenancy.virtual_partitions.partition_map import PartitionGroup
from bifrost.tenancy.virtual_partitions.virtual_batches import UnfitBatch, around, marked_batch
from support.clients.record_batches import build_batch
from support.records.record_columns import marker_of

A, B, C = (PartitionGroup(one) for one in range(3))
GROUPS = (A, B, C)


def batch(group: int, base: int, records: int = 1, **fields: int) -> bytes:
    own = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0, **fields}
    made = marked_batch(build_batch([b"v"] * records, **own), group)
    whole = b"".join(made) if isinstance(made, tuple) else bytes(made)
    return base.to_bytes(8, "big") + whole[8:]


class Log:
    """Batches from an offset on: the group and the number of records of each."""

    def __init__(self, batches: list[tuple[int, int]], start: int = 0) -> None:
        self.start, self.batches = start, list[tuple[int, bytes]]()
        self.owners: dict[int, int] = {}
        at = 0
        for group, records in batches:
            self.batches.append((at + records, batch(group, at, records)))
            self.owners |= {offset: group for offset in range(at, at + records) if offset >= start}
            at += records
        self.end = at

    def read(self, offset: int, count: int) -> bytes:
        return b"".join([one for end, one in self.batches if end > offset][:count])

    def cut(
        self, losing: Mapping[PartitionGroup, int], keeping: frozenset[PartitionGroup], count: int = 3
    ) -> int | None:
        search = LogCut(self.start, losing, keeping)
        while search.offset is not None:
            assert self.start <= search.offset < max(losing.values())
            assert search.take(self.read(search.offset, count))
        return search.cut

    def is_exact(self, cut: int, losing: Mapping[PartitionGroup, int]) -> bool:
        """Whether each group loses just what it shall."""
        return all(
            (offset < cut) == (offset < losing.get(PartitionGroup(group), 0))
            for offset, group in self.owners.items()
        )


def test_all_of_all_partitions_is_lost_without_reading_anything() -> None:
    search = LogCut(3, dict.fromkeys(GROUPS, 9), frozenset())

    assert (search.offset, search.cut) == (None, 9)


def test_where_partitions_end_in_turn_the_cut_is_behind_the_last() -> None:
    log = Log([(A, 3), (B, 2), (A, 1), (B, 2)])

    assert log.cut({A: 7, B: 6}, frozenset()) == 6


def test_records_of_one_that_is_not_named_stay() -> None:
    log = Log([(A, 3), (B, 2), (A, 1)])

    assert log.cut({A: 3}, frozenset({B})) == 3
    assert log.cut({A: 4}, frozenset({B})) == 3
    assert log.cut({A: 6}, frozenset({B})) is None
    assert log.cut({B: 5}, frozenset({A})) is None


def test_an_offset_within_a_batch_is_exact() -> None:
    log = Log([(A, 5), (B, 5)])

    assert log.cut({A: 2}, frozenset({B})) == 2
    assert log.cut({A: 2, B: 7}, frozenset()) is None
    assert log.cut({A: 6, B: 7}, frozenset()) == 7


def test_what_is_before_the_start_counts_for_nobody() -> None:
    log = Log([(B, 4), (A, 4)], start=4)

    assert log.cut({A: 6}, frozenset({B})) == 6
    assert log.cut({A: 1}, frozenset({B})) == 4


def test_a_log_that_ends_too_early_is_told() -> None:
    search = LogCut(0, {A: 5}, frozenset({B}))

    assert search.take(batch(A, 0))
    assert not search.take(b"")


def test_markers_are_of_no_partition() -> None:
    marker = marker_of(batch(A, 0))

    assert around(marker, {A: 0, B: 0}) == (1, {}, {})


@pytest.mark.parametrize("cuts", [{-1: 0}, {512: 0}, {0: -1}])
def test_cuts_that_cannot_be_are_refused(cuts: dict[PartitionGroup, int]) -> None:
    with pytest.raises(ValueError, match="is not cut at"):
        around(b"", cuts)


def test_a_log_that_goes_back_is_unfit() -> None:
    with pytest.raises(UnfitBatch):
        around(batch(A, 5) + batch(A, 4), {A: 0})


@given(
    st.lists(st.tuples(st.sampled_from(GROUPS), st.integers(1, 4)), min_size=1, max_size=12),
    st.dictionaries(st.sampled_from(GROUPS), st.integers(0, 40), min_size=1),
    st.integers(0, 10),
    st.integers(1, 4),
)
def test_a_cut_is_found_if_there_is_one_and_is_exact(
    batches: list[tuple[int, int]], wanted: dict[PartitionGroup, int], start: int, count: int
) -> None:
    end = sum(records for _, records in batches)
    log = Log(batches, min(start, end))
    losing = {group: min(offset, log.end) for group, offset in wanted.items()}

    cut = log.cut(losing, frozenset(GROUPS) - losing.keys(), count)

    possible = [one for one in range(log.start, log.end + 1) if log.is_exact(one, losing)]
    assert (cut in possible) if possible else cut is None
