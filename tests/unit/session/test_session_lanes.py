from bifrost.forwarding.lane import Lane
from bifrost.journal.identity import Identity
from bifrost.journal.meter import Meter
from bifrost.journal.topic_names import TopicNames
from bifrost.session.session_lanes import SessionLanes
from bifrost.session.shared_state import Route
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.headers import read_request_header
from bifrost.wire.message import Message
from bifrost.wire.messages import (
    ApiVersionsRequest,
    CreateTopicsRequest,
    HeartbeatRequest,
    ListTransactionsRequest,
)
from support.clients.raw_client import request_frame
from support.gateways.journalling import StillClock, journal
from support.stage.lanes import table_of
from support.stage.stage import Stage


def lanes_of(stage: Stage, *, is_metered: bool) -> SessionLanes:
    meter = None
    if is_metered:
        identity = Identity("acme", "upstream", "acme", "User:acme")
        meter = Meter(journal(StillClock()), identity, TopicNames(stage.namespaces["acme"]), None)
    return SessionLanes(table_of(stage), Route(1, stage.versions), meter)


def lane(lanes: SessionLanes, message: Message, version: int, client_id: str = "a") -> Lane | None:
    frame = request_frame(message, version, 1, client_id)[4:]
    return lanes.of(read_request_header(frame), frame)


def test_without_a_journal_lanes_are_the_tenant_s(stage: Stage) -> None:
    lanes = lanes_of(stage, is_metered=False)

    found = lane(lanes, HeartbeatRequest(), 4)

    assert found is table_of(stage).lane(ApiKey.HEARTBEAT, 4)
    assert lanes.known == {ApiKey.HEARTBEAT << 16 | 4: found}


def test_with_one_they_are_a_client_s_and_counted_as_the_tenant_s(stage: Stage) -> None:
    lanes = lanes_of(stage, is_metered=True)

    first, again = (lane(lanes, HeartbeatRequest(), 4) for _ in range(2))
    other = lane(lanes, HeartbeatRequest(), 4, "b")

    whole = table_of(stage).lane(ApiKey.HEARTBEAT, 4)
    assert first is again
    assert first is not None
    assert other is not None
    assert whole is not None
    assert first.traffic is other.traffic is whole.traffic
    assert first.load is other.load is whole.load
    assert first.to_physical is other.to_physical is whole.to_physical
    assert first.to_virtual is other.to_virtual is whole.to_virtual
    assert first.usage is not other.usage
    assert lanes.known == {ApiKey.HEARTBEAT << 16 | 4: other}


def test_what_is_looked_at_by_others_is_not_for_the_engine(stage: Stage) -> None:
    with_journal, without = lanes_of(stage, is_metered=True), lanes_of(stage, is_metered=False)

    for lanes in (with_journal, without):
        assert lane(lanes, CreateTopicsRequest(topics=[]), 5) is not None
        assert lane(lanes, ApiVersionsRequest(), 3) is not None

    assert list(with_journal.known) == []
    assert list(without.known) == [ApiKey.CREATE_TOPICS << 16 | 5]


def test_what_is_not_served_has_no_lane(stage: Stage) -> None:
    lanes = lanes_of(stage, is_metered=True)
    frame = b"\x7f\xff" + request_frame(ListTransactionsRequest(), 0, 1)[6:]

    assert lanes.of(read_request_header(frame), frame) is None


def test_lanes_that_are_forgotten_are_made_anew(stage: Stage) -> None:
    lanes = lanes_of(stage, is_metered=True)
    first = lane(lanes, HeartbeatRequest(), 4)

    lanes.forget()

    assert lane(lanes, HeartbeatRequest(), 4) is not first
