from typing import Any

import pytest

from bifrost.filters.virtual.division import MAX_PARTS, PARTS_LIMIT, copied
from bifrost.tenancy.virtual_partitions.partition_map import PartitionMap
from bifrost.tenancy.virtual_partitions.virtual_batches import marked_batch
from bifrost.wire.error_codes import ErrorCode
from support.clients.record_batches import build_batch
from support.physical_names import physical_name
from support.stage import messages
from support.stage.divided import divided, hits_of
from support.stage.playbook import broker_answers, client_sends, no_answer, to_broker, to_client
from support.stage.stage import Stage

ORDERS, BILLING = physical_name("acme", "orders"), physical_name("acme", "billing")
EPOCH = 3


def asked(*topics: tuple[str, list[int]]) -> Any:
    entries = [
        {"topic": name, "partitions": [{"partition": one, "leader_epoch": EPOCH} for one in partitions]}
        for name, partitions in topics
    ]
    return messages.build("OffsetForLeaderEpochRequest", {"replica_id": -1, "topics": entries})


def told(*topics: tuple[str, dict[int, int]]) -> Any:
    entries = [
        {
            "topic": name,
            "partitions": [
                {"partition": one, "leader_epoch": EPOCH, "end_offset": offset}
                if offset >= 0
                else {"partition": one, "end_offset": -1, "error_code": -offset}
                for one, offset in offsets.items()
            ],
        }
        for name, offsets in topics
    ]
    return messages.build("OffsetForLeaderEpochResponse", {"topics": entries})


def test_each_group_has_a_request_of_its_own_and_the_client_one_answer(stage: Stage) -> None:
    divided(stage, "orders")

    assert (
        stage.play()
        >> client_sends(asked(("orders", [0, 1, 2, 4, 3]), ("billing", [4])), 4)
        << to_broker(asked((ORDERS, [0, 1]), (BILLING, [4])))
        << to_broker(asked((ORDERS, [0, 1])))
        << to_broker(asked((ORDERS, [0])))
        >> broker_answers(told((ORDERS, {0: 10, 1: 11}), (BILLING, {4: 44})))
        >> broker_answers(told((ORDERS, {0: 12, 1: 13})))
        >> broker_answers(told((ORDERS, {0: 14})))
        << to_client(told(("orders", {0: 10, 1: 11, 2: 12, 3: 13, 4: 14}), ("billing", {4: 44})))
    )


def test_partitions_that_there_are_not_are_answered_here(stage: Stage) -> None:
    divided(stage, "orders")

    assert (
        stage.play()
        >> client_sends(asked(("orders", [5, 3, -1])), 4)
        << to_broker(asked((ORDERS, [1])))
        >> broker_answers(told((ORDERS, {1: 13})))
        << to_client(told(("orders", {3: 13, 5: -3, -1: -3})))
    )


def test_a_request_without_such_topics_is_one(stage: Stage) -> None:
    divided(stage, "orders")

    assert (
        stage.play()
        >> client_sends(asked(("billing", [1])), 4)
        << to_broker(asked((BILLING, [1])))
        >> broker_answers(told((BILLING, {1: 5})))
        << to_client(told(("billing", {1: 5})))
    )


def test_answers_keep_their_order_between_those_to_other_requests(stage: Stage) -> None:
    divided(stage, "orders")

    assert (
        stage.play()
        >> client_sends(asked(("orders", [0, 2])), 4)
        << to_broker(asked((ORDERS, [0])))
        << to_broker(asked((ORDERS, [0])))
        >> client_sends(asked(("billing", [1])), 4)
        << to_broker(asked((BILLING, [1])))
        >> broker_answers(told((ORDERS, {0: 1})))
        >> broker_answers(told((ORDERS, {0: 2})))
        << to_client(told(("orders", {0: 1, 2: 2})))
        >> broker_answers(told((BILLING, {1: 5})))
        << to_client(told(("billing", {1: 5})))
    )


def test_a_copy_has_all_fields_but_those_that_change() -> None:
    one = asked(("orders", [3])).topics[0].partitions[0]
    other = copied(one, partition=1)

    assert (one.partition, other.partition, other.leader_epoch) == (3, 1, EPOCH)
    assert copied(one) == one
    assert copied(one) is not one
    with pytest.raises(AttributeError):
        copied(one, no_field=1)


BATCH = build_batch([b"value"], producer_id=7, producer_epoch=1, base_sequence=40)
SHARING = MAX_PARTS + 2


def batches(topic: str, partitions: dict[int, bytes], acks: int = -1) -> Any:
    data = [{"index": index, "records": records} for index, records in partitions.items()]
    topics = [{"name": topic, "partition_data": data}]
    return messages.build("ProduceRequest", {"acks": acks, "timeout_ms": 1500, "topic_data": topics})


def stored(topic: str, partitions: dict[int, dict[str, Any]]) -> Any:
    some = [{"index": index, **fields} for index, fields in partitions.items()]
    topics = [{"name": topic, "partition_responses": some}]
    return messages.build("ProduceResponse", {"responses": topics})


def mark(group: int) -> bytes:
    found = marked_batch(BATCH, group)
    return b"".join(found) if isinstance(found, tuple) else bytes(found)


def test_a_produce_becomes_a_bounded_number_of_requests(stage: Stage) -> None:
    """What is beyond it the producer sends again: those that a request names first are stored first."""
    divided(stage, "orders", partitions=PartitionMap(512, 1))
    named = range(SHARING - 1, -1, -1)
    served = sorted(named[:MAX_PARTS])
    book = stage.play() >> client_sends(batches("orders", dict.fromkeys(named, BATCH)), 9)
    for group in served:
        book = book << to_broker(batches(ORDERS, {0: mark(group)}))
    for group in served:
        book = book >> broker_answers(stored(ORDERS, {0: {"base_offset": 1000 + group}}))

    nowhere = {"base_offset": -1, "log_append_time_ms": -1, "log_start_offset": -1, "error_message": None}
    again = {"error_code": int(ErrorCode.NOT_ENOUGH_REPLICAS), **nowhere}
    expected: dict[int, dict[str, Any]] = {one: {"base_offset": 1000 + one} for one in served}
    expected |= dict.fromkeys(named[MAX_PARTS:], again)
    assert book << to_client(stored("orders", expected))
    assert hits_of(stage) == {(PARTS_LIMIT, "acme"): 2}


def test_a_produce_without_an_answer_becomes_as_many_as_it_needs(stage: Stage) -> None:
    """The client could not be told to send a batch again, and nothing is awaited."""
    divided(stage, "orders", partitions=PartitionMap(512, 1))
    named = range(SHARING)
    book = stage.play() >> client_sends(batches("orders", dict.fromkeys(named, BATCH), acks=0), 9)
    for group in named:
        book = book << to_broker(batches(ORDERS, {0: mark(group)}, acks=0))

    assert book << no_answer()
    assert not hits_of(stage)


def test_a_topic_that_is_named_twice_stays_apart_by_its_physical_partition(stage: Stage) -> None:
    divided(stage, "orders")

    assert (
        stage.play()
        >> client_sends(asked(("orders", [0]), ("orders", [2, 1])), 4)
        << to_broker(asked((ORDERS, [0]), (ORDERS, [1])))
        << to_broker(asked((ORDERS, [0])))
        >> broker_answers(told((ORDERS, {0: 10}), (ORDERS, {1: 11})))
        >> broker_answers(told((ORDERS, {0: 12})))
        << to_client(told(("orders", {0: 10, 1: 11, 2: 12})))
    )
