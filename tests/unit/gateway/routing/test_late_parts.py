"""A broker is late: a request with a timeout is answered before its client gives up, and the link is kept a while."""

import asyncio
import time

import pytest

from bifrost.gateway.routing import broker_link
from bifrost.wire.error_codes import ErrorCode
from unit.gateway.routing.routed import RoutedLine
from unit.gateway.routing.test_straight_relay import FIRST, SECOND, played

LATE, NOT_LEADER = ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NOT_LEADER_OR_FOLLOWER
OWN_S = 1.0
"""What a request of `RoutedLine` gives a broker."""


async def answered_late(line: RoutedLine, *numbers: int) -> None:
    """Wait until the client has these answers, no earlier and hardly later than the requests say."""
    began, got = time.monotonic(), list[int]()
    while len(got) < len(numbers):
        assert time.monotonic() - began < OWN_S + 0.5
        await asyncio.sleep(0.01)
        await line.turns(1)
        got += line.take_answers()
    assert tuple(got) == numbers
    assert time.monotonic() - began > OWN_S - 0.1


def hits(line: RoutedLine) -> int:
    return line.gateway.shared.lanes.in_flight_limits.hits["broker_answer", "acme"]


@pytest.mark.parametrize("partitions", [(0,), (0, 1)], ids=["of one broker", "of both"])
def test_the_client_is_answered_in_time_and_the_late_answer_is_dropped(
    monkeypatch: pytest.MonkeyPatch, partitions: tuple[int, ...]
) -> None:
    async def scenario(line: RoutedLine) -> None:
        stalled, well = line.brokers[FIRST], line.brokers[SECOND]
        line.send(line.produce(*partitions), line.produce(1))
        well.read()
        well.answer()
        await answered_late(line, 3, 4)

        assert line.codes(3) == [LATE, ErrorCode.NONE][: len(partitions)]
        assert line.codes(4) == [ErrorCode.NONE]
        assert hits(line) == 1
        line.send(line.produce(0, 1))
        await line.finish(lambda: line.take_answers() == [5])
        assert line.codes(5) == [0, 0]
        assert stalled.connections == 1, "the link is kept"
        assert stalled.seen == [(0, 1), (0, 3), (0, 5)]
        assert not line.link(FIRST).awaited
        assert line.cluster.asked_about.asked == 0, (
            "nothing waits for a look-up, which the broker might hold up"
        )

    played(scenario, monkeypatch)


def test_a_broker_that_answers_not_even_later_loses_its_link(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker_link, "LATE_S", 0.2)

    async def scenario(line: RoutedLine) -> None:
        link = line.link(FIRST)
        line.send(line.produce(0))
        await answered_late(line, 3)
        assert line.router.links.get(FIRST) is link

        await asyncio.sleep(0.3)

        assert line.router.links.get(FIRST) is not link
        assert hits(line) == 1, "it was late once"

    played(scenario, monkeypatch)


def test_a_request_of_less_time_is_not_held_up_by_one_of_more(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(line: RoutedLine) -> None:
        line.send(line.list_offsets(0))  # It has 60 s.
        line.send(line.produce(0))
        await asyncio.sleep(OWN_S + 0.1)

        link = line.link(FIRST)
        assert [one[0] is broker_link._drop for one in link.awaited] == [False, True]
        await line.finish(lambda: line.take_answers() == [3, 4])
        assert line.codes(4) == [LATE]
        assert line.listed_codes(3) == [0]

    played(scenario, monkeypatch)


def test_what_was_not_sent_in_time_is_not_sent_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(line: RoutedLine) -> None:
        away = line.brokers[FIRST]
        away.may_connect.clear()
        away.close()
        await line.turns()
        line.send(line.produce(0))
        await answered_late(line, 3)

        assert line.codes(3) == [NOT_LEADER]
        line.send(line.produce(0))
        await line.finish(lambda: line.take_answers() == [4])
        assert away.seen == [(0, 1), (0, 4)]

    played(scenario, monkeypatch)


@pytest.mark.parametrize("of_what", ["bytes", "answers"])
def test_what_is_held_for_a_late_broker_is_bounded(monkeypatch: pytest.MonkeyPatch, of_what: str) -> None:
    async def scenario(line: RoutedLine) -> None:
        link = line.link(FIRST)
        if of_what == "answers":
            monkeypatch.setattr(broker_link, "MOST_DROPPED", 0)
        line.send(line.produce(0, size=500_000 if of_what == "bytes" else 10))
        await answered_late(line, 3)

        assert line.codes(3) == [LATE]
        assert line.router.links.get(FIRST) is not link
        assert hits(line) == 1

    played(scenario, monkeypatch)
