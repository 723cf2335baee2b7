"""What members and keepers of share groups ask for (KIP-932)."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from data_scenarios import ABSENT, ABSENT_ID

from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import (
    AlterShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequest,
    IncrementalAlterConfigsRequest,
    ShareAcknowledgeRequest,
    ShareFetchRequest,
    ShareGroupDescribeRequest,
    ShareGroupHeartbeatRequest,
    StreamsGroupDescribeRequest,
)
from support.clients.raw_operations import await_config
from support.forgery.worlds import World

SHARED = "eq-shared"
MEMBER_ID = "c2hhcmUtbWVtYmVyLTAwMQ"
"""Chosen by the member itself, a UUID in Kafka's writing."""
_GROUP, _SET = 32, 0
_GROUP_CONFIGS = {"share.auto.offset.reset": "earliest", "share.assignment.interval.ms": "0"}
"""From the first record on, and assign at once, not a second later."""
_JOINING, _LEAVING, _FINAL = 0, -1, -1
_ACCEPT = 1
_WAIT_S = 20.0


def settled(world: World, ask: Callable[[], Any], is_settled: Callable[[Any], bool]) -> Any:
    """Ask until the broker has done what it does in the background; only the last answer counts."""
    deadline = time.monotonic() + _WAIT_S
    while not is_settled(answer := ask()):
        assert time.monotonic() < deadline, answer
        world.answers.pop()
        time.sleep(0.02)
    return answer


def _group(world: World, group_id: str) -> bytes:
    """Prepare a share group that reads from the start, and return the ID of its topic."""
    topic_id = world.topic(SHARED, records=[b"first", b"second", b"third"])
    # The interval is new in 4.3.
    configs = {key: value for key, value in _GROUP_CONFIGS.items() if world.has_config(_GROUP, group_id, key)}
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource(
        resource_type=_GROUP,
        resource_name=group_id,
        configs=[
            IncrementalAlterConfigsRequest.AlterableConfig(name=name, config_operation=_SET, value=value)
            for name, value in configs.items()
        ],
    )
    world.ask(IncrementalAlterConfigsRequest(resources=[resource]), 1)
    for name, value in configs.items():
        await_config(world.admin, _GROUP, group_id, name, value)
    return topic_id


def _heartbeat(world: World, group_id: str, epoch: int) -> Any:
    request = ShareGroupHeartbeatRequest(
        group_id=group_id, member_id=MEMBER_ID, member_epoch=epoch, subscribed_topic_names=[SHARED]
    )
    return world.ask(request, 1)


def _join(world: World, group_id: str) -> Any:
    def has_partitions(answer: Any) -> bool:
        assert answer.error_code == ErrorCode.NONE, answer
        return answer.assignment is not None and answer.assignment.topic_partitions != []

    return settled(world, lambda: _heartbeat(world, group_id, _JOINING), has_partitions)


def _fetch(world: World, version: int, group_id: str, epoch: int, topic_id: bytes) -> Any:
    wanted = ShareFetchRequest.FetchTopic(
        topic_id=topic_id, partitions=[ShareFetchRequest.FetchPartition(partition_index=0)]
    )
    request = ShareFetchRequest(
        group_id=group_id,
        member_id=MEMBER_ID,
        share_session_epoch=epoch,
        max_wait_ms=100,
        min_bytes=1,
        max_records=100,
        batch_size=100,
        topics=[wanted] if epoch == 0 else [],
    )
    return world.ask(request, version)


def _fetch_all(world: World, version: int, group_id: str, topic_id: bytes) -> int:
    """Fetch until the three records are acquired, and return the next epoch of the share session."""
    epochs = iter(range(1000))
    last = 0

    def fetch() -> Any:
        nonlocal last
        last = next(epochs)
        return _fetch(world, version, group_id, last, topic_id)

    def has_records(answer: Any) -> bool:
        assert answer.error_code == ErrorCode.NONE, answer
        partitions = [partition for topic in answer.responses for partition in topic.partitions]
        return any(partition.acquired_records for partition in partitions)

    settled(world, fetch, has_records)
    return last + 1


def share_group_heartbeat(world: World, version: int) -> None:
    del version  # There is one.
    _group(world, "eq-share-heartbeat")
    joined = _join(world, "eq-share-heartbeat")
    _heartbeat(world, "eq-share-heartbeat", joined.member_epoch)
    _heartbeat(world, "eq-share-heartbeat", 99)
    _heartbeat(world, "eq-share-heartbeat", _LEAVING)
    _heartbeat(world, "", _JOINING)


