from dataclasses import replace
from typing import Any

import pytest

from bifrost.filters.steps import AtBroker
from bifrost.filters.virtual.logs import log_searches
from bifrost.filters.virtual.logs.log_searches import _AT_A_TIME, UNDECIDED, Bounds, LogSearches, Place
from bifrost.tenancy.virtual_partitions.logs.log_cut import LogCut
from bifrost.tenancy.virtual_partitions.partition_map import PartitionGroup, PhysicalPartition
from support.stage.stored_logs import log_told, offsets_told, own_batch

A, B = PartitionGroup(0), PartitionGroup(1)


def place(number: int) -> Place:
    return "orders", PhysicalPartition(number)


def answered(need: AtBroker | None, *answers: Any) -> AtBroker:
    assert need is not None
    return replace(need, answers=answers)


def begun(*numbers: int) -> LogSearches:
    """Return searches for a cut at 5 in logs of 9 records, which are read from their start."""
    searches = LogSearches([place(one) for one in numbers])
    start, end = (offsets_told("orders", dict.fromkeys(numbers, at)) for at in (0, 9))
    searches.take(answered(searches.first_need(1), start, end))
    for one in numbers:
        assert searches.bounds[place(one)] == Bounds(0, 9)
        searches.searches[place(one)] = LogCut(0, {A: 5}, frozenset({B}))
    return searches


def test_some_questions_are_on_their_way_at_a_time() -> None:
    searches = begun(*range(_AT_A_TIME + 2))
    need = searches.next_need(1)
    assert need is not None
    assert len(need.requests) == _AT_A_TIME
    searches.take(answered(need, *(log_told("orders", one, own_batch(0, 0, 9)) for one in range(_AT_A_TIME))))

    rest = searches.next_need(1)
    assert rest is not None
    assert [request.topics[0].partitions[0].partition for request, _ in rest.requests] == [8, 9]  # type: ignore[attr-defined]


def test_answers_are_taken_once() -> None:
    searches = begun(0)
    met = answered(searches.next_need(1), log_told("orders", 0, own_batch(0, 0, 2)))
    for _ in range(2):
        searches.take(met)

    assert searches.reads == 1
    assert searches.searches[place(0)].offset == 2


def test_a_request_reads_no_more_than_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    searches = begun(0, 1)
    monkeypatch.setattr(log_searches, "MAX_SCANNED_BYTES", 1)
    told = (log_told("orders", one, own_batch(0, 0, 2)) for one in (0, 1))
    searches.take(answered(searches.next_need(1), *told))

    assert searches.next_need(1) is None
    assert searches.errors == {place(0): UNDECIDED, place(1): UNDECIDED}


def test_a_log_that_does_not_say_whose_it_is_decides_nothing() -> None:
    searches = begun(0)
    old = bytearray(own_batch(0, 0, 2))
    old[16] = 1
    searches.take(answered(searches.next_need(1), log_told("orders", 0, bytes(old))))

    assert searches.next_need(1) is None
    assert searches.errors == {place(0): UNDECIDED}
