"""Answers of all brokers to one question, made into one: lists of groups, of transactions, and of log directories."""

from collections.abc import Sequence
from typing import Any

from bifrost.wire.message import Message
from bifrost.wire.messages import DescribeLogDirsResponse, ListGroupsResponse, ListTransactionsResponse
from bifrost.wire.steps import in_steps


def gathered(answers: Sequence[Any]) -> Message:
    """Return one answer of several, which are used up; at least one. An error of one broker is the error of all."""
    first, *others = answers
    for one in others:
        match first:
            case ListGroupsResponse():
                first.groups += one.groups
                one.groups.clear()  # `release` of the first one frees them all, in steps.
            case ListTransactionsResponse():
                first.transaction_states += one.transaction_states
                one.transaction_states.clear()
            case DescribeLogDirsResponse():
                _add_log_dirs(first, one)
            case _:
                raise AssertionError(f"{type(first).__name__} is not gathered")
        first.throttle_time_ms = max(first.throttle_time_ms, one.throttle_time_ms)
        first.error_code = first.error_code or one.error_code
    if isinstance(first, DescribeLogDirsResponse):
        for result in first.results:
            _keep_one_replica(result)
    assert isinstance(first, Message)
    return first


def _add_log_dirs(into: DescribeLogDirsResponse, other: DescribeLogDirsResponse) -> None:
    """Add the log directories of another broker; those of the same name become one, for a client keys them by it."""
    known = {one.log_dir: one for one in into.results}
    for result in other.results:
        same = known.get(result.log_dir)
        if same is None:
            into.results.append(result)
            continue
        same.topics += result.topics
        same.error_code = same.error_code or result.error_code
        for size in ("total_bytes", "usable_bytes"):
            ours, theirs = getattr(same, size), getattr(result, size)
            setattr(same, size, ours + theirs if ours >= 0 and theirs >= 0 else -1)


def _keep_one_replica(result: DescribeLogDirsResponse.DescribeLogDirsResult) -> None:
    """Keep the largest replica of each partition: the cluster that clients see has one."""
    topics: dict[str, dict[tuple[int, bool], Any]] = {}
    for topic in in_steps(result.topics):
        found = topics.setdefault(topic.name, {})
        for one in in_steps(topic.partitions):
            key = one.partition_index, one.is_future_key
            if key not in found or found[key].partition_size < one.partition_size:
                found[key] = one
    result.topics = [
        DescribeLogDirsResponse.DescribeLogDirsTopic(name=name, partitions=list(partitions.values()))
        for name, partitions in topics.items()
    ]
