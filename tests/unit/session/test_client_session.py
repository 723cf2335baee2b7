"""Requests to the broker and answers back, in place or decoded, and what is refused."""

import pytest

from bifrost.filters.api_versions import offered_versions
from bifrost.session.close_reason import CloseReason
from bifrost.wire.error_codes import ErrorCode
from support.physical_names import physical_name, prefix_of
from support.stage import messages
from support.stage.messages import metadata, metadata_of, produce, produced
from support.stage.playbook import (
    broker_answers,
    client_sends,
    client_sends_frame,
    ends,
    no_answer,
    request_frame,
    to_broker,
    to_client,
)
from support.stage.stage import PHYSICAL_CLUSTER_ID, WITHOUT_TOPIC_PAGES, Stage, broker_versions

HEADER_TAGS = b"\x02\x00\x01x\x63\x02yz"
"""Two tagged fields, numbers 0 and 99, as no header has any."""


def list_offsets(topic: str):
    partitions = [{"partition_index": 0, "timestamp": -1}]
    return messages.ListOffsetsRequest(topics=[{"name": topic, "partitions": partitions}])


def listed_offsets(topic: str):
    partitions = [{"partition_index": 0, "offset": 3}]
    return messages.ListOffsetsResponse(topics=[{"name": topic, "partitions": partitions}])


def metadata_of_all():
    return messages.MetadataRequest(topics=None)


def heartbeat(group_id: str):
    return messages.HeartbeatRequest(group_id=group_id, generation_id=3, member_id="m")


# -- in place and decoded


def test_names_are_replaced_in_place_both_ways(stage: Stage, decoded: list[str]) -> None:
    book = stage.play()
    decoded.clear()

    book >> client_sends(produce("orders", "billing"), 12)

    assert (
        book
        << to_broker(produce(physical_name("acme", "orders"), physical_name("acme", "billing")))
        >> broker_answers(produced(physical_name("acme", "orders"), physical_name("acme", "billing")))
        << to_client(produced("orders", "billing"))
    )
    assert decoded == []


def test_large_records_pass_untouched(stage: Stage, decoded: list[str]) -> None:
    records = bytes(range(256)) * 300
    book = stage.play()
    decoded.clear()

    book >> client_sends(produce("orders", records=records), 9)

    assert book << to_broker(produce(physical_name("acme", "orders"), records=records))
    assert decoded == []


def test_a_message_without_names_passes_in_place(stage: Stage, decoded: list[str]) -> None:
    response = messages.InitProducerIdResponse(producer_id=7, producer_epoch=0)
    book = stage.play()
    decoded.clear()

    book >> client_sends(messages.InitProducerIdRequest(transactional_id=None))

    assert (
        book
        << to_broker(messages.InitProducerIdRequest(transactional_id=None))
        >> broker_answers(response)
        << to_client(response)
    )
    assert decoded == []


def test_what_filters_see_is_decoded(decoded: list[str]) -> None:
    book = Stage(versions=WITHOUT_TOPIC_PAGES).play("initech")
    decoded.clear()

    book >> client_sends(metadata_of_all()) << to_broker(metadata_of_all())

    assert (
        book
        >> broker_answers(metadata_of(physical_name("initech", "orders")))
        << to_client(metadata_of("orders", tenant="initech"))
    )
    assert decoded == ["MetadataRequest", "MetadataResponse"]


@pytest.mark.parametrize("trailing", [b"", b"\0\0\0"])
def test_metadata_by_name_passes_in_place_once_the_topic_is_known(
    stage: Stage, decoded: list[str], trailing: bytes
) -> None:
    brokers = [{"node_id": one, "host": f"kafka-{one}", "port": 1, "rack": "r"} for one in (1, 2)]
    own = [{"node_id": one, "host": "proxy.example.com", "port": 9092 + one, "rack": "r"} for one in (1, 2)]
    fields = {"brokers": brokers, "cluster_id": PHYSICAL_CLUSTER_ID, "controller_id": 2}
    expected = fields | {
        "brokers": own,
        "cluster_id": stage.namespaces["acme"].virtual_cluster_id(PHYSICAL_CLUSTER_ID),
    }
    book = stage.play()

    for kinds in (["MetadataResponse"], []):
        decoded.clear()
        assert (
            book
            >> client_sends(metadata("orders"), 12, body_tail=trailing)
            << to_broker(metadata(physical_name("acme", "orders")))
            >> broker_answers(metadata_of(physical_name("acme", "orders"), **fields))
            << to_client(metadata_of("orders", tenant="acme", **expected))
        )
        assert decoded == kinds


