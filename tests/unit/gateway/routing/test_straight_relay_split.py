"""Requests of several brokers in compiled code: their parts, the bound of how many leave at once, and their answers."""

import pytest

from bifrost.gateway.clients.client_connection import ClientConnection
from bifrost.gateway.routing.route_turns import AT_ONCE as ROUTED_AT_ONCE
from bifrost.gateway.routing.router import Router
from bifrost.routes.split_request import MANY_ITEMS
from bifrost.session.close_reason import CloseReason
from bifrost.wire.error_codes import ErrorCode
from support.gateways.in_process import raise_bug
from support.stage.fake_transport import framed
from unit.gateway.routing import routed
from unit.gateway.routing.routed import PARTITIONS, RoutedLine
from unit.gateway.routing.test_straight_relay import AT_ONCE, FIRST, SECOND, played


def test_the_parts_of_a_request_leave_within_the_turn_in_which_it_came(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scenario(line: RoutedLine) -> None:
        line.send(line.produce(0, 1, 2), line.produce(3, 0, acks=0), line.produce(1))

        assert len(line.link(FIRST).awaited) == 1
        assert len(line.link(SECOND).awaited) == 2
        for one in line.brokers.values():
            one.read()
        assert line.brokers[FIRST].seen == [(0, 1), (0, 3), (2, 3), (0, 4)]
        assert line.brokers[SECOND].seen == [(1, 2), (1, 3), (3, 4), (1, 5)]

        line.brokers[SECOND].answer()
        await line.turns()
        assert line.take_answers() == []
        line.brokers[FIRST].answer()
        await line.turns()
        assert line.take_answers() == [3, 5]
        assert line.codes(3) == [0, 0, 0]

    played(scenario, monkeypatch)


def test_so_many_partitions_of_several_brokers_leave_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(line: RoutedLine) -> None:
        count = AT_ONCE // PARTITIONS + ROUTED_AT_ONCE + 1
        line.send(*(line.produce(0, 1, 2, 3) for _ in range(count)))

        assert len(line.link(FIRST).awaited) == count - 1
        assert len(line.router.fresh) == 1
        await line.finish(lambda: len(line.take_answers()) > 0 and len(line.answers) == count + 2)
        assert [number for number, _ in line.answers] == list(range(1, count + 3))

    played(scenario, monkeypatch)


def test_an_answer_to_a_part_that_does_not_parse_ends_the_client(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(line: RoutedLine) -> None:
        line.send(line.produce(0, 1))
        broker = line.brokers[FIRST]
        broker.read()
        assert broker.socket is not None
        broker.socket.sendall(framed(b"\0\0\0\3\0\1"))
        await line.turns()

        assert line.take_answers() == []

    assert played(scenario, monkeypatch).gateway.ends == {CloseReason.BROKER_MISBEHAVED: 1}


@pytest.mark.parametrize("partitions", [(0,), (0, 1)], ids=["of one broker", "of both"])
@pytest.mark.parametrize("code", [ErrorCode.NONE, ErrorCode.NOT_LEADER_OR_FOLLOWER, None])
def test_records_do_not_wait_for_the_answer(
    monkeypatch: pytest.MonkeyPatch, partitions: tuple[int, ...], code: ErrorCode | None
) -> None:
    async def scenario(line: RoutedLine) -> None:
        before = line.gateway.tenants.rooms.room("acme").used
        line.send(line.produce(*partitions, size=70_000))
        asked = list(line.brokers.values())[: len(partitions)]
        while not all(one.pending for one in asked):
            await line.turns()
            for one in asked:
                one.read()
        assert line.gateway.tenants.rooms.room("acme").used == before

        if code is None:
            line.brokers[FIRST].close()
        for one in line.brokers.values():
            one.answer(error_code=code or 0)
        await line.turns()
        assert line.take_answers() == [3]
        wanted = ErrorCode.REQUEST_TIMED_OUT if code is None else code
        assert line.codes(3) == [wanted, 0 if code is None else code][: len(partitions)]

    played(scenario, monkeypatch)


def test_a_bug_where_answers_are_delivered_ends_the_client(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(line: RoutedLine) -> None:
        line.send(line.heartbeat(), line.empty_fetch())
        monkeypatch.setattr(ClientConnection, "flush", raise_bug)
        await line.turns()
        for one in line.brokers.values():
            one.read()
            one.answer()
        await line.turns()

        assert line.client.is_closed

    assert played(scenario, monkeypatch).gateway.ends == {CloseReason.INTERNAL_ERROR: 1}


def test_a_bug_where_a_large_answer_is_completed_ends_the_client(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(line: RoutedLine) -> None:
        monkeypatch.setattr(routed, "PARTITIONS", 2 * MANY_ITEMS)
        line.learn("orders")
        line.send(line.produce(*range(MANY_ITEMS + 1)))
        monkeypatch.setattr(Router, "join", raise_bug)
        await line.finish(lambda: line.connection.has_ended)

        assert line.take_answers() == []

    assert played(scenario, monkeypatch).gateway.ends == {CloseReason.INTERNAL_ERROR: 1}
