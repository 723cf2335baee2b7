"""What a relay takes on itself and what it gives to the connection; how it writes to sockets is in tests/property."""

import asyncio
from typing import Any

import pytest

from bifrost.gateway.sockets.frame_relay import FrameRelay
from bifrost.journal.journal import Journal
from bifrost.session.client_session import ClientSession
from bifrost.wire.errors import MalformedFrame
from bifrost.wire.framer import Framer
from support.clients.record_batches import build_batch
from support.gateways.journalling import StillClock, journal, rows, written
from support.physical_names import physical_name
from support.stage import messages
from support.stage.fake_transport import FakeTransport, framed, receive
from support.stage.playbook import PHYSICAL_CLIENT_ID, request_frame, response_frame
from support.stage.stage import Stage

HEARTBEAT = messages.build("HeartbeatRequest", {"group_id": "g", "generation_id": 1, "member_id": "m"})
PHYSICAL = messages.build(
    "HeartbeatRequest", {"group_id": physical_name("acme", "g"), "generation_id": 1, "member_id": "m"}
)
ANSWER = messages.build("HeartbeatResponse", {})


class Owner(asyncio.BufferedProtocol):
    """A connection that remembers what it was given to decide."""

    def __init__(self) -> None:
        self.requests: list[bytes] = []
        self.responses: list[bytes] = []
        self.flushes = 0
        self.told: list[object] = []

    def client_frames(self, frames: list[bytes | memoryview]) -> None:
        self.requests += map(bytes, frames)

    def broker_frames(self, frames: list[bytes | memoryview], framer: Framer) -> None:
        self.responses += map(bytes, frames)

    def flush(self) -> None:
        self.flushes += 1

    def pause_writing(self) -> None:
        self.told.append("pause")

    def resume_writing(self) -> None:
        self.told.append("resume")

    def eof_received(self) -> bool:
        self.told.append("eof")
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self.told.append(exc)


class Pair:
    """Both legs of a connection whose session has served one heartbeat, so that it knows the way of the next."""

    def __init__(self, stage: Stage | None = None) -> None:
        self.session: ClientSession = (stage or Stage()).play("acme").session
        self.owner, self.client, self.broker = Owner(), FakeTransport(), FakeTransport()
        self.session.receive_from_client(request_frame(HEARTBEAT, 4, 1))
        self.session.receive_from_broker(response_frame(ANSWER, 4, 1))
        self.session.to_broker.clear()
        self.session.to_client.clear()
        self.from_client, self.from_broker = Framer(1000), Framer(1000)
        self.there = FrameRelay(
            self.from_client, self.session, self.owner, self.owner, self.as_transport(self.broker)
        )
        other: Any = FakeBrokerSide()
        self.back = FrameRelay(
            self.from_broker, self.session, self.owner, other, self.as_transport(self.client)
        )

    def as_transport(self, fake: FakeTransport) -> Any:
        return fake


class FakeBrokerSide(asyncio.BufferedProtocol):
    """What is not the owner."""


def test_frames_of_every_day_go_through_without_the_connection() -> None:
    pair = Pair()

    receive(pair.there, framed(*[request_frame(HEARTBEAT, 4, number) for number in (2, 3, 4)]))
    receive(pair.back, framed(*[response_frame(ANSWER, 4, number) for number in (2, 3, 4)]))

    assert pair.broker.take_frames() == [
        request_frame(PHYSICAL, 4, number, PHYSICAL_CLIENT_ID) for number in (2, 3, 4)
    ]
    assert pair.client.take_frames() == [response_frame(ANSWER, 4, number) for number in (2, 3, 4)]
    assert (pair.owner.requests, pair.owner.responses, pair.owner.flushes) == ([], [], 0)
    assert pair.session.in_flight == 0


def test_own_answers_follow_what_they_waited_for() -> None:
    pair = Pair()
    receive(pair.there, framed(request_frame(HEARTBEAT, 4, 2)))
    pair.session._queue.append(framed(b"an own answer"))
    receive(pair.there, framed(request_frame(HEARTBEAT, 4, 3)))

    receive(pair.back, framed(*[response_frame(ANSWER, 4, number) for number in (2, 3)]))

    expected = [response_frame(ANSWER, 4, 2), b"an own answer", response_frame(ANSWER, 4, 3)]
    assert pair.client.take_frames() == expected
    assert pair.session.in_flight == 0


