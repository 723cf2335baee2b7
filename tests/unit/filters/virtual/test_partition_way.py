"""Produce that becomes several requests on the compiled way: what is awaited, counted and kept of it."""

from functools import partial
from typing import Any

import pytest

from bifrost.filters.virtual.division import MAX_PARTS
from bifrost.forwarding.clock import monotonic_ns
from bifrost.forwarding.lane import Reason
from bifrost.session.client_session import ClientSession
from bifrost.session.close_reason import SessionEnded
from bifrost.tenancy.quotas.quota_entity import NAMESPACE
from bifrost.tenancy.quotas.quota_key import QuotaKey
from bifrost.tenancy.virtual_partitions.partition_map import PartitionMap
from bifrost.tenancy.virtual_partitions.virtual_batches import marked_batch
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.errors import WireError
from bifrost.wire.messages import ProduceRequest, ProduceResponse
from support.clients.record_batches import build_batch
from support.physical_names import physical_name
from support.stage.divided import FIVE_ON_TWO, divided
from support.stage.playbook import (
    CLIENT_ID,
    PHYSICAL_CLIENT_ID,
    read_response,
    request_frame,
    response_frame,
    split_frames,
)
from support.stage.stage import Stage

ORDERS, EVENTS = physical_name("acme", "orders"), physical_name("acme", "events")
BATCH = build_batch([b"value"], producer_id=7, producer_epoch=1, base_sequence=40)
VERSION = 9


def sent(
    partitions: dict[str, list[int]],
    correlation_id: int = 7,
    batch: bytes = BATCH,
    client_id: bytes = CLIENT_ID,
) -> bytes:
    new = ProduceRequest
    topics = [
        new.TopicProduceData(
            name=name, partition_data=[new.PartitionProduceData(index=one, records=batch) for one in numbers]
        )
        for name, numbers in partitions.items()
    ]
    message = new(acks=-1, timeout_ms=1500, topic_data=topics)
    return request_frame(message, VERSION, correlation_id, client_id)


to_broker = partial(sent, client_id=PHYSICAL_CLIENT_ID)


def answered(partitions: dict[str, dict[int, int]], correlation_id: int = 7, throttle_ms: int = 0) -> bytes:
    new = ProduceResponse
    topics = [
        new.TopicProduceResponse(
            name=name,
            partition_responses=[
                new.PartitionProduceResponse(index=one, base_offset=offset) for one, offset in offsets.items()
            ],
        )
        for name, offsets in partitions.items()
    ]
    return response_frame(new(responses=topics, throttle_time_ms=throttle_ms), VERSION, correlation_id)


def session_of(stage: Stage, partitions: PartitionMap = FIVE_ON_TWO) -> ClientSession:
    divided(stage, "orders", partitions=partitions)
    session = stage.play("acme").session
    # The first request makes the lane.
    session.receive_from_client(sent({"orders": [0]}))
    session.receive_from_broker(answered({ORDERS: {0: 1}}))
    session.to_client.clear()
    session.to_broker.clear()
    return session


def frames(out: list[Any]) -> list[bytes]:
    found = [bytes(one) for one in split_frames(b"".join(out))]
    out.clear()
    return found


def test_each_request_is_awaited_until_its_answer_came(stage: Stage) -> None:
    session = session_of(stage)

    assert session.forward_request(sent({"orders": [0, 2, 4]})) == Reason.PASSES

    assert len(frames(session.to_broker)) == session.in_flight == 3
    lane = session._queue[0].lane
    assert lane.load.in_flight == 3
    for left in (2, 1, 0):
        assert session.to_client == []
        assert session.forward_response(answered({ORDERS: {0: left}})) == Reason.PASSES
        assert session.in_flight == lane.load.in_flight == left
    assert frames(session.to_client) == [answered({"orders": {0: 2, 2: 1, 4: 0}})]


def test_a_request_that_becomes_too_many_is_left_to_the_filters(stage: Stage) -> None:
    session = session_of(stage, PartitionMap(512, 1))

    assert session.forward_request(sent({"orders": list(range(MAX_PARTS + 1))})) == Reason.NOT_IN_PLACE
    assert frames(session.to_broker) == []
    assert session.forward_request(sent({"orders": list(range(MAX_PARTS))})) == Reason.PASSES
    assert len(frames(session.to_broker)) == session.in_flight == MAX_PARTS


def test_other_topics_go_with_the_first_request(stage: Stage) -> None:
    session = session_of(stage)

    session.forward_request(sent({"events": [3, 1], "orders": [2, 0]}))

    marked = b"".join(marked_batch(BATCH, 1))
    assert frames(session.to_broker) == [
        to_broker({EVENTS: [3, 1], ORDERS: [0]}),
        to_broker({ORDERS: [0]}, batch=marked),
    ]
    session.forward_response(answered({EVENTS: {1: 5, 3: 6}, ORDERS: {0: 7}}, throttle_ms=9))
    session.forward_response(answered({ORDERS: {0: 8}}, throttle_ms=4))
    assert frames(session.to_client) == [
        answered({"events": {3: 6, 1: 5}, "orders": {2: 8, 0: 7}}, throttle_ms=9)
    ]


