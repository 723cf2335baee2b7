"""How much Python code the hot path may call: only for a few names; what has more takes the long way, in slices."""

from typing import Any

import pytest

from bifrost.forwarding.lane import Reason
from bifrost.gateway.sockets.frame_relay import FrameRelay
from bifrost.journal.journal import Journal
from bifrost.session.client_session import ClientSession
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.framer import Framer
from support.gateways.journalling import StillClock, journal, rows, written
from support.physical_names import physical_name
from support.stage import messages
from support.stage.divided import divided
from support.stage.fake_transport import FakeTransport, framed, receive
from support.stage.playbook import request_frame, response_frame
from support.stage.stage import Stage

MOST = 128
"""Names that are decided about at once."""
MOST_OF_TWO = 56
"""The same where two layers of names decide: those of the namespace, and of virtual partitions."""

TENANT = "initech"
VERSION = 7


@pytest.fixture
def told(stage: Stage) -> Journal:
    """The journal of the stage's gateway."""
    stage.shared.journal = journal(StillClock())
    return stage.shared.journal


def topics(count: int) -> list[str]:
    return [f"topic{number}" for number in range(count)]


def asked(count: int, number: int) -> bytes:
    """A request for the end of a partition of each of so many topics."""
    partitions = [{"partition_index": 0, "timestamp": -1}]
    listed = [{"name": name, "partitions": partitions} for name in topics(count)]
    request = messages.build("ListOffsetsRequest", {"replica_id": -1, "topics": listed})
    return request_frame(request, VERSION, number)


def refused(count: int, number: int) -> bytes:
    partitions = [{"partition_index": 0, "error_code": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}]
    listed = [{"name": physical_name(TENANT, name), "partitions": partitions} for name in topics(count)]
    return response_frame(messages.build("ListOffsetsResponse", {"topics": listed}), VERSION, number)


def begin(stage: Stage, count: int) -> ClientSession:
    """A session that knows so many topics, whose counters were just taken."""
    session = stage.play(TENANT).session
    session.receive_from_client(asked(count, 1))
    session.receive_from_broker(refused(count, 1))
    if stage.shared.journal is not None:
        written(stage.shared.journal, ends_interval=True)
    return session


@pytest.mark.parametrize(("count", "reason"), [(MOST, Reason.PASSES), (MOST + 1, Reason.NOT_IN_PLACE)])
def test_many_names_are_counted_in_slices(stage: Stage, told: Journal, count: int, reason: Reason) -> None:
    session = begin(stage, count)

    assert session.forward_request(asked(count, 2)) == reason
    if reason != Reason.PASSES:
        session.receive_from_client(asked(count, 2))
    assert session.forward_response(refused(count, 2)) == reason
    if reason != Reason.PASSES:
        session.receive_from_broker(refused(count, 2))

    counted = rows(written(told, ends_interval=True), "topic", api="ListOffsets")
    assert sorted((one["topic"], one["requests"], one["errors"]) for one in counted) == sorted(
        (topic, 1, 1) for topic in topics(count)
    )


def test_without_a_journal_many_names_that_are_known_pass(stage: Stage) -> None:
    session = begin(stage, 1000)

    assert session.forward_request(asked(1000, 2)) == Reason.PASSES
    assert session.forward_response(refused(1000, 2)) == Reason.PASSES


class Owner:
    """A connection that keeps what is left to it."""

    is_reading = True

    def __init__(self) -> None:
        self.left: list[bytes | memoryview] = []

    def client_frames(self, frames: list[bytes | memoryview]) -> None:
        self.left += frames

    def flush(self) -> None:
        """Have nothing to write."""


def receive_at_once(session: ClientSession, frames: list[bytes]) -> int:
    """Let the engine have requests that come together; return how many it leaves to the connection."""
    session._max_in_flight = 10_000
    owner: Any = Owner()
    to: Any = FakeTransport()
    receive(FrameRelay(Framer(10_000), session, owner, owner, to), framed(*frames))
    return len(owner.left)


def heartbeat(group: str, number: int) -> bytes:
    body = messages.build("HeartbeatRequest", {"group_id": group, "generation_id": 1, "member_id": "m"})
    return request_frame(body, 4, number)


def test_small_requests_that_come_together_share_what_one_may_cost(stage: Stage) -> None:
    session = stage.play(TENANT).session
    session.receive_from_client(heartbeat("known", 1))
    many = [heartbeat(f"group{number}", number) for number in range(2, 500)]

    assert receive_at_once(session, many) == len(many) - MOST
    assert receive_at_once(session, [heartbeat("known", number) for number in range(500, 1000)]) == 0
    assert receive_at_once(session, [heartbeat("another group", 1000)]) == 0, "the next bytes begin anew"


def test_names_that_more_layers_decide_about_are_fewer(stage: Stage) -> None:
    divided(stage, "divided", tenant=TENANT)
    session = stage.play(TENANT).session
    session.receive_from_client(heartbeat("known", 1))
    many = [heartbeat(f"group{number}", number) for number in range(2, 200)]

    assert receive_at_once(session, many) == len(many) - MOST_OF_TWO
    assert receive_at_once(session, [heartbeat("known", number) for number in range(200, 1000)]) == 0


def test_topics_that_are_written_down_each_time_share_it_as_well(stage: Stage, told: Journal) -> None:
    session = stage.play("acme").session
    session.receive_from_client(asked(100, 1))  # acme may name none of them.
    many = [asked(100, number) for number in range(2, 12)]

    # The engine stops when the budget is used up, which the second request does.
    assert receive_at_once(session, many) == len(many) - 2


def test_topics_that_the_journal_knows_do_not(stage: Stage, told: Journal) -> None:
    session = begin(stage, 100)
    many = [asked(100, number) for number in range(2, 8)]

    assert receive_at_once(session, many[:1]) == 0, "their counters are made anew with each interval"
    assert receive_at_once(session, many[1:]) == 0
    counted = rows(written(told, ends_interval=True), "topic", api="ListOffsets")
    assert {one["requests"] for one in counted} == {len(many)}
