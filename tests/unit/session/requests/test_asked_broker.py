"""The requests themselves are tested with the filters that send them (filters/virtual)."""

from typing import Any

import pytest

from bifrost.filters.steps import AtBroker
from bifrost.session.close_reason import CloseReason
from bifrost.session.in_flight import InFlight
from bifrost.session.requests import asked_broker
from bifrost.session.requests.asked_broker import AskedBroker
from support.physical_names import physical_name
from support.stage import messages
from support.stage.divided import divided
from support.stage.playbook import broker_answers, client_sends, ends, holds, to_broker, to_client
from support.stage.stage import Stage

ORDERS, APP = physical_name("acme", "orders"), physical_name("acme", "app")


def commit(group: str, topic: str, partition: int) -> Any:
    partitions = [{"partition_index": partition, "committed_offset": 5}]
    fields = {"generation_id_or_member_epoch": 4, "member_id": "m"}
    topics = [{"name": topic, "partitions": partitions}]
    return messages.build("OffsetCommitRequest", {"group_id": group, "topics": topics, **fields})


HEARTBEAT = messages.build("HeartbeatRequest", {"group_id": APP, "generation_id": 4, "member_id": "m"})


def test_requests_behind_it_wait_until_the_broker_has_answered(stage: Stage) -> None:
    divided(stage, "orders")

    assert (
        stage.play()
        >> client_sends(commit("app", "orders", 2), 7)
        << to_broker(HEARTBEAT)
        >> client_sends(messages.build("HeartbeatRequest", {"group_id": "x", "member_id": "m"}), 4)
        << holds(requests=True)
        >> broker_answers(messages.build("HeartbeatResponse", {"error_code": 22}))
        << to_broker(
            messages.build(
                "OffsetCommitRequest", {"group_id": APP, "generation_id_or_member_epoch": 4, "member_id": "m"}
            )
        )
        << to_broker(
            messages.build("HeartbeatRequest", {"group_id": physical_name("acme", "x"), "member_id": "m"})
        )
        >> broker_answers(messages.build("OffsetCommitResponse", {}))
        << to_client(
            messages.build(
                "OffsetCommitResponse",
                {"topics": [{"name": "orders", "partitions": [{"partition_index": 2, "error_code": 22}]}]},
            )
        )
        >> broker_answers(messages.build("HeartbeatResponse", {}))
        << to_client(messages.build("HeartbeatResponse", {}))
    )


def test_an_answer_about_something_else_ends_the_connection(stage: Stage) -> None:
    divided(stage, "orders")
    foreign = messages.build(
        "DescribeGroupsResponse",
        {"groups": [{"group_id": physical_name("globex", "app"), "group_state": "Empty"}]},
    )
    request = commit("app", "orders", 2)
    request.generation_id_or_member_epoch, request.member_id = -1, ""

    book = (
        stage.play()
        >> client_sends(request, 7)
        << to_broker(messages.build("DescribeGroupsRequest", {"groups": [APP]}))
        << to_broker(messages.build("ConsumerGroupDescribeRequest", {"group_ids": [APP]}))
        << to_broker(messages.build("StreamsGroupDescribeRequest", {"group_ids": [APP]}))
        >> broker_answers(foreign)
        >> broker_answers(messages.build("ConsumerGroupDescribeResponse", {}))
        >> broker_answers(messages.build("StreamsGroupDescribeResponse", {}))
    )
    # A list lacks what is foreign; the filter finds no group in it.
    assert book << to_broker(
        messages.build("OffsetCommitRequest", {"group_id": APP, "generation_id_or_member_epoch": -1})
    )


def test_an_answer_that_cannot_be_read_ends_the_connection(stage: Stage) -> None:
    divided(stage, "orders")
    book = stage.play() >> client_sends(commit("app", "orders", 2), 7) << to_broker(HEARTBEAT)
    asked = book.asked_of_broker.popleft()

    def answer() -> None:
        book.session.receive_from_broker(asked.correlation_id.to_bytes(4, "big") + b"\0")

    book.play(answer, CloseReason.BROKER_MISBEHAVED)
    assert book << ends(CloseReason.BROKER_MISBEHAVED)


def test_the_number_of_requests_is_bounded(stage: Stage) -> None:
    asked = AskedBroker(stage.namespaces["acme"], InFlight())
    many = AtBroker(((HEARTBEAT, 3),) * (asked_broker.MAX_REQUESTS + 1))

    with pytest.raises(AssertionError, match="not without bound"):
        asked.begin(many, None, b"")  # type: ignore[arg-type]
