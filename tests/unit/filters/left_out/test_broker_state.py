"""What a tenant has no room for any more in the brokers' memory is refused, and the rest goes on."""

from dataclasses import replace
from typing import Any

import pytest

from bifrost.forwarding.lane import Reason
from bifrost.records.record_batch import ProducerId, build_batch, compress
from bifrost.session.close_reason import CloseReason
from bifrost.session.limited_session import OTHER_CLIENTS
from bifrost.tenancy.broker_state.broker_state import StateLimits
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.message import Message
from support.forgery.victim import subscription
from support.physical_names import prefix_of
from support.stage import messages
from support.stage.playbook import (
    Playbook,
    broker_answers,
    client_sends,
    ends,
    request_frame,
    to_broker,
    to_client,
)
from support.stage.stage import TENANTS, Stage

PREFIX = prefix_of("acme")
REFUSED = ErrorCode.POLICY_VIOLATION
HOT_STEPS = 8_192
"""Rounds of the engine in one go, as in wire/reader.pxd."""
ONE_OF_EACH = StateLimits(1, 1, 1, 1, 1, 2)


@pytest.fixture
def stage() -> Stage:
    return Stage({**TENANTS, "acme": replace(TENANTS["acme"], allowed_topics=None, state_limits=ONE_OF_EACH)})


def commit(group: str, *topics: str, partitions: int = 1, prefix: str = "") -> Message:
    return messages.OffsetCommitRequest(
        group_id=prefix + group,
        generation_id_or_member_epoch=-1,
        topics=[
            {
                "name": prefix + topic,
                "partitions": [{"partition_index": number} for number in range(partitions)],
            }
            for topic in topics
        ],
    )


def committed(*places: tuple[str, int, int]) -> Message:
    return messages.OffsetCommitResponse(
        topics=[
            {"name": topic, "partitions": [{"partition_index": number, "error_code": code}]}
            for topic, number, code in places
        ]
    )


def batch(producer_id: int = -1) -> bytes:
    records = [(0, b"key", b"value")]
    return build_batch(records, compress(records), ProducerId(producer_id, 0), 0)


def full(stage: Stage) -> Playbook:
    """Let the client commit and write until there is no room."""
    book = stage.play() >> client_sends(commit("app", "orders"), 8)
    book << to_broker(commit("app", "orders", prefix=PREFIX))
    book >> broker_answers(committed((PREFIX + "orders", 0, 0))) << to_client(committed(("orders", 0, 0)))
    book >> client_sends(messages.produce("orders", records=batch(7)), 9)
    book << to_broker(messages.produce(PREFIX + "orders", records=batch(7)))
    return (
        book >> broker_answers(messages.produced(PREFIX + "orders")) << to_client(messages.produced("orders"))
    )


def test_what_is_kept_already_goes_on(stage: Stage) -> None:
    book = full(stage)

    assert (
        book >> client_sends(commit("app", "orders"), 8) << to_broker(commit("app", "orders", prefix=PREFIX))
    )
    assert full(stage)
    assert not stage.hits


def test_a_commit_of_another_partition_is_refused_beside_the_one_that_is_kept(stage: Stage) -> None:
    book = full(stage) >> client_sends(commit("app", "orders", "billing", partitions=2), 8)
    book << to_broker(commit("app", "orders", prefix=PREFIX))
    both = committed(("orders", 0, 0), ("billing", 0, REFUSED))
    both.topics[0].partitions += committed(("orders", 1, REFUSED)).topics[0].partitions
    both.topics[1].partitions += committed(("billing", 1, REFUSED)).topics[0].partitions

    assert book >> broker_answers(committed((PREFIX + "orders", 0, 0))) << to_client(both)
    assert stage.hits == {("max_committed_offsets", "acme"): 3}


def test_where_nothing_is_left_the_broker_is_not_asked(stage: Stage) -> None:
    book = full(stage) >> client_sends(commit("app", "billing"), 8)

    assert book << to_client(committed(("billing", 0, REFUSED)))


def test_a_commit_of_another_group_is_refused(stage: Stage) -> None:
    book = full(stage) >> client_sends(commit("other", "orders"), 8)

    assert book << to_client(committed(("orders", 0, REFUSED)))
    assert stage.hits == {("max_groups", "acme"): 1}


JOINS = {
    "JoinGroup": (5, {"protocol_type": "connect", "protocols": []}, "error_code"),
    "ConsumerGroupHeartbeat": (0, {"member_id": "m", "member_epoch": 0}, "error_message"),
    "ShareGroupHeartbeat": (1, {"member_id": "m", "member_epoch": 0}, "error_message"),
    "StreamsGroupHeartbeat": (0, {"member_id": "m", "member_epoch": 0}, "error_message"),
}