def test_what_is_answered_again_leaves_by_the_connection() -> None:
    pair = Pair()
    asked = messages.build(
        "ApiVersionsRequest", {"client_software_name": "x", "client_software_version": "1"}
    )
    pair.session.receive_from_client(request_frame(asked, 4, 2))
    (answer,) = pair.session.to_client
    pair.session.to_client.clear()

    receive(pair.there, framed(request_frame(asked, 4, 3)))

    assert (pair.owner.requests, pair.owner.flushes) == ([], 1)
    assert b"".join(pair.session.to_client) == answer[:4] + (3).to_bytes(4, "big") + answer[8:]


def test_no_more_go_on_than_may_await_an_answer() -> None:
    pair = Pair()
    pair.session._max_in_flight = 2
    frames = [request_frame(HEARTBEAT, 4, number) for number in (2, 3, 4)]

    receive(pair.there, framed(*frames))

    assert pair.session.in_flight == 2
    assert len(pair.session.to_broker) == 1, (
        "both as one piece, written by the code that decides about the third"
    )
    assert pair.owner.requests == frames[2:]


def test_what_stands_behind_frames_that_went_on_is_gone_on_with() -> None:
    pair = Pair()
    stream = framed(*[request_frame(HEARTBEAT, 4, number) for number in (2, 3, 4)])

    for at in range(0, len(stream), 7):
        receive(pair.there, stream[at : at + 7])

    assert pair.broker.take_frames() == [
        request_frame(PHYSICAL, 4, number, PHYSICAL_CLIENT_ID) for number in (2, 3, 4)
    ]
    assert pair.from_client.received == len(stream)


def test_the_first_unusual_frame_and_all_behind_it_are_the_connections() -> None:
    pair = Pair()
    metadata = request_frame(messages.build("MetadataRequest", {"topics": None}), 9, 3)
    frames = [request_frame(HEARTBEAT, 4, 2), metadata, request_frame(HEARTBEAT, 4, 4)]

    receive(pair.there, framed(*frames))

    assert pair.owner.requests == frames[1:]
    assert pair.session.to_broker, "written by the code that decides about the next one"


def test_an_answer_that_no_request_awaits_is_the_connections() -> None:
    pair = Pair()

    receive(pair.back, framed(response_frame(ANSWER, 4, 77)))

    assert pair.owner.responses == [response_frame(ANSWER, 4, 77)]
    assert pair.client.take_frames() == []


def test_an_answer_while_requests_are_held_is_the_connections() -> None:
    pair = Pair()
    receive(pair.there, framed(request_frame(HEARTBEAT, 4, 2)))
    pair.session._held_requests.append(request_frame(HEARTBEAT, 4, 3))

    receive(pair.back, framed(response_frame(ANSWER, 4, 2)))

    assert pair.owner.responses == [response_frame(ANSWER, 4, 2)]


@pytest.mark.parametrize("spoilt", [framed(bytes(1001)), framed(request_frame(HEARTBEAT, 4, 2)[:-3])])
def test_what_does_not_parse_is_the_connections_to_explain(spoilt: bytes) -> None:
    pair = Pair()
    told: list[object] = []
    pair.owner.client_frames = told.append  # type: ignore[method-assign,assignment]

    receive(pair.there, spoilt[:500])

    assert len(told) == 1
    assert pair.broker.take_frames() == []


def test_the_connection_looks_who_is_to_be_read_when_not_everything_is_open() -> None:
    pair = Pair()
    pair.session.reads_both = False

    receive(pair.there, framed(request_frame(HEARTBEAT, 4, 2)))

    assert pair.broker.take_frames() == [request_frame(PHYSICAL, 4, 2, PHYSICAL_CLIENT_ID)]
    assert pair.owner.flushes == 1


