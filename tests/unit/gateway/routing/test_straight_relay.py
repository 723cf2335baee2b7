"""Straight requests among others: in which order they reach the brokers, and how they are answered."""

import asyncio
import time

import pytest

from bifrost.gateway.routing.request import Request
from bifrost.gateway.routing.route_turns import AT_ONCE as ROUTED_AT_ONCE
from bifrost.gateway.routing.route_turns import SLICE_NS, turns_of
from bifrost.session.client_session import ClientSession
from bifrost.session.close_reason import CloseReason
from bifrost.tenancy.quotas.quota_entity import NAMESPACE
from bifrost.tenancy.quotas.quota_key import QuotaKey
from bifrost.wire.error_codes import ErrorCode

from .routed import NODES, RoutedLine, played

AT_ONCE = 64
"""As straight_relay.pyx says."""
FIRST, SECOND = NODES


def test_a_straight_request_leaves_within_the_turn_in_which_it_came(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(line: RoutedLine) -> None:
        line.send(line.produce(0), line.produce(1), line.produce(0))

        assert len(line.link(FIRST).awaited) == 2
        assert len(line.link(SECOND).awaited) == 1
        line.brokers[FIRST].read()
        assert line.brokers[FIRST].seen == [(0, 1), (0, 3), (0, 5)]

    played(scenario, monkeypatch)


@pytest.mark.parametrize("more", [-1, 0, 1, ROUTED_AT_ONCE, ROUTED_AT_ONCE + 1, 200])
def test_so_many_leave_at_once_and_the_others_take_turns(monkeypatch: pytest.MonkeyPatch, more: int) -> None:
    async def scenario(line: RoutedLine) -> None:
        count = AT_ONCE + more
        line.send(*(line.produce(0) for _ in range(count)))

        at_once = min(count, AT_ONCE + ROUTED_AT_ONCE)
        assert len(line.link(FIRST).awaited) == at_once
        assert len(line.router.fresh) == count - at_once
        assert line.client.is_reading() == (count == at_once)
        assert turns_of(asyncio.get_running_loop()).has("acme") == (count > at_once)

        await line.finish(lambda: len(line.take_answers()) > 0 and len(line.answers) == count + 2)
        assert [number for number, _ in line.answers] == list(range(1, count + 3))
        assert line.brokers[FIRST].seen == [(0, 1), *((0, number) for number in range(3, count + 3))]
        assert line.client.is_reading()

    played(scenario, monkeypatch)


def test_the_answer_that_is_next_goes_back_at_once_and_others_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(line: RoutedLine) -> None:
        line.send(line.produce(0), line.produce(1), line.produce(0, 1), line.heartbeat(), line.produce(1))
        await line.turns()
        for one in line.brokers.values():
            one.read()

        line.brokers[SECOND].answer()
        await line.turns()
        assert line.take_answers() == []
        line.brokers[FIRST].answer(1)
        await line.turns()
        assert line.take_answers() == [3, 4]
        line.brokers[FIRST].answer(1)
        await line.turns()
        assert line.take_answers() == [5]
        line.brokers[FIRST].answer(1)
        await line.turns()
        assert line.take_answers() == [6, 7]
        assert not line.router.turns

    played(scenario, monkeypatch)


@pytest.mark.parametrize("most", [2, 1000])
def test_what_the_router_answers_by_itself_comes_when_the_session_has_written_its_requests(
    monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """Given at once, the answer would let the session write what it is just writing once more."""

    async def scenario(line: RoutedLine) -> None:
        line.send(line.empty_fetch(), line.produce(0), line.empty_fetch(), line.produce(0), line.produce(1))
        assert line.take_answers() == []

        await line.turns()
        assert line.take_answers() == [3]
        await line.finish(lambda: len(line.take_answers()) > 0 and len(line.answers) == 7)
        assert [number for number, _ in line.answers] == list(range(1, 8))
        assert line.brokers[FIRST].seen == [(0, 1), (0, 4), (0, 6)]
        assert line.brokers[SECOND].seen == [(1, 2), (1, 7)]

    played(scenario, monkeypatch, max_in_flight=most)


def test_nothing_overtakes_what_waits_for_a_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(line: RoutedLine) -> None:
        line.brokers[FIRST].may_connect.clear()
        line.brokers[FIRST].close()
        await line.turns()

        line.send(line.produce(0), line.produce(0), line.produce(1))
        line.send(line.produce(0), line.produce(0, 1))
        await line.turns()

        assert len(line.link(FIRST).unsent) == 4
        await line.finish(lambda: len(line.take_answers()) > 0 and len(line.answers) == 7)
        assert [number for number, _ in line.answers] == list(range(1, 8))
        assert line.brokers[FIRST].seen == [(0, 1), (0, 3), (0, 4), (0, 6), (0, 7)]

    played(scenario, monkeypatch)


def test_nothing_overtakes_what_waits_for_a_login(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(line: RoutedLine) -> None:
        link, broker = line.link(FIRST), line.brokers[FIRST]
        line.send(line.produce(0))
        assert link.connection is not None
        link.connection.is_login_due = True
        link.broker_login_due()
        line.send(line.produce(0))
        await line.turns()
        broker.read()
        assert (len(link.awaited), len(link.unsent), link.task) == (1, 1, None)

        broker.answer()  # Now nothing is awaited, so the login is renewed.
        await line.turns()
        line.send(line.produce(0), line.produce(0))
        await line.turns()

        assert link.task is not None
        broker.read()
        assert broker.seen == [(0, 1), (0, 3)]
        await line.finish(lambda: len(line.take_answers()) > 0 and len(line.answers) == 6)
        assert broker.seen == [(0, 1), (0, 3), (0, 4), (0, 5), (0, 6)]

    played(scenario, monkeypatch)


def test_nothing_overtakes_what_waits_for_a_look_up(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(line: RoutedLine) -> None:
        line.send(line.produce(0, topic="billing"), line.produce(0))
        line.send(line.produce(0), line.produce(1))
        await line.turns()

        assert len(line.router.held) == 4
        assert not line.link(FIRST).awaited
        await line.finish(lambda: len(line.take_answers()) > 0 and len(line.answers) == 6)
        assert [number for number, _ in line.answers] == list(range(1, 7))
        assert line.brokers[FIRST].seen == [(0, 1), (4, 3), (0, 4), (0, 5)]

    played(scenario, monkeypatch)


def test_what_waited_behind_a_look_up_begins_in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(line: RoutedLine) -> None:
        loop, begun, ticks = asyncio.get_running_loop(), list[int](), 0
        begin = line.router._dispatch.begin

        def slow(request: Request, *, is_last: bool) -> bool:
            has_begun = begin(request, is_last=is_last)
            if has_begun:
                begun.append(ticks)
                time.sleep(SLICE_NS / 1e9)
            return has_begun

        def tick() -> None:
            nonlocal ticks
            ticks += 1
            loop.call_soon(tick)

        monkeypatch.setattr(line.router._dispatch, "begin", slow)
        line.send(*(line.produce(0, topic="billing") for _ in range(4)))
        assert len(line.router.held) == 4
        tick()
        await line.finish(lambda: len(line.take_answers()) > 0 and len(line.answers) == 6)

        assert len(begun) == 4
        assert len(set(begun)) == 4, "others have their turn behind each"
        assert [number for number, _ in line.answers] == list(range(1, 7))

    played(scenario, monkeypatch)


def test_nothing_overtakes_requests_of_the_tenant_that_wait_for_their_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scenario(line: RoutedLine) -> None:
        asked: list[int] = []

        def route_one() -> bool:
            asked.append(len(line.link(FIRST).awaited))
            return False

        turns_of(asyncio.get_running_loop()).wait("acme", route_one)
        line.send(line.produce(0))

        assert len(line.router.fresh) == 1
        assert not line.client.is_reading()
        await line.turns(3)
        assert asked == [0]
        assert len(line.link(FIRST).awaited) == 1
        assert line.client.is_reading()

    played(scenario, monkeypatch)


def test_a_lost_link_gives_each_its_error(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(line: RoutedLine) -> None:
        line.send(line.produce(0), line.list_offsets(2), line.produce(1), line.produce(0, 1))
        await line.turns()
        line.brokers[FIRST].may_connect.clear()

        line.brokers[FIRST].close()
        await line.turns()
        assert line.take_answers() == [3, 4]
        line.brokers[SECOND].read()
        line.brokers[SECOND].answer()
        await line.turns()

        assert line.take_answers() == [5, 6]
        # Whether the records are stored, the broker that is lost cannot say any more.
        late, not_leader = ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert [line.codes(one) for one in (3, 5, 6)] == [[late], [0], [late, 0]]
        assert line.listed_codes(4) == [not_leader]
        assert not line.connection.has_ended

    played(scenario, monkeypatch)


def test_what_was_not_sent_when_a_broker_is_not_reached_may_be_sent_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scenario(line: RoutedLine) -> None:
        broker = line.brokers[FIRST]
        broker.may_connect.clear()
        broker.close()
        await line.turns()
        line.send(line.produce(0), line.list_offsets(0), line.produce(1))

        broker.is_away = True
        broker.may_connect.set()
        await line.turns()

        assert line.take_answers() == [3, 4]
        assert line.codes(3) == line.listed_codes(4) == [ErrorCode.NOT_LEADER_OR_FOLLOWER]

    played(scenario, monkeypatch)


def test_an_answer_with_an_error_goes_the_long_way(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(line: RoutedLine) -> None:
        line.send(line.produce(0), line.produce(0), line.list_offsets(0))
        await line.turns()
        broker = line.brokers[FIRST]
        broker.read()

        broker.answer(1)
        broker.answer(1, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        broker.answer(1)
        await line.turns()

        assert line.take_answers() == [3, 4, 5]
        assert [*line.codes(3), *line.codes(4), *line.listed_codes(5)] == [
            0,
            ErrorCode.NOT_LEADER_OR_FOLLOWER,
            0,
        ]
        line.send(line.produce(0))
        assert len(line.router.held) == 1, "its leader is asked for again"

    played(scenario, monkeypatch)


@pytest.mark.parametrize("partitions", [(0,), (0, 1)], ids=["of one broker", "of both"])
@pytest.mark.parametrize("told_ms", [(0, 0), (9, 4), (3, 70_000)])
@pytest.mark.parametrize("is_next", [True, False], ids=["next", "waits for others"])
def test_an_answer_tells_the_longest_time_to_wait_of_its_brokers_and_the_quota(
    monkeypatch: pytest.MonkeyPatch, partitions: tuple[int, ...], told_ms: tuple[int, int], is_next: bool
) -> None:
    async def scenario(line: RoutedLine) -> None:
        quotas = {"acme": {NAMESPACE: {QuotaKey.PRODUCER_BYTE_RATE: 1000.0}}}
        line.gateway.shared.quotas.give(quotas)
        if not is_next:
            line.send(line.heartbeat())
        line.send(line.produce(*partitions, size=4_000 // len(partitions)))
        for broker, throttle_ms in zip(line.brokers.values(), told_ms, strict=True):
            broker.throttle_ms = throttle_ms
        monkeypatch.setattr(ClientSession, "_response", None)  # No answer is decoded for it.

        await line.finish(lambda: line.sent_numbers in line.take_answers())

        told = line.answer_to(line.sent_numbers).throttle_time_ms
        of_brokers = max(told_ms[: len(partitions)])
        assert told == of_brokers if of_brokers > 9 else 3000 < told <= 4500

    played(scenario, monkeypatch)


def test_what_no_request_asked_for_ends_the_link_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(line: RoutedLine) -> None:
        link, broker = line.link(FIRST), line.brokers[FIRST]
        assert broker.socket is not None
        broker.socket.sendall(b"\0\0\0\4\0\0\0\1")
        await line.turns()

        assert line.link(FIRST) is not link
        assert not line.connection.has_ended

    played(scenario, monkeypatch)


def test_an_answer_to_another_request_ends_the_client(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(line: RoutedLine) -> None:
        line.send(line.produce(0))
        broker = line.brokers[FIRST]
        broker.read()
        broker.pending[0].number += 1
        broker.answer()
        await line.turns()

        assert line.take_answers() == []

    assert played(scenario, monkeypatch).gateway.ends == {CloseReason.BROKER_MISBEHAVED: 1}


def test_a_broker_that_does_not_read_holds_up_no_other_and_mixes_nothing_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scenario(line: RoutedLine) -> None:
        for _ in range(20):
            line.send(line.produce(0, size=3_000), line.produce(1, size=3_000))
            line.brokers[SECOND].read()
        connection = line.link(FIRST).connection
        assert connection is not None
        assert connection.is_write_paused, "its socket is full"
        assert line.client.is_reading(), "answers bound what waits"
        assert len(line.brokers[SECOND].seen) == 21

        await line.finish(lambda: len(line.take_answers()) > 0 and len(line.answers) == 42)
        assert [number for number, _ in line.answers] == list(range(1, 43))
        assert line.brokers[FIRST].seen == [(0, 1), *((0, number) for number in range(3, 43, 2))]

    played(scenario, monkeypatch)


def test_without_answers_the_client_waits_for_a_broker_that_does_not_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scenario(line: RoutedLine) -> None:
        for _ in range(20):
            line.send(line.produce(0, acks=0, size=3_000), line.produce(1, acks=0))
        await line.turns()
        assert not line.client.is_reading()
        assert line.unread

        expected = [(0, 1), *((0, number) for number in range(3, 43, 2))]
        await line.finish(lambda: line.brokers[FIRST].seen == expected)
        assert line.client.is_reading()
        assert line.take_answers() == []

    played(scenario, monkeypatch)


def test_an_answer_lets_requests_go_on_that_the_session_has_held(monkeypatch: pytest.MonkeyPatch) -> None:
    """The session's requests come out of it while the router gives it an answer."""

    async def scenario(line: RoutedLine) -> None:
        line.send(*(line.produce(number % 2) for number in range(12)))
        assert len(line.link(FIRST).awaited) == len(line.link(SECOND).awaited) == 2
        assert not line.client.is_reading()

        await line.finish(lambda: len(line.take_answers()) > 0 and len(line.answers) == 14)
        assert [number for number, _ in line.answers] == list(range(1, 15))
        assert line.brokers[FIRST].seen == [(0, 1), *((0, number) for number in range(3, 15, 2))]

    played(scenario, monkeypatch, max_in_flight=4)


def test_what_was_produced_goes_on_when_the_client_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(line: RoutedLine) -> None:
        broker = line.brokers[FIRST]
        broker.may_connect.clear()
        broker.close()
        await line.turns()
        line.send(*(line.produce(0) for _ in range(4)), line.produce(0, topic="billing"), line.produce(0))

        line.client.protocol.connection_lost(None)
        line.cluster.asked_about.may_answer.set()
        broker.may_connect.set()
        await line.turns(30)
        broker.read()

        assert broker.seen == [(0, 1), *((0, number) for number in range(3, 7)), (4, 7), (0, 8)]
        assert broker.socket is not None
        assert broker.socket.recv(1) == b"", "the gateway has closed it"

    played(scenario, monkeypatch)


def test_what_is_held_goes_on_when_an_answer_ends_the_client(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(line: RoutedLine) -> None:
        unanswered, answered_at_once = line.produce(0, topic="billing", acks=0), line.empty_fetch()
        line.send(unanswered, answered_at_once, line.produce(2, topic="billing"))
        assert len(line.router.held) == 3
        router = line.router
        ended = line.connection.end
        monkeypatch.setattr(
            line.client, "writelines", lambda _frames: ended(CloseReason.CLIENT_CLOSED, "it does not read")
        )

        line.cluster.asked_about.may_answer.set()
        await line.turns(30)
        line.brokers[FIRST].read()
        assert router.is_closed
        assert [place for place, _ in line.brokers[FIRST].seen[1:]] == [4, 6]

    played(scenario, monkeypatch)
