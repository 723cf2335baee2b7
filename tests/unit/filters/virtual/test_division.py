from typing import Any

import pytest

from bifrost.filters.virtual.division import copied
from support.physical_names import physical_name
from support.stage import messages
from support.stage.divided import divided
from support.stage.playbook import broker_answers, client_sends, to_broker, to_client
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
