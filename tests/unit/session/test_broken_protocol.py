"""A client or a broker that breaks the protocol ends its connection, and nothing else."""

import pytest

from bifrost.session.close_reason import CloseReason
from support.physical_names import physical_name
from support.stage import messages
from support.stage.messages import produce, produced
from support.stage.playbook import (
    Asked,
    broker_answers,
    broker_sends_frame,
    client_sends,
    client_sends_frame,
    ends,
    no_answer,
    request_frame,
    response_frame,
    to_broker,
    to_client,
)
from support.stage.stage import Stage


def list_offsets(topic: str):
    partitions = [{"partition_index": 0, "timestamp": -1}]
    return messages.ListOffsetsRequest(topics=[{"name": topic, "partitions": partitions}])


def listed_offsets(topic: str):
    partitions = [{"partition_index": 0, "offset": 3}]
    return messages.ListOffsetsResponse(topics=[{"name": topic, "partitions": partitions}])


def heartbeat(group_id: str):
    return messages.HeartbeatRequest(group_id=group_id, generation_id=3, member_id="m")


def test_a_request_cut_short_anywhere_is_malformed_or_waits_for_nothing(stage: Stage) -> None:
    frame = request_frame(produce("orders"), 9, 1)
    for size in range(len(frame)):
        assert stage.play() >> client_sends_frame(frame[:size]) << ends(CloseReason.MALFORMED), size


@pytest.mark.parametrize("version", [0, 4])
def test_a_request_with_something_behind_it_is_malformed(stage: Stage, version: int) -> None:
    book = stage.play() >> client_sends(heartbeat("g"), version, body_tail=b"\0")

    assert book << ends(CloseReason.MALFORMED)


@pytest.mark.parametrize("version", [0, 3, 6])
def test_a_decoded_request_with_something_behind_it_is_malformed(stage: Stage, version: int) -> None:
    fields = {"key": "g"} if version < 4 else {"coordinator_keys": ["g"]}

    book = stage.play() >> client_sends(messages.FindCoordinatorRequest(**fields), version, body_tail=b"\0")

    assert book << ends(CloseReason.MALFORMED)


@pytest.mark.parametrize("version", [9, 13])
def test_what_librdkafka_leaves_behind_metadata_is_not_sent_on(stage: Stage, version: int) -> None:
    wanted = messages.MetadataRequest(topics=[{"name": "orders"}])

    book = stage.play() >> client_sends(wanted, version, body_tail=b"\1\0\0")

    assert book << to_broker(messages.MetadataRequest(topics=[{"name": physical_name("acme", "orders")}]))


def test_before_version_9_there_is_nothing_behind_metadata(stage: Stage) -> None:
    wanted = messages.MetadataRequest(topics=[{"name": "orders"}])

    assert stage.play() >> client_sends(wanted, 8, body_tail=b"\1\0\0") << ends(CloseReason.MALFORMED)


def test_a_malformed_request_goes_nowhere_and_leaves_the_tenant_as_it_was(stage: Stage) -> None:
    frame = request_frame(heartbeat("g"), 4, 1)
    stage.play() >> client_sends_frame(frame[:-1]) << ends(CloseReason.MALFORMED)

    book = stage.play() >> client_sends(heartbeat("g"))

    assert book << to_broker(heartbeat(physical_name("acme", "g")))


def test_a_broker_that_answers_out_of_order_ends_the_connection(stage: Stage) -> None:
    assert (
        stage.play()
        >> client_sends(heartbeat("g"))
        << to_broker(heartbeat(physical_name("acme", "g")))
        >> broker_answers(messages.HeartbeatResponse(), correlation_id=99)
        << ends(CloseReason.BROKER_MISBEHAVED, "out of order")
    )


def test_a_broker_that_answers_unasked_ends_the_connection(stage: Stage) -> None:
    frame = response_frame(messages.HeartbeatResponse(), 4, 1)
    assert (
        stage.play()
        >> broker_sends_frame(frame)
        << ends(CloseReason.BROKER_MISBEHAVED, "no request asked for")
    )


def test_a_broker_that_answers_a_produce_without_acks_ends_the_connection(stage: Stage) -> None:
    book = stage.play() >> client_sends(produce("orders", acks=0), 9)
    book << to_broker(produce(physical_name("acme", "orders"), acks=0)) << no_answer()

    book >> broker_sends_frame(response_frame(produced(physical_name("acme", "orders")), 9, 3))

    assert book << ends(CloseReason.BROKER_MISBEHAVED, "no request asked for")


@pytest.mark.parametrize("size", [0, 1, 3, 4, 8])
def test_an_answer_cut_short_ends_the_connection(stage: Stage, size: int) -> None:
    book = (
        stage.play()
        >> client_sends(list_offsets("orders"))
        << to_broker(list_offsets(physical_name("acme", "orders")))
    )
    frame = response_frame(listed_offsets(physical_name("acme", "orders")), 10, 3)

    book >> broker_sends_frame(frame[:size])

    assert book << ends(CloseReason.BROKER_MISBEHAVED)


def test_an_answer_with_something_behind_it_ends_the_connection(stage: Stage) -> None:
    book = stage.play() >> client_sends(heartbeat("g")) << to_broker(heartbeat(physical_name("acme", "g")))

    book >> broker_sends_frame(response_frame(messages.HeartbeatResponse(), 4, 3) + b"x")

    assert book << ends(CloseReason.BROKER_MISBEHAVED)


def test_a_correlation_id_may_be_any_number(stage: Stage) -> None:
    book = stage.play()
    for number in (-1, 0, 2**31 - 1, -(2**31)):
        frame = request_frame(heartbeat("g"), 4, number)
        book.asked_by_client.clear()
        book.asked_by_client[number] = Asked(12, 4, number)

        book >> client_sends_frame(frame) << to_broker(heartbeat(physical_name("acme", "g")))

        assert book >> broker_answers(messages.HeartbeatResponse()) << to_client(messages.HeartbeatResponse())