@pytest.mark.parametrize("api", JOINS)
def test_a_member_of_another_group_is_refused(stage: Stage, api: str) -> None:
    version, fields, place = JOINS[api]
    text = "the tenant has used 1 groups in the last day, and this cluster allows no more (max_groups)"
    answer: Any = {"error_code": REFUSED, **({"error_message": text} if place == "error_message" else {})}
    book = full(stage) >> client_sends(
        messages.build(f"{api}Request", {"group_id": "other", **fields}), version
    )

    assert book << to_client(messages.build(f"{api}Response", answer))


def joins(stage: Stage, api: str, **fields: Any) -> Playbook:
    """Let a member join or beat in the one group that there is room for."""
    version, own, _place = JOINS[api]
    group = {"group_id": "app", **own, **fields}
    if api == "JoinGroup":
        group["rebalance_timeout_ms"] = 1_000
    if api == "StreamsGroupHeartbeat":
        group["topology"] = {"epoch": 0, "subtopologies": []}
    return stage.play() >> client_sends(messages.build(f"{api}Request", group), version)


@pytest.mark.parametrize("api", JOINS)
def test_another_member_of_a_group_is_refused(stage: Stage, api: str) -> None:
    text = "the tenant has used 1 members of groups, or 2 KiB of what they tell, in the last hour, and this cluster"
    answer: Any = {"error_code": ErrorCode.GROUP_MAX_SIZE_REACHED}
    if JOINS[api][2] == "error_message":
        answer["error_message"] = f"{text} allows no more (max_group_members)"
    for _ in range(2):
        joins(stage, api, member_id="one")
    assert not stage.hits

    assert joins(stage, api, member_id="two") << to_client(messages.build(f"{api}Response", answer))
    assert stage.hits == {("max_group_members", "acme"): 1}


@pytest.mark.parametrize("api", [one for one in JOINS if one != "JoinGroup"])
def test_a_member_that_leaves_or_goes_on_is_never_refused(stage: Stage, api: str) -> None:
    joins(stage, api, member_id="one")
    for epoch in (-1, 3):
        joins(stage, api, member_id="two", member_epoch=epoch)

    assert not stage.hits


def test_what_a_member_tells_counts_before_it_has_an_id_only_where_brokers_keep_it_then(stage: Stage) -> None:
    of_kafka = {"name": "range", "metadata": bytes(2_048)}
    for version, count in ((3, 1), (4, 0)):
        book = stage.play()
        request = messages.build(
            "JoinGroupRequest",
            {"group_id": "app", "protocol_type": "mine", "protocols": [of_kafka], "rebalance_timeout_ms": 1},
        )
        before = stage.hits["max_group_members", "acme"]
        book >> client_sends(request, version)
        assert stage.hits["max_group_members", "acme"] - before == count


@pytest.mark.parametrize(("topics", "is_refused"), [(5, False), (6, True)])
def test_each_topic_that_a_member_subscribes_to_counts_as_400_bytes(
    stage: Stage, topics: int, is_refused: bool
) -> None:
    names = [f"t{number}" for number in range(topics)]
    joins(stage, "ConsumerGroupHeartbeat", member_id="one", subscribed_topic_names=names)
    assert bool(stage.hits) == is_refused


@pytest.mark.parametrize(("topics", "is_refused"), [(4, False), (5, True)])
def test_in_a_classic_group_they_do_so_too(stage: Stage, topics: int, is_refused: bool) -> None:
    names = [f"t{number}" for number in range(topics)]
    protocols = [{"name": "range", "metadata": subscription(*names)}]
    joins(stage, "JoinGroup", member_id="one", protocol_type="consumer", protocols=protocols)
    assert bool(stage.hits) == is_refused


def test_what_a_leader_assigns_is_refused_beyond_the_limit(stage: Stage) -> None:
    joins(stage, "JoinGroup", member_id="one")

    def assigns(size: int) -> Playbook:
        assignment = {"member_id": "one", "assignment": bytes(size)}
        request = {"group_id": "app", "member_id": "one", "protocol_type": "mine", "protocol_name": "p"}
        message = messages.build("SyncGroupRequest", {**request, "assignments": [assignment]})
        return stage.play() >> client_sends(message, 5)

    assigns(1_600)  # Beside the member's ID.
    assert not stage.hits
    refused = messages.build("SyncGroupResponse", {"error_code": ErrorCode.GROUP_MAX_SIZE_REACHED})
    assert assigns(2_048) << to_client(refused)


def test_a_commit_in_a_transaction_is_refused_likewise(stage: Stage) -> None:
    def wants(*topics: str) -> Message:
        return messages.TxnOffsetCommitRequest(
            transactional_id="t",
            group_id="app",
            topics=[{"name": one, "partitions": [{"partition_index": 0}]} for one in topics],
        )

    refused = [
        {"name": one, "partitions": [{"partition_index": 0, "error_code": REFUSED}]}
        for one in ("billing", "")
    ]
    book = full(stage) >> client_sends(wants("billing", ""), 3)

    assert book << to_client(messages.TxnOffsetCommitResponse(topics=refused))