@pytest.mark.parametrize(
    "told",
    [
        {"cluster_authorized_operations": 0x7FF},
        {"brokers": [{"node_id": 1, "host": "k", "port": 1}, {"node_id": 9, "host": "k", "port": 1}]},
    ],
)
def test_metadata_with_more_than_addresses_to_change_is_decoded(
    stage: Stage, decoded: list[str], told: dict[str, object]
) -> None:
    book = stage.play()
    book >> client_sends(metadata("orders"), 10) << to_broker(metadata(physical_name("acme", "orders")))
    book >> broker_answers(metadata_of(physical_name("acme", "orders")))
    book.said.to_client.popleft()
    decoded.clear()

    book >> client_sends(metadata("orders"), 10) << to_broker(metadata(physical_name("acme", "orders")))
    book >> broker_answers(metadata_of(physical_name("acme", "orders"), **told))
    answer = book.said.to_client.popleft()

    assert decoded == ["MetadataResponse"]
    assert b"\x07\xff" not in answer[-3:]
    assert b"\0\0\0\x09" not in answer


def test_the_same_name_is_another_topic_for_another_tenant(stage: Stage) -> None:
    assert (
        stage.play("acme")
        >> client_sends(list_offsets("orders"))
        << to_broker(list_offsets(physical_name("acme", "orders")))
    )
    assert (
        stage.play("globex")
        >> client_sends(list_offsets("orders"))
        << to_broker(list_offsets(physical_name("globex", "orders")))
    )


