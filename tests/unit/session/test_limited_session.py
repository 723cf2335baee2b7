"""A session whose client has a quota: requests wait for debts, and answers say how long."""

from typing import Any

import pytest

from bifrost.forwarding.clock import monotonic_ns
from bifrost.forwarding.lane import Reason
from bifrost.session import client_session
from bifrost.session.client_session import ClientSession
from bifrost.session.needs import OWED, TURN
from bifrost.tenancy.quotas.quota_entity import DEFAULT, NAMESPACE, QuotaEntity
from bifrost.tenancy.quotas.quota_key import QuotaKey
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.errors import WireError
from bifrost.wire.messages import ProduceResponse
from support.physical_names import physical_name
from support.stage import messages
from support.stage.divided import divided
from support.stage.messages import fetch, fetched, produce, produced
from support.stage.playbook import read_response, request_frame, response_frame
from support.stage.stage import Stage
from unit.filters.virtual.test_fetched_partitions import stored

HEARTBEAT = messages.HeartbeatRequest(group_id="g")
PRODUCE_RATE, FETCH_RATE = QuotaKey.PRODUCER_BYTE_RATE, QuotaKey.CONSUMER_BYTE_RATE
REQUEST_RATE, CONNECTION_RATE = QuotaKey.REQUEST_RATE, QuotaKey.CONNECTION_CREATION_RATE
PHYSICAL = physical_name("acme", "orders")


def limited(stage: Stage, **rates: float) -> ClientSession:
    """A session of acme's, which has these quotas as a whole."""
    stage.shared.quotas.give({"acme": {NAMESPACE: {QuotaKey(key): rate for key, rate in rates.items()}}})
    return stage.play("acme").session


def exchange(session: ClientSession, request: Any, answer: Any, version: int) -> Any:
    """Send a request and its answer, and return the answer that the client gets."""
    session.receive_from_client(request_frame(request, version, 1))
    session.to_broker.clear()
    session.receive_from_broker(response_frame(answer, version, 1))
    frame = b"".join(session.to_client)
    session.to_client.clear()
    return read_response(frame[4:], request.SCHEMA.api_key, version)


def budget_of(session: ClientSession, kind: str) -> Any:
    assert session._quota is not None
    (budget,) = getattr(session._quota, kind)
    return budget


def test_a_produce_is_charged_its_bytes_and_its_answer_tells_how_long_to_wait(stage: Stage) -> None:
    session = limited(stage, producer_byte_rate=1000)
    request = produce("orders", records=b"x" * 4000)

    answer = exchange(session, request, produced(PHYSICAL), 9)

    assert 3000 < answer.throttle_time_ms <= 4500
    session.receive_from_client(request_frame(request, 9, 2))
    assert session.needs == (OWED,)
    assert session.owes is budget_of(session, "produced")
    assert not session.to_broker


def test_what_is_no_produce_does_not_wait_for_the_bytes_of_produces(stage: Stage) -> None:
    session = limited(stage, producer_byte_rate=1000)
    exchange(session, produce("orders", records=b"x" * 4000), produced(PHYSICAL), 9)

    answer = exchange(session, HEARTBEAT, messages.HeartbeatResponse(), 4)

    assert answer.throttle_time_ms == 0


@pytest.mark.parametrize("version", [4, 11, 12])
def test_a_fetch_is_charged_when_its_answer_comes_and_is_told_on_every_way(
    stage: Stage, version: int
) -> None:
    session = limited(stage, consumer_byte_rate=1000)
    answer = fetched(PHYSICAL, records=b"x" * 2000)

    slow = exchange(session, fetch("orders"), answer, version)
    assert 1500 < slow.throttle_time_ms < 2500
    fast = response_frame(answer, version, 2)
    for frame in (memoryview(bytearray(fast)), fast):
        budget_of(session, "fetched").charge(-1e6, monotonic_ns())
        assert session.forward_request(request_frame(fetch("orders"), version, 2)) == Reason.PASSES
        assert session.forward_response(frame) == Reason.PASSES
        told = read_response(b"".join(session.to_client)[4:], ApiKey.FETCH, version)
        session.to_client.clear()

        assert 1000 < told.throttle_time_ms < 2500, "written where it stands"
        assert told.responses[0].partitions[0].records == b"x" * 2000
    assert fast == response_frame(answer, version, 2), "bytes may be used by others"
    assert session.forward_request(request_frame(fetch("orders"), version, 3)) == Reason.OVER_QUOTA