def test_a_client_with_as_many_in_flight_as_may_be_costs_no_look() -> None:
    pair = Pair()
    pair.session._max_in_flight = 2

    for number in range(2, 20):
        receive(pair.there, framed(request_frame(HEARTBEAT, 4, number)))
        if number > 2:
            receive(pair.back, framed(response_frame(ANSWER, 4, number - 1)))

    assert (pair.session.in_flight, pair.session.is_holding, pair.owner.flushes) == (1, False, 0)
    pair.session.hold_back()
    receive(pair.back, framed(response_frame(ANSWER, 4, 19)))
    assert (pair.session.is_holding, pair.owner.flushes) == (True, 1)


def test_nothing_is_written_to_a_transport_that_closes() -> None:
    pair = Pair()
    pair.broker.close()

    receive(pair.there, framed(request_frame(HEARTBEAT, 4, 2)))

    assert pair.broker.take_frames() == []
    assert pair.session.to_broker == []


def test_all_else_is_the_protocols() -> None:
    pair, error = Pair(), ConnectionResetError()

    pair.there.pause_writing()
    pair.there.resume_writing()
    assert pair.there.eof_received() is False
    pair.there.connection_lost(error)

    assert pair.owner.told == ["pause", "resume", "eof", error]


RECORDS = b"r" * 400_000


def large_pair(stage: Stage | None = None) -> Pair:
    """A pair that has produced and fetched before, by name."""
    pair = Pair(stage)
    pair.from_client.max_frame_bytes = pair.from_broker.max_frame_bytes = 1 << 20
    for request, response, version in (
        (messages.produce("t"), messages.produced(physical_name("acme", "/t")), 9),
        (messages.fetch("t"), messages.fetched(physical_name("acme", "/t")), 12),
    ):
        pair.session.receive_from_client(request_frame(request, version, 1))
        pair.session.receive_from_broker(response_frame(response, version, 1))
    pair.session.to_broker.clear()
    pair.session.to_client.clear()
    return pair


def pieces(data: bytes, size: int = 50_000) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


def test_a_large_request_goes_on_while_it_comes() -> None:
    pair = large_pair()
    frame = request_frame(messages.produce("t", records=RECORDS), 9, 2)
    *first, last = pieces(framed(frame, request_frame(HEARTBEAT, 4, 3)))

    for number, piece in enumerate(first, start=1):
        receive(pair.there, piece)
        assert len(pair.broker.written) > number * 49_000, "nothing waits for the rest"
    assert pair.session.is_passing
    assert not pair.session.awaits_broker, "a client that stalls in the middle is idle"
    receive(pair.there, last)

    expected = request_frame(
        messages.produce(physical_name("acme", "/t"), records=RECORDS), 9, 2, PHYSICAL_CLIENT_ID
    )
    assert pair.broker.take_frames() == [expected, request_frame(PHYSICAL, 4, 3, PHYSICAL_CLIENT_ID)]
    assert (pair.session.is_passing, pair.session.in_flight, pair.owner.requests) == (False, 2, [])


def test_a_large_response_goes_on_while_it_comes_and_own_answers_wait() -> None:
    pair = large_pair()
    receive(pair.there, framed(request_frame(messages.fetch("t"), 12, 2)))
    pair.session._queue.append(framed(b"an own answer"))
    response = framed(response_frame(messages.fetched(physical_name("acme", "/t"), records=RECORDS), 12, 2))
    *first, last = pieces(response)

    for number, piece in enumerate(first, start=1):
        receive(pair.back, piece)
        assert len(pair.client.written) > number * 49_000, "nothing waits for the rest"
    assert pair.session.in_flight == 2
    receive(pair.back, last)

    expected = response_frame(messages.fetched("t", records=RECORDS), 12, 2)
    assert pair.client.take_frames() == [expected, b"an own answer"]
    assert pair.session.in_flight == 0


def counted(told: Journal) -> dict[str, tuple[int, ...]]:
    """Return by API: bytes in, bytes out, and of topic t requests, batches, records and their bytes."""
    records = written(told, ends_interval=True)
    apis = {row["api"]: row for row in rows(records, "request")}
    found = {}
    for name in ("Produce", "Fetch"):
        (topic,) = rows(records, "topic", api=name, topic="t")
        (cell,) = topic["batches"]
        sums = cell["batches"], cell["records"], cell["bytes"]
        found[name] = (apis[name]["bytes_in"], apis[name]["bytes_out"], topic["requests"], *sums)
    return found


