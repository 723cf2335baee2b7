"""The shell around a session: whom it reads, when it connects, what it looks up. Real sockets: tests/kafka."""

import asyncio
from typing import Any

import pytest

from bifrost.session.close_reason import CloseReason
from support.physical_names import physical_name
from support.stage import messages
from support.stage.fake_transport import framed, receive
from support.stage.messages import fetch, topic_id
from support.stage.playbook import request_frame, response_frame

from .line import HEARTBEAT, FakeCluster, FakeGateway, Line, authenticated, connected, played, settled

OWN = topic_id(physical_name("acme", "orders"))

pytestmark = pytest.mark.usefixtures("connects")


def test_a_broker_is_connected_to_when_the_first_request_for_it_comes(connects) -> None:
    async def scenario(gateway: FakeGateway) -> None:
        line = authenticated(gateway)
        await settled()
        assert connects.made == []

        line.send(HEARTBEAT, 4)
        assert not line.client.reading  # nothing piles up meanwhile
        await settled()

        assert connects.made == [("kafka-1.internal", 9092)]
        assert len(line.broker_side.transport.take_frames()) == 1
        assert line.client.reading

    played(scenario)


def test_requests_in_one_read_with_the_first_go_out_in_order() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        line = authenticated(gateway)
        receive(line.connection, framed(*(request_frame(HEARTBEAT, 4, number) for number in (7, 8, 9))))

        await settled()

        frames = line.broker_side.transport.take_frames()
        assert [frame[4:8] for frame in frames] == [number.to_bytes(4, "big") for number in (7, 8, 9)]

    played(scenario)


def test_answers_go_to_the_client() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        line = await connected(gateway)

        line.answer(response_frame(messages.HeartbeatResponse(), 4, 3))

        assert line.client.take_frames() == [response_frame(messages.HeartbeatResponse(), 4, 3)]

    played(scenario)


# -- backpressure


def test_a_client_that_does_not_read_is_not_read_and_nor_is_its_broker() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        line = await connected(gateway)

        line.connection.pause_writing()
        assert (line.client.reading, line.broker_side.transport.reading) == (False, False)

        line.connection.resume_writing()
        assert (line.client.reading, line.broker_side.transport.reading) == (True, True)

    played(scenario)


def test_a_client_that_only_asks_what_the_gateway_answers_is_not_read_either() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        line = Line(gateway)

        line.connection.pause_writing()
        assert not line.client.reading

        line.connection.resume_writing()
        assert line.client.reading

    played(scenario)


def test_while_the_broker_does_not_read_the_client_is_not_read_but_answers_go_on() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        line = await connected(gateway)

        line.broker_side.pause_writing()
        assert (line.client.reading, line.broker_side.transport.reading) == (False, True)

        line.broker_side.resume_writing()
        assert line.client.reading

    played(scenario)


def test_reading_stops_above_the_most_requests_in_flight() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        object.__setattr__(gateway.shared, "max_in_flight_requests", 2)
        line = await connected(gateway)
        assert line.client.reading

        line.send(HEARTBEAT, 4)
        assert line.client.reading, "a client that keeps to so many sends no more"
        line.send(HEARTBEAT, 4)
        assert not line.client.reading

        line.answer(response_frame(messages.HeartbeatResponse(), 4, 3))
        assert line.client.reading

    played(scenario)


def test_what_waits_to_be_written_is_bounded_on_both_sides() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        line = await connected(gateway)

        assert 0 < line.client.high_water_bytes == line.broker_side.transport.high_water_bytes <= 2**20

    played(scenario)


# -- look-ups


def test_topic_ids_are_looked_up_while_nothing_is_read() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        gateway.cluster.topics[OWN] = physical_name("acme", "orders")
        line = authenticated(gateway)

        line.send(fetch(OWN), 13)
        assert not line.client.reading
        await settled()

        assert gateway.cluster.asked == [{OWN}]
        assert len(line.broker_side.transport.take_frames()) == 1
        assert line.client.reading

    played(scenario)


def test_a_connection_never_has_two_look_ups_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """The budget of a tenant alone bounds them (forwarding/look_up_turns.py): requests wait, and answers do."""
    under_way: list[int] = []
    look_up = FakeCluster.look_up

    async def counted(self: FakeCluster, *arguments: Any) -> None:
        under_way.append(under_way[-1] + 1 if under_way else 1)
        await look_up(self, *arguments)
        under_way.append(under_way[-1] - 1)

    monkeypatch.setattr(FakeCluster, "look_up", counted)

    async def scenario(gateway: FakeGateway) -> None:
        gateway.cluster.may_answer.clear()
        line = authenticated(gateway)
        line.send(messages.OffsetFetchRequest(groups=[{"group_id": "g", "topics": None}]), 10)
        await settled()
        group = {"group_id": physical_name("acme", "g"), "topics": [{"topic_id": OWN, "partitions": []}]}

        ids = [topic_id(f"{number}") for number in range(5)]
        frames = [request_frame(fetch(one), 13, 4 + number) for number, one in enumerate(ids)]
        receive(line.connection, framed(*frames))
        line.answer(response_frame(messages.OffsetFetchResponse(groups=[group]), 10, 3))
        for _ in range(20):
            await settled()
            gateway.cluster.may_answer.set()
            await asyncio.sleep(0)
            gateway.cluster.may_answer.clear()

        assert len(gateway.cluster.asked) > len(ids)
        assert max(under_way) == 1

    played(scenario)


def test_a_broker_is_not_read_while_its_answer_waits_for_a_look_up() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        gateway.cluster.may_answer.clear()
        line = authenticated(gateway)
        line.send(messages.OffsetFetchRequest(groups=[{"group_id": "g", "topics": None}]), 10)
        await settled()
        group = {"group_id": physical_name("acme", "g"), "topics": [{"topic_id": OWN, "partitions": []}]}

        line.answer(response_frame(messages.OffsetFetchResponse(groups=[group]), 10, 3))
        await settled()
        assert (line.client.reading, line.broker_side.transport.reading) == (False, False)
        assert line.client.take_frames() == []

        gateway.cluster.may_answer.set()
        await settled()
        assert (line.client.reading, line.broker_side.transport.reading) == (True, True)
        assert len(line.client.take_frames()) == 1

    played(scenario)


def test_a_cluster_that_cannot_be_asked_ends_the_connection(logged: list[dict[str, Any]]) -> None:
    async def scenario(gateway: FakeGateway) -> None:
        gateway.cluster.is_down = True
        line = authenticated(gateway)

        line.send(fetch(OWN), 13)
        await settled()

        assert line.client.is_closed

    assert played(scenario).ends == {CloseReason.BROKER_UNREACHABLE: 1}
    assert logged[-1]["detail"] == "kafka-1.internal:9092: connection refused"