def share_group_describe(world: World, version: int) -> None:
    _group(world, "eq-share-describe")
    _join(world, "eq-share-describe")
    world.ask(ShareGroupDescribeRequest(group_ids=["eq-share-describe", "eq-no-such-group"]), version)
    _heartbeat(world, "eq-share-describe", _LEAVING)


def streams_group_describe(world: World, version: int) -> None:
    world.ask(StreamsGroupDescribeRequest(group_ids=["eq-no-such-group", "eq-nor-this"]), version)


def share_fetch(world: World, version: int) -> None:
    group_id = f"eq-share-fetch-{version}"
    topic_id = _group(world, group_id)
    _join(world, group_id)
    epoch = _fetch_all(world, version, group_id, topic_id)
    _fetch(world, version, group_id, epoch + 5, topic_id)
    _fetch(world, version, group_id, _FINAL, topic_id)
    _fetch(world, version, group_id, 0, ABSENT_ID)
    _heartbeat(world, group_id, _LEAVING)


def share_acknowledge(world: World, version: int) -> None:
    group_id = f"eq-share-acknowledge-{version}"
    topic_id = _group(world, group_id)
    _join(world, group_id)
    epoch = _fetch_all(world, 1, group_id, topic_id)
    for offset, this in ((0, topic_id), (1, topic_id), (0, ABSENT_ID)):
        batch = ShareAcknowledgeRequest.AcknowledgementBatch(
            first_offset=offset, last_offset=offset, acknowledge_types=[_ACCEPT]
        )
        partition = ShareAcknowledgeRequest.AcknowledgePartition(
            partition_index=0, acknowledgement_batches=[batch]
        )
        request = ShareAcknowledgeRequest(
            group_id=group_id,
            member_id=MEMBER_ID,
            share_session_epoch=epoch,
            topics=[ShareAcknowledgeRequest.AcknowledgeTopic(topic_id=this, partitions=[partition])],
        )
        world.ask(request, version)
        epoch += 1
    _fetch(world, 1, group_id, _FINAL, topic_id)
    _heartbeat(world, group_id, _LEAVING)


def _emptied_group(world: World, group_id: str) -> None:
    """A share group that has read, and has no member any more."""
    topic_id = _group(world, group_id)
    _join(world, group_id)
    _fetch_all(world, 1, group_id, topic_id)
    _fetch(world, 1, group_id, _FINAL, topic_id)
    _heartbeat(world, group_id, _LEAVING)


def describe_share_group_offsets(world: World, version: int) -> None:
    group_id = f"eq-share-offsets-{version}"
    _emptied_group(world, group_id)
    offered = DescribeShareGroupOffsetsRequest
    for topic in (SHARED, ABSENT, None):
        named = (
            [offered.DescribeShareGroupOffsetsRequestTopic(topic_name=topic, partitions=[0])]
            if topic
            else None
        )
        groups = [
            offered.DescribeShareGroupOffsetsRequestGroup(group_id=one, topics=named)
            for one in (group_id, "eq-no-such-group")
        ]
        world.ask(DescribeShareGroupOffsetsRequest(groups=groups), version)


def alter_share_group_offsets(world: World, version: int) -> None:
    _emptied_group(world, "eq-share-altered")
    offered = AlterShareGroupOffsetsRequest
    for group_id, topic in (
        ("eq-share-altered", SHARED),
        ("eq-share-altered", ABSENT),
        ("eq-no-such-group", SHARED),
    ):
        partition = offered.AlterShareGroupOffsetsRequestPartition(partition_index=0, start_offset=2)
        named = offered.AlterShareGroupOffsetsRequestTopic(topic_name=topic, partitions=[partition])
        world.ask(AlterShareGroupOffsetsRequest(group_id=group_id, topics=[named]), version)


def delete_share_group_offsets(world: World, version: int) -> None:
    _emptied_group(world, "eq-share-deleted")
    offered = DeleteShareGroupOffsetsRequest
    for group_id, topic in (
        ("eq-share-deleted", ABSENT),
        ("eq-share-deleted", SHARED),
        ("eq-no-such-group", SHARED),
    ):
        named = offered.DeleteShareGroupOffsetsRequestTopic(topic_name=topic)
        world.ask(DeleteShareGroupOffsetsRequest(group_id=group_id, topics=[named]), version)