def test_records_of_other_virtual_partitions_are_not_charged(stage: Stage) -> None:
    divided(stage, "orders")
    session = limited(stage, consumer_byte_rate=1000)
    log = stored(*[0] * 30, *[1] * 300)
    answer = fetched(PHYSICAL, records=log)
    own_bytes = len(log) // 11

    told = exchange(session, fetch("orders"), answer, 12)

    assert len(told.responses[0].partitions[0].records) < own_bytes + 100
    assert own_bytes - 1000 < told.throttle_time_ms < own_bytes + 200, "a byte takes a millisecond"
    debt_ms = budget_of(session, "fetched").debt_ns(monotonic_ns()) / 1e6
    assert own_bytes - 1000 < debt_ms < own_bytes + 200


def test_an_answer_that_waited_for_another_one_is_not_decoded_to_tell_it(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = limited(stage, consumer_byte_rate=1000)
    answer = fetched(PHYSICAL, records=b"x" * 2000)
    exchange(session, fetch("orders"), answer, 12)
    budget_of(session, "fetched").charge(-1e6, monotonic_ns())
    monkeypatch.setattr(client_session, "decoded_response", None)
    session.receive_from_client(request_frame(fetch("orders"), 12, 2))

    session.hot_steps = 0  # The engine leaves it to the session then.
    session.receive_from_broker(response_frame(answer, 12, 2))
    told = read_response(b"".join(session.to_client)[4:], ApiKey.FETCH, 12)

    assert 1000 < told.throttle_time_ms < 2500
    assert told.responses[0].topic == "orders"


@pytest.mark.parametrize("version", [3, 8, 9, 12])
@pytest.mark.parametrize("is_refused", [False, True], ids=["stored", "refused"])
@pytest.mark.parametrize("is_received", [False, True], ids=["bytes", "as received"])
def test_the_answer_to_a_produce_is_told_where_it_stands(
    stage: Stage, version: int, is_refused: bool, is_received: bool
) -> None:
    session, answer = limited(stage, producer_byte_rate=1000), produced(PHYSICAL)
    exchange(session, produce("orders", records=b"x" * 4000), answer, version)
    budget_of(session, "produced").charge(-1e6, monotonic_ns())
    if is_refused:
        # Tagged fields stand behind the field then, with a null rack as the last byte but one.
        answer.responses[0].partition_responses[0].error_code = ErrorCode.NOT_LEADER_OR_FOLLOWER
        endpoint = ProduceResponse.NodeEndpoint(node_id=7, host="b7", port=9092, rack=None)
        answer.node_endpoints = [endpoint] if version >= 10 else []

    session.receive_from_client(request_frame(produce("orders", records=b"x" * 4000), version, 2))
    whole = response_frame(answer, version, 2)
    frame = memoryview(bytearray(whole)) if is_received else whole
    reason = session.forward_response(frame)
    if reason != Reason.PASSES:
        assert is_refused, "an error may have to be decoded"
        session.receive_from_broker(frame)
    assert whole == response_frame(answer, version, 2), "bytes may be used by others"
    told = read_response(b"".join(session.to_client)[4:], ApiKey.PRODUCE, version)

    assert 3000 < told.throttle_time_ms <= 4500
    assert told.responses[0].partition_responses[0].error_code == (6 if is_refused else 0)
    assert told.responses[0].name == "orders"


def test_requests_of_a_client_over_its_quota_are_not_decided_one_by_one(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = limited(stage, producer_byte_rate=1000)
    request = produce("orders", records=b"x" * 4000)
    exchange(session, request, produced(PHYSICAL), 9)
    monkeypatch.setattr(ClientSession, "_request", None)

    for number in (2, 3):
        session.receive_from_client(request_frame(request, 9, number))
    assert session.needs == (OWED,)
    assert session.owes is budget_of(session, "produced")
    budget_of(session, "produced").charge(-8000, monotonic_ns())
    session.meet(OWED)

    assert session.in_flight == 1, "the debt was paid for one"
    assert session.needs == (OWED,)
    assert budget_of(session, "produced").debt_ns(monotonic_ns()) > 0


def test_a_held_request_that_the_engine_cannot_send_on_is_decided_about(stage: Stage) -> None:
    session = limited(stage, request_rate=1)
    session.receive_from_client(request_frame(HEARTBEAT, 4, 1))
    frame = request_frame(HEARTBEAT, 4, 2)
    session.receive_from_client(frame[:-3])
    assert session.needs == (OWED,)
    budget_of(session, "requested").charge(-10, monotonic_ns())

    with pytest.raises(WireError):
        session.meet(OWED)


def test_a_request_goes_on_when_its_debt_is_paid_and_owes_for_itself(stage: Stage) -> None:
    session = limited(stage, request_rate=1)
    for number in (1, 2):
        session.receive_from_client(request_frame(HEARTBEAT, 4, number))
    assert session.needs == (OWED,)

    session.meet(OWED)
    assert session.needs == (OWED,), "its debt is not paid yet"
    budget_of(session, "requested").charge(-10, monotonic_ns())
    session.meet(OWED)

    assert not session.needs
    assert session.in_flight == 2
    assert budget_of(session, "requested").debt_ns(monotonic_ns()) > 0


def test_the_turn_of_a_request_is_not_kept_for_the_next(stage: Stage) -> None:
    session = limited(stage, request_rate=1000)
    session.receive_from_client(request_frame(HEARTBEAT, 4, 1))
    budget_of(session, "requested").waiting = 1

    session.receive_from_client(request_frame(HEARTBEAT, 4, 2))
    assert session.needs == (OWED,)
    session.receive_from_client(request_frame(HEARTBEAT, 4, 3))
    session.meet(OWED)

    assert session.needs == (OWED,), "the second went on, the third waits behind others again"
    assert session.in_flight == 2


def test_a_further_connection_is_served_later(stage: Stage) -> None:
    first = limited(stage, connection_creation_rate=1)
    for _ in range(2):
        first = stage.play("acme").session
        first.receive_from_client(request_frame(HEARTBEAT, 4, 1))

    late = stage.play("acme").session
    late.receive_from_client(request_frame(HEARTBEAT, 4, 1))
    first.receive_from_client(request_frame(HEARTBEAT, 4, 2))

    assert (late.needs, first.needs) == ((OWED,), ())
    assert late.owes is budget_of(first, "connected")
    budget_of(first, "connected").charge(-10, monotonic_ns())
    late.meet(OWED)
    assert late.in_flight == 1


def test_requests_with_another_client_id_are_another_client_s(stage: Stage) -> None:
    stage.shared.quotas.give({"acme": {QuotaEntity(None, DEFAULT): {REQUEST_RATE: 1.0}}})
    session = stage.play("acme").session
    session.receive_from_client(request_frame(HEARTBEAT, 4, 1, b"one"))

    session.receive_from_client(request_frame(HEARTBEAT, 4, 2, b"other"))
    assert not session.needs
    session.receive_from_client(request_frame(HEARTBEAT, 4, 3, b"one"))

    assert session.needs == (OWED,)


def test_a_connection_gets_quotas_that_come_later_and_loses_those_that_go(stage: Stage) -> None:
    session = stage.play("acme").session
    for number in (1, 2):
        session.receive_from_client(request_frame(HEARTBEAT, 4, number))

    stage.shared.quotas.give({"acme": {NAMESPACE: {REQUEST_RATE: 1.0}}})
    session.receive_from_client(request_frame(HEARTBEAT, 4, 3))
    session.receive_from_client(request_frame(HEARTBEAT, 4, 4))
    assert session.needs == (OWED,)
    stage.shared.quotas.give({})
    session.meet(OWED)

    assert not session.needs
    assert session.in_flight == 4


def test_another_tenant_is_not_hindered(stage: Stage) -> None:
    session, other = limited(stage, request_rate=1), stage.play("globex").session

    for number in (1, 2, 3):
        session.receive_from_client(request_frame(HEARTBEAT, 4, number))
        other.receive_from_client(request_frame(HEARTBEAT, 4, number))

    assert (session.in_flight, other.in_flight) == (1, 3)


def test_slices_of_work_are_charged_to_the_quota_of_time(stage: Stage) -> None:
    session = limited(stage, request_percentage=0.0001)
    session.receive_from_client(request_frame(HEARTBEAT, 4, 1))

    assert budget_of(session, "worked").debt_ns(monotonic_ns()) > 0
    session.meet(TURN)
    session.receive_from_client(request_frame(HEARTBEAT, 4, 2))
    assert session.needs == (OWED,)
