from typing import Any

import pytest

from bifrost.filters.virtual import shown_partitions
from bifrost.tenancy.virtual_partitions.partition_map import PartitionMap
from bifrost.wire.error_codes import ErrorCode
from support.physical_names import physical_name
from support.stage import messages
from support.stage.divided import divided, hits_of
from support.stage.playbook import broker_answers, client_sends, to_broker, to_client
from support.stage.stage import Stage

ORDERS, BILLING = physical_name("acme", "orders"), physical_name("acme", "billing")


def shown(*topics: tuple[str, list[tuple[int, int]]], error_code: int = 0) -> Any:
    """Answer with topics and, for each partition, its number and leader."""
    entries = [
        {
            "name": name,
            "error_code": error_code,
            "partitions": [
                {
                    "partition_index": one,
                    "leader_id": leader,
                    "replica_nodes": [leader],
                    "isr_nodes": [leader],
                }
                for one, leader in partitions
            ],
        }
        for name, partitions in topics
    ]
    return messages.build("MetadataResponse", {"topics": entries})


def asked(*topics: str, **fields: Any) -> Any:
    return messages.metadata(*topics, **{"allow_auto_topic_creation": False, **fields})


@pytest.mark.parametrize("version", [4, 9])
def test_each_virtual_partition_has_the_leader_of_its_physical_one(stage: Stage, version: int) -> None:
    divided(stage, "orders")

    assert (
        stage.play()
        >> client_sends(asked("orders", "billing"), version)
        << to_broker(asked(ORDERS, BILLING))
        >> broker_answers(shown((ORDERS, [(1, 3), (0, 2)]), (BILLING, [(0, 1)])))
        << to_client(shown(("orders", [(0, 2), (1, 3), (2, 2), (3, 3), (4, 2)]), ("billing", [(0, 1)])))
    )


@pytest.mark.parametrize("partitions", [[], [(0, 1)], [(0, 1), (1, 1), (2, 1)], [(0, 1), (2, 1)]])
def test_a_topic_with_other_physical_partitions_is_an_error(
    stage: Stage, partitions: list[tuple[int, int]]
) -> None:
    divided(stage, "orders")

    assert (
        stage.play()
        >> client_sends(asked("orders"), 9)
        << to_broker(asked(ORDERS))
        >> broker_answers(shown((ORDERS, partitions)))
        << to_client(shown(("orders", []), error_code=int(ErrorCode.INVALID_PARTITIONS)))
    )


@pytest.mark.parametrize("count", [1, 3])
def test_with_a_ratio_all_that_brokers_have_are_shown(stage: Stage, count: int) -> None:
    divided(stage, "orders", partitions=PartitionMap.of_ratio(2))
    stored = [(one, 5 + one) for one in range(count)]
    expected = [(one, 5 + one // 2) for one in range(2 * count)]

    assert (
        stage.play()
        >> client_sends(asked("orders"), 9)
        << to_broker(asked(ORDERS))
        >> broker_answers(shown((ORDERS, stored)))
        << to_client(shown(("orders", expected)))
    )


@pytest.mark.parametrize("partitions", [[], [(1, 1)], [(0, 1), (2, 1)]])
def test_with_a_ratio_partitions_have_no_gaps(stage: Stage, partitions: list[tuple[int, int]]) -> None:
    divided(stage, "orders", partitions=PartitionMap.of_ratio(2))

    assert (
        stage.play()
        >> client_sends(asked("orders"), 9)
        << to_broker(asked(ORDERS))
        >> broker_answers(shown((ORDERS, partitions)))
        << to_client(shown(("orders", []), error_code=int(ErrorCode.INVALID_PARTITIONS)))
    )


def test_no_broker_creates_such_a_topic_by_itself(stage: Stage) -> None:
    divided(stage, "orders")

    assert (
        stage.play()
        >> client_sends(asked("billing", "orders", allow_auto_topic_creation=True), 9)
        << to_broker(asked(BILLING, ORDERS))
        >> broker_answers(shown((BILLING, []), (ORDERS, []), error_code=3))
        << to_client(shown(("billing", []), ("orders", []), error_code=3))
    )


def test_a_topic_with_an_error_shows_no_physical_partition(stage: Stage) -> None:
    divided(stage, "orders")

    assert (
        stage.play()
        >> client_sends(asked("orders"), 9)
        << to_broker(asked(ORDERS))
        >> broker_answers(shown((ORDERS, [(0, 1)]), error_code=5))
        << to_client(shown(("orders", []), error_code=5))
    )


def page(*topics: tuple[str, list[int]], cursor: tuple[str, int] | None = None) -> Any:
    entries = [
        {
            "name": name,
            "partitions": [
                {"partition_index": one, "leader_id": 1, "replica_nodes": [1], "isr_nodes": [1]}
                for one in partitions
            ],
        }
        for name, partitions in topics
    ]
    next_cursor = None if cursor is None else {"topic_name": cursor[0], "partition_index": cursor[1]}
    return messages.build("DescribeTopicPartitionsResponse", {"topics": entries, "next_cursor": next_cursor})


def test_pages_have_all_partitions_of_a_topic(stage: Stage) -> None:
    divided(stage, "orders")

    def asked(*topics: str, limit: int) -> Any:
        named = [{"name": one} for one in topics]
        fields = {"topics": named, "response_partition_limit": limit}
        return messages.build("DescribeTopicPartitionsRequest", fields)

    assert (
        stage.play()
        >> client_sends(asked("billing", "orders", limit=1), 0)
        << to_broker(asked(BILLING, ORDERS, limit=2_000))
        >> broker_answers(page((BILLING, [0]), (ORDERS, [0]), cursor=(ORDERS, 1)))
        << to_client(page(("billing", [0]), cursor=("orders", 0)))
        >> client_sends(asked("orders", limit=1), 0)
        << to_broker(asked(ORDERS, limit=2_000))
        >> broker_answers(page((ORDERS, [0, 1])))
        << to_client(page(("orders", [0, 1, 2, 3, 4])))
    )


def test_an_answer_shows_no_more_partitions_than_it_has_room_for(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    divided(stage, "orders", "billing")
    monkeypatch.setattr(shown_partitions, "MAX_SHOWN", 9)
    five = [(one, 1) for one in range(5)]
    expected = shown(("orders", five), ("billing", []))
    expected.topics[1].error_code = int(ErrorCode.INVALID_PARTITIONS)
    book = (
        stage.play()
        >> client_sends(asked("orders", "billing"), 9)
        << to_broker(asked(ORDERS, BILLING))
        >> broker_answers(shown((ORDERS, five[:2]), (BILLING, five[:2])))
        << to_client(expected)
    )
    hits = hits_of(stage)
    assert hits == {("virtual_partitions_shown", "acme"): 1}
    monkeypatch.setattr(shown_partitions, "MAX_SHOWN", 10)
    assert (
        book
        >> client_sends(asked("orders", "billing"), 9)
        << to_broker(asked(ORDERS, BILLING))
        >> broker_answers(shown((ORDERS, five[:2]), (BILLING, five[:2])))
        << to_client(shown(("orders", five), ("billing", five)))
    )
    assert hits.total() == 1