def test_what_goes_on_while_it_comes_is_counted_like_what_is_whole() -> None:
    found = []
    batches = build_batch([b"x" * 1000] * 300) * 2
    for size in (1 << 20, 50_000):
        stage = Stage()
        told = stage.shared.journal = journal(StillClock())
        pair = large_pair(stage)
        written(told, ends_interval=True)
        request = framed(request_frame(messages.produce("t", records=batches), 9, 2))
        response = framed(
            response_frame(messages.fetched(physical_name("acme", "/t"), records=batches), 12, 3)
        )
        for piece in pieces(request, size):
            receive(pair.there, piece)
        receive(pair.back, framed(response_frame(messages.produced(physical_name("acme", "/t")), 9, 2)))
        receive(pair.there, framed(request_frame(messages.fetch("t"), 12, 3)))
        for piece in pieces(response, size):
            receive(pair.back, piece)
        assert pair.session.in_flight == 0
        found.append(counted(told))

    assert found[0] == found[1]
    assert found[0]["Produce"][2:] == (1, 2, 600, len(batches))
    assert found[0]["Fetch"][2:] == (1, 2, 600, len(batches))


def test_half_a_large_request_counts_as_a_request_without_bytes() -> None:
    stage = Stage()
    told = stage.shared.journal = journal(StillClock())
    pair = large_pair(stage)
    written(told, ends_interval=True)

    receive(pair.there, framed(request_frame(messages.produce("t", records=RECORDS), 9, 2))[:300_000])
    pair.session.close()
    records = written(told, ends_interval=True)

    (row,) = rows(records, "request", api="Produce")
    assert (row["requests"], row.get("responses", 0), row.get("bytes_in", 0)) == (1, 0, 0)
    (row,) = rows(records, "topic", api="Produce")
    assert (row["requests"], row.get("bytes_in", 0)) == (1, 0)


def test_a_large_request_of_two_intervals_has_its_bytes_in_the_second() -> None:
    stage = Stage()
    told = stage.shared.journal = journal(StillClock())
    pair = large_pair(stage)
    batch = build_batch([RECORDS])
    frame = framed(request_frame(messages.produce("t", records=batch), 9, 2))

    receive(pair.there, frame[:100_000])
    written(told, ends_interval=True)
    receive(pair.there, frame[100_000:])
    records = written(told, ends_interval=True)

    (row,) = rows(records, "request", api="Produce")
    assert (row.get("requests", 0), row["bytes_in"]) == (0, len(frame))
    (row,) = rows(records, "topic", api="Produce")
    assert (row.get("requests", 0), row["records_in"], row["bytes_in"]) == (0, 1, len(batch))


def test_a_client_is_read_until_its_large_request_is_whole() -> None:
    pair = large_pair()
    pair.session._max_in_flight = 1
    frame = framed(request_frame(messages.produce("t", records=RECORDS), 9, 2))

    receive(pair.there, frame[:100_000])
    assert not pair.session.is_holding
    pair.session.stop()
    assert (pair.session.is_holding, pair.session.has_finished) == (False, False)
    receive(pair.there, frame[100_000:])

    assert pair.session.is_holding
    assert len(pair.broker.take_frames()) == 1


def test_a_large_frame_whose_end_is_not_what_its_beginning_said_ends_the_connection() -> None:
    pair = large_pair()
    told: list[object] = []
    pair.owner.client_frames = told.append  # type: ignore[method-assign,assignment]
    frame = framed(request_frame(messages.produce("t", records=RECORDS), 9, 2))

    receive(pair.there, frame[:100_000])
    sent = len(pair.broker.written)
    receive(pair.there, frame[100_000:-1] + b"\1")

    assert told
    assert isinstance(pair.from_client.failed, MalformedFrame)
    assert sent <= len(pair.broker.written) < len(frame)


def test_what_does_not_fit_is_held_until_it_is_whole() -> None:
    pair = large_pair()
    frame = framed(request_frame(messages.produce("t", "u", records=RECORDS[:200_000]), 9, 2))

    receive(pair.there, frame[:-1])
    assert not pair.broker.written
    receive(pair.there, frame[-1:])

    assert pair.owner.requests or pair.broker.written
