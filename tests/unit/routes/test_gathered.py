from typing import Any

import pytest

from bifrost.routes.gathered import gathered
from bifrost.wire.messages import (
    DescribeLogDirsResponse,
    HeartbeatResponse,
    ListGroupsResponse,
    ListTransactionsResponse,
)


def test_groups_of_all_brokers_are_listed() -> None:
    group = ListGroupsResponse.ListedGroup
    answers = [
        ListGroupsResponse(throttle_time_ms=5, error_code=0, groups=[group(group_id="a")]),
        ListGroupsResponse(throttle_time_ms=7, error_code=15, groups=[group(group_id="b")]),
    ]

    found: Any = gathered(answers)

    assert [one.group_id for one in found.groups] == ["a", "b"]
    assert (found.throttle_time_ms, found.error_code) == (7, 15)


def test_transactions_of_all_brokers_are_listed() -> None:
    state = ListTransactionsResponse.TransactionState
    answers = [
        ListTransactionsResponse(error_code=0, transaction_states=[state(transactional_id=name)])
        for name in "ab"
    ]

    found: Any = gathered(answers)

    assert [one.transactional_id for one in found.transaction_states] == ["a", "b"]


def log_dirs(name: str, sizes: dict[int, int], total: int) -> DescribeLogDirsResponse:
    response = DescribeLogDirsResponse
    partitions = [
        response.DescribeLogDirsPartition(partition_index=index, partition_size=size, is_future_key=False)
        for index, size in sizes.items()
    ]
    topic = response.DescribeLogDirsTopic(name="orders", partitions=partitions)
    result = response.DescribeLogDirsResult(
        error_code=0, log_dir=name, topics=[topic], total_bytes=total, usable_bytes=-1
    )
    return response(error_code=0, results=[result])


def test_log_directories_of_one_name_become_one_with_one_replica_of_each_partition() -> None:
    found: Any = gathered(
        [log_dirs("/a", {0: 5, 1: 6}, 10), log_dirs("/a", {1: 9}, 20), log_dirs("/b", {2: 1}, 30)]
    )

    shown = {
        one.log_dir: [(p.partition_index, p.partition_size) for topic in one.topics for p in topic.partitions]
        for one in found.results
    }
    assert shown == {"/a": [(0, 5), (1, 9)], "/b": [(2, 1)]}
    assert [(one.total_bytes, one.usable_bytes) for one in found.results] == [(30, -1), (30, -1)]


def test_other_answers_are_not_gathered() -> None:
    with pytest.raises(AssertionError, match="not gathered"):
        gathered([HeartbeatResponse(), HeartbeatResponse()])
