from typing import Any

import pytest

from bifrost.filters.virtual import log_sizes
from bifrost.tenancy.virtual_partitions.partition_map import PartitionMap
from support.physical_names import physical_name
from support.stage import messages
from support.stage.divided import divided, hits_of
from support.stage.playbook import broker_answers, client_sends, to_broker, to_client
from support.stage.stage import Stage

ORDERS, BILLING = physical_name("acme", "orders"), physical_name("acme", "billing")
TWELVE_ON_FOUR = PartitionMap(12, 4)


def asked(**topics: list[int]) -> Any:
    entries = [{"topic": name, "partitions": some} for name, some in topics.items()]
    return messages.build("DescribeLogDirsRequest", {"topics": entries})


def directory(log_dir: str, is_future_key: bool = False, /, **topics: dict[int, int]) -> Any:
    """Return a directory with the sizes of replicas by topic and partition."""
    entries = [
        {
            "name": name,
            "partitions": [
                {
                    "partition_index": one,
                    "partition_size": size,
                    "offset_lag": 7,
                    "is_future_key": is_future_key,
                }
                for one, size in sizes.items()
            ],
        }
        for name, sizes in topics.items()
    ]
    return {"log_dir": log_dir, "topics": entries, "total_bytes": -1, "usable_bytes": -1}


def told(*directories: Any) -> Any:
    return messages.build("DescribeLogDirsResponse", {"results": list(directories)})


DATA, OTHER = "/log-dir-9d924cca", "/log-dir-5ab168e8"
ALL = messages.build("DescribeLogDirsRequest", {"topics": None})


def test_the_virtual_partitions_that_were_asked_for_have_their_shares(stage: Stage) -> None:
    divided(stage, "orders", partitions=TWELVE_ON_FOUR)

    assert (
        stage.play()
        >> client_sends(asked(orders=[4, 3, 7, 12], billing=[9]), 4)
        << to_broker(asked(**{ORDERS: [0, 3], BILLING: [9]}))
        >> broker_answers(told(directory("/data", **{ORDERS: {0: 100, 3: 5}, BILLING: {9: 6}})))
        << to_client(told(directory(DATA, billing={9: 6}, orders={4: 33, 3: 2, 7: 2})))
    )


def test_all_shares_of_a_physical_partition_are_what_brokers_store(stage: Stage) -> None:
    """Where not all groups are full, too; those that are asked for together are as large as alone."""
    divided(stage, "orders")

    assert (
        stage.play()
        >> client_sends(ALL, 4)
        << to_broker(ALL)
        >> broker_answers(told(directory("/data", **{ORDERS: {0: 101, 1: 7}, BILLING: {9: 6}})))
        << to_client(told(directory(DATA, billing={9: 6}, orders={0: 34, 2: 34, 4: 33, 1: 4, 3: 3})))
    )


def test_a_replica_that_moves_to_another_directory_is_in_both(stage: Stage) -> None:
    divided(stage, "orders")
    now, later = directory("/data", **{ORDERS: {1: 7}}), directory("/other", True, **{ORDERS: {1: 3}})

    assert (
        stage.play()
        >> client_sends(asked(orders=[3]), 4)
        << to_broker(asked(**{ORDERS: [1]}))
        >> broker_answers(told(now, later))
        << to_client(told(directory(DATA, orders={3: 3}), directory(OTHER, True, orders={3: 1})))
    )


def test_with_a_ratio_those_of_a_physical_partition_follow_each_other(stage: Stage) -> None:
    divided(stage, "orders", partitions=PartitionMap.of_ratio(3))

    assert (
        stage.play()
        >> client_sends(asked(orders=[4, 5, 0], billing=[9]), 4)
        << to_broker(asked(**{ORDERS: [0, 1], BILLING: [9]}))
        >> broker_answers(told(directory("/data", **{ORDERS: {0: 10, 1: 11}, BILLING: {9: 9}})))
        << to_client(told(directory(DATA, billing={9: 9}, orders={0: 4, 4: 4, 5: 3})))
    )


def test_what_brokers_have_beyond_the_configuration_is_not_shown(stage: Stage) -> None:
    """Metadata answers INVALID_PARTITIONS for such a topic."""
    divided(stage, "orders", "late")
    late = physical_name("acme", "late")

    assert (
        stage.play()
        >> client_sends(ALL, 4)
        << to_broker(ALL)
        >> broker_answers(told(directory("/data", **{ORDERS: {1: 4, 2: 8}, late: {2: 8}})))
        << to_client(told(directory(DATA, orders={1: 2, 3: 2})))
    )


def test_an_answer_that_would_be_too_large_has_whole_physical_partitions(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What brokers store is still right."""
    divided(stage, "orders", "billing", partitions=TWELVE_ON_FOUR)
    monkeypatch.setattr(log_sizes, "MAX_SHOWN", 4)

    assert (
        stage.play()
        >> client_sends(ALL, 4)
        << to_broker(ALL)
        >> broker_answers(told(directory("/data", **{BILLING: {0: 30}, ORDERS: {0: 10, 3: 11}})))
        << to_client(
            told(directory(DATA, billing={0: 10, 4: 10, 8: 10}, orders={0: 10, 3: 11})),
        )
    )
    assert hits_of(stage)["virtual_partitions_shown", "acme"] == 1