@pytest.mark.parametrize("told_ms", [(0, 0), (9, 4), (4, 9), (3, 70_000), (70_000, 3)])
def test_a_joined_answer_tells_the_longest_time_to_wait_of_its_parts_and_the_quota(
    stage: Stage, told_ms: tuple[int, int]
) -> None:
    stage.shared.quotas.give({"acme": {NAMESPACE: {QuotaKey.PRODUCER_BYTE_RATE: 1000.0}}})
    session = session_of(stage)
    assert session._quota is not None
    session._quota.produced[0].charge(-1e6, monotonic_ns())
    batch = build_batch([bytes(2_000)], producer_id=7, producer_epoch=1, base_sequence=40)

    assert session.forward_request(sent({"orders": [0, 2]}, batch=batch)) == Reason.PASSES
    for offset, throttle_ms in enumerate(told_ms):
        frame = bytearray(answered({ORDERS: {0: offset}}, throttle_ms=throttle_ms))
        assert session.forward_response(memoryview(frame)) == Reason.PASSES

    [frame] = frames(session.to_client)
    answer = read_response(frame, ApiKey.PRODUCE, VERSION)
    of_brokers = max(told_ms)
    told = answer.throttle_time_ms
    assert told == of_brokers if of_brokers > 9 else 3000 < told <= 4500
    assert [(one.index, one.base_offset) for one in answer.responses[0].partition_responses] == [
        (0, 0),
        (2, 1),
    ]


def test_partitions_and_requests_that_were_sent_besides_are_counted(stage: Stage) -> None:
    session = session_of(stage)
    cluster = stage.shared.virtual_clusters.of_tenant("acme")
    assert cluster is not None
    assert cluster.virtual_partitions is not None

    session.forward_request(sent({"orders": [0, 1]}))
    # The first request of the session named one partition.
    assert cluster.virtual_partitions.counts == {("acme", "remapped"): 1 + 2}
    session.forward_request(sent({"orders": [0, 2, 4]}, 8))

    assert cluster.virtual_partitions.counts == {("acme", "parts"): 2, ("acme", "remapped"): 3 + 3}


def test_a_virtual_partition_that_is_named_twice_is_for_the_filters(stage: Stage) -> None:
    session = session_of(stage)

    assert session.forward_request(sent({"orders": [0, 2, 2]})) == Reason.NOT_IN_PLACE
    assert session.to_broker == []
    assert session.in_flight == 0


def test_an_answer_in_its_turn_is_joined_though_others_were_held(stage: Stage) -> None:
    session = session_of(stage)
    session.receive_from_client(sent({"orders": [0, 2]}))
    session.receive_from_client(sent({"orders": [1, 3]}, 8))
    frames(session.to_broker)

    session.hot_steps = 0  # The last answer is decoded then.
    for correlation_id, offset in ((7, 5), (7, 6), (8, 7), (8, 8)):
        session.receive_from_broker(answered({ORDERS: {correlation_id - 7: offset}}, correlation_id))

    assert frames(session.to_client) == [
        answered({"orders": {0: 5, 2: 6}}),
        answered({"orders": {1: 7, 3: 8}}, 8),
    ]


def test_an_error_goes_back_with_what_was_stored(stage: Stage) -> None:
    session = session_of(stage)
    session.forward_request(sent({"orders": [0, 2, 4]}))
    new = ProduceResponse.PartitionProduceResponse

    for one in (
        new(index=0, base_offset=5),
        new(index=0, error_code=10, error_message="large"),
        new(index=0),
    ):
        session.receive_from_broker(response_frame(with_partitions(ORDERS, [one]), VERSION, 7))

    expected = [new(index=0, base_offset=5), new(index=2, error_code=10, error_message="large"), new(index=4)]
    assert frames(session.to_client) == [response_frame(with_partitions("orders", expected), VERSION, 7)]
    assert session.in_flight == 0


def with_partitions(topic: str, partitions: list[Any]) -> ProduceResponse:
    return ProduceResponse(
        responses=[ProduceResponse.TopicProduceResponse(name=topic, partition_responses=partitions)]
    )


@pytest.mark.parametrize("answers", [(1, 0), (0, 1)])
def test_a_partition_that_was_not_asked_for_ends_the_connection(
    stage: Stage, answers: tuple[int, int]
) -> None:
    session = session_of(stage)
    session.forward_request(sent({"orders": [0, 2]}))

    session.receive_from_broker(answered({ORDERS: {answers[0]: 5}}))
    with pytest.raises(SessionEnded, match="that the request did not name"):
        session.receive_from_broker(answered({ORDERS: {answers[1]: 5}}))


def test_an_answer_that_lacks_a_partition_goes_back_without_it(stage: Stage) -> None:
    session = session_of(stage)
    session.forward_request(sent({"orders": [0, 2]}))

    session.receive_from_broker(answered({}))
    session.receive_from_broker(answered({ORDERS: {0: 6}}))

    assert frames(session.to_client) == [answered({"orders": {2: 6}})]


@pytest.mark.parametrize("cut", [6, 12, 30])
def test_an_answer_that_is_cut_off_ends_the_connection(stage: Stage, cut: int) -> None:
    session = session_of(stage)
    session.forward_request(sent({"orders": [0, 2]}))

    session.receive_from_broker(answered({ORDERS: {0: 5}})[:cut])
    with pytest.raises(WireError):
        session.receive_from_broker(answered({ORDERS: {0: 6}}))


@pytest.mark.parametrize("size", [20, 200_000])
def test_records_are_not_changed_but_for_their_header(stage: Stage, size: int) -> None:
    session = session_of(stage)
    batch = build_batch([b"v" * size], producer_id=7, producer_epoch=1, base_sequence=40)

    session.forward_request(sent({"orders": [0, 2, 4, 1]}, batch=batch))

    marked = [b"".join(marked_batch(batch, group)) for group in (1, 2)]
    assert frames(session.to_broker) == [
        to_broker({ORDERS: [0, 1]}, batch=batch),
        *(to_broker({ORDERS: [0]}, batch=one) for one in marked),
    ]