def test_another_transactional_id_is_refused(stage: Stage) -> None:
    def init(name: str) -> Message:
        return messages.InitProducerIdRequest(transactional_id=name)

    book = stage.play() >> client_sends(init("one"), 4) << to_broker(init(PREFIX + "one"))
    answer = messages.InitProducerIdResponse(producer_id=7)
    book >> broker_answers(answer) << to_client(answer)
    refused = messages.InitProducerIdResponse(error_code=REFUSED, producer_epoch=-1)

    assert book >> client_sends(init("two"), 4) << to_client(refused)
    assert stage.hits == {("max_transactional_ids", "acme"): 1}


def test_batches_of_another_producer_are_refused_beside_others(stage: Stage) -> None:
    both = messages.produce("orders", "billing", records=batch())
    both.topic_data[1].partition_data[0].records = batch(8)
    book = (
        full(stage)
        >> client_sends(both, 9)
        << to_broker(messages.produce(PREFIX + "orders", records=batch()))
    )
    book >> broker_answers(messages.produced(PREFIX + "orders"))
    text = "the tenant has used 1 producers with an ID, counted for each partition, in the last day, and this cluster"
    answer = messages.produced("orders")
    refused = messages.produced("billing", error_code=REFUSED).responses
    refused[0].partition_responses[0].base_offset = -1
    refused[0].partition_responses[0].error_message = f"{text} allows no more (max_producers)"
    answer.responses += refused

    assert book << to_client(answer)
    assert stage.hits == {("max_producers", "acme"): 1}


def test_a_produce_that_awaits_no_answer_ends_the_connection(stage: Stage) -> None:
    book = full(stage) >> client_sends(messages.produce("orders", acks=0, records=batch(8)), 9)

    assert book << ends(CloseReason.UNSUPPORTED, "max_producers")


def test_the_engine_passes_all_that_has_room_whose_names_it_has_time_to_replace() -> None:
    limits = StateLimits(1, 1, 8_000, 1, 1, 1)
    stage = Stage({**TENANTS, "acme": replace(TENANTS["acme"], allowed_topics=None, state_limits=limits)})
    session, state = stage.play().session, stage.namespaces["acme"].kept
    assert state is not None
    # The first one makes the lane, by the long way.
    session.receive_from_client(request_frame(commit("app", "orders", partitions=1), 8, 3))

    many = request_frame(commit("app", "orders", partitions=7_000), 8, 4)
    assert session.forward_request(many) == Reason.PASSES
    assert len(state.offsets) == 7_000
    more = request_frame(commit("app", "billing", partitions=2_000), 8, 5)
    assert session.forward_request(more) == Reason.NOT_IN_PLACE
    assert session.forward_request(many) == Reason.PASSES


def test_one_frame_does_not_keep_the_engine_for_long() -> None:
    """With masses of batches in one partition, or of metadata: each of them is a round."""
    limits = StateLimits(*[1_000_000] * len(StateLimits._fields))
    stage = Stage({**TENANTS, "acme": replace(TENANTS["acme"], allowed_topics=None, state_limits=limits)})
    session, state = stage.play().session, stage.namespaces["acme"].kept
    assert state is not None
    session.receive_from_client(request_frame(commit("app", "orders"), 8, 3))
    session.receive_from_client(request_frame(messages.produce("orders", records=batch()), 9, 4))
    batches = b"".join(map(batch, range(20_000)))
    long = commit("app", "orders", partitions=300)
    for one in long.topics[0].partitions:
        one.committed_metadata = "m" * 32_000

    many = request_frame(messages.produce("orders", records=batches), 9, 5)
    assert session.forward_request(many) == Reason.NOT_IN_PLACE
    assert HOT_STEPS / 2 < len(state.producers) <= HOT_STEPS + 2
    assert session.forward_request(request_frame(long, 8, 6)) == Reason.NOT_IN_PLACE
    assert HOT_STEPS / 2 < len(state.offsets) <= HOT_STEPS + 100


@pytest.mark.parametrize("version", [0, 4])
def test_brokers_see_one_client_id_of_all_that_are_too_many(stage: Stage, version: int) -> None:
    message = messages.InitProducerIdRequest()

    def uses(client_id: bytes) -> Playbook:
        return stage.play() >> client_sends(message, version, client_id=client_id)

    for known in (b"a", b"b", b"a"):
        assert uses(known) << to_broker(message, client_id=known)
    book = uses(b"c") << to_broker(message, client_id=OTHER_CLIENTS)
    answer = messages.InitProducerIdResponse(producer_id=7)
    book >> broker_answers(answer) << to_client(answer)

    assert book >> client_sends(message, version, client_id=b"b") << to_broker(message, client_id=b"b")
    assert uses(b"d") << to_broker(message, client_id=OTHER_CLIENTS)
    assert stage.hits == {("max_client_ids", "acme"): 2}


def test_of_a_client_with_a_shared_id_other_limits_hold_too(stage: Stage) -> None:
    full(stage)
    for client_id in (b"b", b"c"):
        book = stage.play() >> client_sends(commit("other", "orders"), 8, client_id=client_id)

        assert book << to_client(committed(("orders", 0, REFUSED)))