def test_a_topic_outside_the_list_is_asked_for_where_it_cannot_be(stage: Stage) -> None:
    unknown = {"partition_index": 0, "error_code": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert (
        stage.play("acme")
        >> client_sends(list_offsets("users"))
        << to_broker(list_offsets(physical_name("acme", "/users")))
        >> broker_answers(
            messages.ListOffsetsResponse(
                topics=[{"name": physical_name("acme", "/users"), "partitions": [unknown]}]
            )
        )
        << to_client(messages.ListOffsetsResponse(topics=[{"name": "users", "partitions": [unknown]}]))
    )


def test_a_physical_name_from_a_client_is_only_a_strange_virtual_one(stage: Stage) -> None:
    assert (
        stage.play("initech")
        >> client_sends(list_offsets(physical_name("globex", "orders")))
        << to_broker(list_offsets(physical_name("initech", physical_name("globex", "orders"))))
        >> client_sends(heartbeat(physical_name("globex", "group")))
        << to_broker(heartbeat(physical_name("initech", physical_name("globex", "group"))))
    )


def test_unknown_tagged_fields_are_not_sent_on(stage: Stage, decoded: list[str]) -> None:
    frame = request_frame(heartbeat("g"), 4, 9)
    assert frame[-1] == 0
    tagged = frame[:-1] + b"\x01\x63\x02yz"
    book = stage.play()
    decoded.clear()

    book >> client_sends_frame(tagged)

    assert book << to_broker(heartbeat(physical_name("acme", "g")))
    assert decoded == ["HeartbeatRequest"]


@pytest.mark.parametrize("message", [heartbeat("g"), metadata("orders")])
def test_tagged_fields_of_a_header_are_not_sent_on(stage: Stage, message) -> None:
    # `read_request` of the Playbook asserts that there are none.
    book = stage.play() >> client_sends(message, header_tags=HEADER_TAGS)

    assert book.said.to_broker
    book.said.to_broker.clear()


def test_tagged_fields_of_a_response_header_are_not_sent_on(stage: Stage) -> None:
    assert (
        stage.play()
        >> client_sends(heartbeat("g"))
        << to_broker(heartbeat(physical_name("acme", "g")))
        >> broker_answers(messages.HeartbeatResponse(), header_tags=HEADER_TAGS)
        << to_client(messages.HeartbeatResponse())
        >> client_sends(metadata("orders"))
        << to_broker(metadata(physical_name("acme", "orders")))
        >> broker_answers(metadata_of(physical_name("acme", "orders")), header_tags=HEADER_TAGS)
        << to_client(metadata_of("orders", tenant="acme"))
    )


@pytest.mark.parametrize("client_id", [None, b"", "kafkä".encode(), b"x" * 300])
@pytest.mark.parametrize("version", [0, 4])
def test_any_client_id_is_sent_on_as_it_is(stage: Stage, client_id: bytes | None, version: int) -> None:
    assert (
        stage.play()
        >> client_sends(heartbeat("g"), version, client_id=client_id)
        << to_broker(heartbeat(physical_name("acme", "g")), client_id=client_id)
    )


def test_a_foreign_name_in_an_answer_is_left_out(stage: Stage, decoded: list[str]) -> None:
    own, foreign = {"group_id": physical_name("acme", "g")}, {"group_id": physical_name("globex", "g")}
    book = (
        stage.play() >> client_sends(messages.ListGroupsRequest()) << to_broker(messages.ListGroupsRequest())
    )
    decoded.clear()

    book >> broker_answers(messages.ListGroupsResponse(groups=[foreign, own, foreign, {"group_id": "plain"}]))

    assert book << to_client(messages.ListGroupsResponse(groups=[{"group_id": "g"}]))
    assert decoded == ["ListGroupsResponse"]


def test_only_own_groups_are_told_in_the_same_order_as_beside_others(
    stage: Stage, decoded: list[str]
) -> None:
    groups = [{"group_id": physical_name("acme", "g")}, {"group_id": prefix_of("acme")}]
    book = (
        stage.play() >> client_sends(messages.ListGroupsRequest()) << to_broker(messages.ListGroupsRequest())
    )
    decoded.clear()

    book >> broker_answers(messages.ListGroupsResponse(groups=groups))

    assert book << to_client(messages.ListGroupsResponse(groups=[{"group_id": ""}, {"group_id": "g"}]))
    assert decoded == ["ListGroupsResponse"]


def test_an_error_text_is_told_in_virtual_names(stage: Stage) -> None:
    error = ErrorCode.INVALID_RECORD
    partition = {
        "error_code": error,
        "error_message": f"One or more records of {physical_name('acme', 'orders-0')} are invalid",
    }
    virtual = {"error_code": error, "error_message": "One or more records of orders-0 are invalid"}
    answer, expected = (
        messages.ProduceResponse(responses=[{"name": name, "partition_responses": [one]}])
        for name, one in ((physical_name("acme", "orders"), partition), ("orders", virtual))
    )
    assert (
        stage.play()
        >> client_sends(produce("orders"), 9)
        << to_broker(produce(physical_name("acme", "orders")))
        >> broker_answers(answer)
        << to_client(expected)
    )


# -- acks=0


def test_a_produce_without_acks_leaves_nothing_behind(stage: Stage) -> None:
    book = stage.play()

    (
        book
        >> client_sends(produce("orders", acks=0), 9)
        << to_broker(produce(physical_name("acme", "orders"), acks=0))
        << no_answer()
    )

    assert book
    assert book.session.in_flight == 0


@pytest.mark.parametrize("version", [3, 8, 9, 12])
def test_a_produce_without_acks_is_recognised_behind_a_transactional_id(stage: Stage, version: int) -> None:
    request = produce("orders", acks=0, transactional_id="t")
    book = stage.play() >> client_sends(request, version)

    (
        book
        << to_broker(
            produce(physical_name("acme", "orders"), acks=0, transactional_id=physical_name("acme", "t"))
        )
        << no_answer()
    )

    assert book
    assert book.session.in_flight == 0


def test_answers_keep_to_their_requests_around_a_produce_without_acks(stage: Stage) -> None:
    assert (
        stage.play()
        >> client_sends(heartbeat("g"))
        << to_broker(heartbeat(physical_name("acme", "g")))
        >> client_sends(produce("orders", acks=0), 9)
        << to_broker(produce(physical_name("acme", "orders"), acks=0))
        << no_answer()
        >> client_sends(list_offsets("orders"))
        << to_broker(list_offsets(physical_name("acme", "orders")))
        >> broker_answers(messages.HeartbeatResponse())
        << to_client(messages.HeartbeatResponse())
        >> broker_answers(listed_offsets(physical_name("acme", "orders")))
        << to_client(listed_offsets("orders"))
    )


# -- what is not served


def test_an_api_without_a_place_for_an_error_is_refused_by_closing(stage: Stage) -> None:
    request = messages.WriteTxnMarkersRequest()
    assert stage.play() >> client_sends(request, 1) << ends(CloseReason.UNSUPPORTED, "WRITE_TXN_MARKERS v1")


def test_what_brokers_ask_each_other_is_refused_with_an_error_code(stage: Stage) -> None:
    assert (
        stage.play()
        >> client_sends(messages.AddPartitionsToTxnRequest(), 4)
        << to_client(messages.AddPartitionsToTxnResponse(error_code=ErrorCode.UNSUPPORTED_VERSION))
        >> client_sends(messages.AddPartitionsToTxnRequest(), 5)
        << to_client(messages.AddPartitionsToTxnResponse(error_code=ErrorCode.UNSUPPORTED_VERSION))
    )


def test_a_refusal_waits_for_the_answers_before_it(stage: Stage) -> None:
    assert (
        stage.play()
        >> client_sends(heartbeat("g"))
        << to_broker(heartbeat(physical_name("acme", "g")))
        >> client_sends(messages.AddPartitionsToTxnRequest(), 4)
        >> broker_answers(messages.HeartbeatResponse())
        << to_client(messages.HeartbeatResponse())
        << to_client(messages.AddPartitionsToTxnResponse(error_code=ErrorCode.UNSUPPORTED_VERSION))
    )


def test_a_version_that_the_broker_lacks_is_not_sent_to_it() -> None:
    stage = Stage(versions=offered_versions(broker_versions(Heartbeat=(0, 2), DeleteTopics=(1, 3))))
    assert (
        stage.play()
        >> client_sends(heartbeat("g"), 2)
        << to_broker(heartbeat(physical_name("acme", "g")))
        >> client_sends(messages.DeleteTopicsRequest(), 4)
        << ends(CloseReason.UNSUPPORTED, "DELETE_TOPICS v4")
    )


@pytest.mark.parametrize("version", [-1, 99, 32767])
def test_an_unknown_version_ends_the_connection(stage: Stage, version: int) -> None:
    frame = b"\0\x0c" + version.to_bytes(2, "big", signed=True) + bytes(4) + b"\xff\xff"
    assert stage.play() >> client_sends_frame(frame) << ends(CloseReason.UNSUPPORTED, f"HEARTBEAT v{version}")
