"""Requests that name very many partitions: no turn of the event loop reads more than a part of one."""

import asyncio
import itertools
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest

from bifrost.gateway.routing import dispatch, route_turns, split_requests
from bifrost.routes.split import Split
from bifrost.wire.error_codes import ErrorCode

from .routed import NODES, PARTITIONS, RoutedLine, played

MANY = 20
"""Stands for a thousand."""

COUNT = 300


@pytest.fixture
def taken_apart(monkeypatch: pytest.MonkeyPatch) -> list[Split]:
    """Let few partitions be many, and a slice of a turn be over after one step; return the requests taken apart."""
    found: list[Split] = []

    def made(*arguments: Any) -> Split:
        found.append(Split(*arguments))
        return found[-1]

    for module in (dispatch, split_requests):
        monkeypatch.setattr(module, "MANY_ITEMS", MANY)
    monkeypatch.setattr(split_requests, "Split", made)
    ticks = itertools.count()

    def now_ns() -> int:
        return next(ticks) * 4 * route_turns.SLICE_NS // 5

    turn = SimpleNamespace(until_ns=lambda most_ns, _least_ns: now_ns() + most_ns)
    monkeypatch.setattr(route_turns, "monotonic_ns", now_ns)
    monkeypatch.setattr(route_turns, "turn_of_loop", lambda _loop: turn)
    return found


async def finish(line: RoutedLine, taken_apart: list[Split], answers: int, error_code: int = 0) -> None:
    """Let the brokers answer; no turn of the loop may have read more than it should."""
    read = [0]
    for one in line.brokers.values():
        one.may_log_in.set()
    for _ in range(3_000):
        read.append(sum(one.partitions for one in taken_apart))
        assert max(after - before for before, after in pairwise(read)) <= MANY
        line.take_answers()
        if len(line.answers) == answers:
            return
        for one in line.brokers.values():
            one.read()
            one.answer(error_code=error_code)
        await asyncio.sleep(0)
        line.pump()
    raise AssertionError("it has no end")


def test_a_request_to_several_brokers_is_taken_apart_in_steps(
    monkeypatch: pytest.MonkeyPatch, taken_apart: list[Split]
) -> None:
    async def scenario(line: RoutedLine) -> None:
        line.send(line.list_offsets(*range(COUNT)), line.heartbeat())
        await finish(line, taken_apart, 4)

        absent = [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION] * (COUNT - PARTITIONS)
        assert line.listed_codes(3) == [ErrorCode.NONE] * PARTITIONS + absent
        assert [number for number, _ in line.answers] == [1, 2, 3, 4]
        assert sum(one.partitions for one in taken_apart) == COUNT

    assert not played(scenario, monkeypatch).client.is_closed


def test_an_unusual_answer_of_one_broker_is_taken_in_steps(
    monkeypatch: pytest.MonkeyPatch, taken_apart: list[Split]
) -> None:
    async def scenario(line: RoutedLine) -> None:
        line.send(line.list_offsets(*([0] * COUNT)), line.heartbeat(), line.heartbeat())
        await finish(line, taken_apart, 5, ErrorCode.OFFSET_NOT_AVAILABLE)

        assert line.listed_codes(3) == [ErrorCode.OFFSET_NOT_AVAILABLE] * COUNT
        assert [number for number, _ in line.answers] == [1, 2, 3, 4, 5]
        assert sum(one.partitions for one in taken_apart) == COUNT

    assert not played(scenario, monkeypatch).client.is_closed


def test_a_client_that_leaves_meanwhile_leaves_nothing_behind(
    monkeypatch: pytest.MonkeyPatch, taken_apart: list[Split]
) -> None:
    async def scenario(line: RoutedLine) -> None:
        waiting = line.router._route_turns
        line.send(line.list_offsets(*(one % PARTITIONS for one in range(COUNT))))
        await line.turns(3)
        assert 0 < taken_apart[0].partitions < COUNT
        line.client.close()
        await line.turns(50)
        assert not waiting

    played(scenario, monkeypatch)


def test_records_of_a_client_that_leaves_meanwhile_are_sent(
    monkeypatch: pytest.MonkeyPatch, taken_apart: list[Split]
) -> None:
    async def scenario(line: RoutedLine) -> None:
        line.send(line.produce(*(one % PARTITIONS for one in range(COUNT))))
        await line.turns(3)
        assert 0 < taken_apart[0].partitions < COUNT
        line.client.close()
        await line.finish(lambda: sum(len(line.brokers[one].seen) for one in NODES) == COUNT + 2)

    played(scenario, monkeypatch)
