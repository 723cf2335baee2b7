"""Requests of share groups (KIP-932) and Streams groups (KIP-1071) that ACLs decide about; see acl_requests.py."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from acl_requests import GROUPS, TOPICS, UNKNOWN_ID, Build, Ids

from bifrost.wire import messages
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.message import Message
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient

SHARE_GROUPS = ("own-share", "others-share")
MEMBER_ID = "AAAAAAAAAAAAAAAAAAAAAQ"
SHARED = ("orders", "hidden", "own-secret")
STREAMS_GROUP = "own-mixed"
"""A Streams group that a super user makes, with a topic that most may not describe."""


def share_fetch(
    ids: Ids,
    topics: Sequence[str],
    *,
    group: str = "own-share",
    epoch: int = 0,
    is_acknowledged: bool = False,
) -> Message:
    """Return a ShareFetch of these topics, with acknowledgements of the first record if it is acknowledged."""
    made = messages.ShareFetchRequest
    batch = made.AcknowledgementBatch(first_offset=0, last_offset=0, acknowledge_types=[1])
    partition = made.FetchPartition(
        partition_index=0, acknowledgement_batches=[batch] if is_acknowledged else []
    )
    return made(
        group_id=group,
        member_id=MEMBER_ID,
        share_session_epoch=epoch,
        max_wait_ms=500,
        min_bytes=1,
        max_bytes=1 << 20,
        max_records=10,
        batch_size=10,
        topics=[made.FetchTopic(topic_id=ids.get(one, UNKNOWN_ID), partitions=[partition]) for one in topics],
    )


def share_acknowledge(
    ids: Ids, topics: Sequence[str], *, group: str = "own-share", epoch: int = 0
) -> Message:
    """Return a ShareAcknowledge of the first record of these topics."""
    made = messages.ShareAcknowledgeRequest
    batch = made.AcknowledgementBatch(first_offset=0, last_offset=0, acknowledge_types=[1])
    partition = made.AcknowledgePartition(partition_index=0, acknowledgement_batches=[batch])
    return made(
        group_id=group,
        member_id=MEMBER_ID,
        share_session_epoch=epoch,
        topics=[
            made.AcknowledgeTopic(topic_id=ids.get(one, UNKNOWN_ID), partitions=[partition]) for one in topics
        ],
    )


def begin_sharing(endpoint: Endpoint, ids: Ids) -> None:
    """Have a share group read a topic until its coordinator has the state of the partition."""
    deadline, codes = time.monotonic() + 120, set[int]()
    while codes != {ErrorCode.NONE}:
        assert time.monotonic() < deadline, codes
        with RawClient.authenticated(endpoint) as client:
            heartbeat = messages.ShareGroupHeartbeatRequest(
                group_id="own-share", member_id=MEMBER_ID, member_epoch=0, subscribed_topic_names=["orders"]
            )
            client.request(heartbeat, 1)
            answer = client.request(share_fetch(ids, ["orders"]), 1)
            partitions = [one for topic in answer.responses for one in topic.partitions]
            codes = {one.error_code for one in (answer, *partitions)} if partitions else set()


def share_session(ids: Ids) -> Iterator[Message]:
    """Yield the requests of a share session, to be sent over one connection."""
    yield share_fetch(ids, SHARED)
    yield share_fetch(ids, SHARED, epoch=1, is_acknowledged=True)
    yield share_acknowledge(ids, SHARED, epoch=2)
    yield share_acknowledge(ids, ["hidden"], epoch=3)
    yield share_acknowledge(ids, [], epoch=-1)


def _share_fetch(version: int, ids: Ids) -> Iterator[Message]:
    for group in SHARE_GROUPS:
        for topics in (SHARED, ["hidden"], ["nothing"], []):
            yield share_fetch(ids, topics, group=group)
        yield share_fetch(ids, ["hidden"], group=group, epoch=3)


def _share_acknowledge(version: int, ids: Ids) -> Iterator[Message]:
    for group in SHARE_GROUPS:
        yield share_acknowledge(ids, SHARED, group=group, epoch=1)


def _share_heartbeat(version: int, _ids: Ids) -> Iterator[Message]:
    for group in SHARE_GROUPS:
        for names in (["hidden"], ["orders", "hidden"], ["orders"]):
            yield messages.ShareGroupHeartbeatRequest(
                group_id=group, member_id=MEMBER_ID, member_epoch=0, subscribed_topic_names=names
            )
        yield messages.ShareGroupHeartbeatRequest(group_id=group, member_id=MEMBER_ID, member_epoch=-1)


def _describe_offsets(version: int, _ids: Ids) -> Iterator[Message]:
    made = messages.DescribeShareGroupOffsetsRequest
    named = [made.DescribeShareGroupOffsetsRequestTopic(topic_name=one, partitions=[0]) for one in TOPICS]
    for topics in (named, [named[0]], [named[5]], [], None):
        yield made(
            groups=[
                made.DescribeShareGroupOffsetsRequestGroup(group_id=one, topics=topics)
                for one in (*SHARE_GROUPS, "own-none")
            ]
        )


def _alter_offsets(version: int, _ids: Ids) -> Iterator[Message]:
    made = messages.AlterShareGroupOffsetsRequest
    partition = made.AlterShareGroupOffsetsRequestPartition(partition_index=0, start_offset=0)
    named = [
        made.AlterShareGroupOffsetsRequestTopic(topic_name=one, partitions=[partition]) for one in TOPICS
    ]
    for group in SHARE_GROUPS:
        for topics in (named, [named[5]], [named[0]]):
            yield made(group_id=group, topics=topics)


def _delete_offsets(version: int, _ids: Ids) -> Iterator[Message]:
    made = messages.DeleteShareGroupOffsetsRequest
    named = [made.DeleteShareGroupOffsetsRequestTopic(topic_name=one) for one in TOPICS]
    for group in (*SHARE_GROUPS, "own-none"):
        for topics in (named, [named[5]], [named[0]]):
            yield made(group_id=group, topics=topics)


def streams_heartbeat(
    group: str, source: Sequence[str], *, changelog: str | None = None, epoch: int = 0
) -> Message:
    """Return the heartbeat by which a member joins a Streams group, or leaves it (-1)."""
    made = messages.StreamsGroupHeartbeatRequest
    changelogs = [] if changelog is None else [made.TopicInfo(name=changelog, replication_factor=1)]
    part = made.Subtopology(subtopology_id="0", source_topics=list(source), state_changelog_topics=changelogs)
    joining: dict[str, Any] = {}
    if epoch == 0:
        joining = {
            "topology": made.Topology(epoch=0, subtopologies=[part]),
            "active_tasks": [],
            "standby_tasks": [],
            "warmup_tasks": [],
        }
    return made(
        group_id=group,
        member_id=MEMBER_ID,
        member_epoch=epoch,
        rebalance_timeout_ms=30_000,
        process_id="p",
        **joining,
    )


def _streams_heartbeat(version: int, _ids: Ids) -> Iterator[Message]:
    for group in ("own-streams", "others-streams"):
        yield streams_heartbeat(group, ["orders", "hidden"])
        yield streams_heartbeat(group, ["hidden"])
        yield streams_heartbeat(group, ["orders"], changelog="hidden")
        yield streams_heartbeat(group, ["orders"], changelog="own-a")
        yield streams_heartbeat(group, [], epoch=-1)


def _streams_describe(version: int, _ids: Ids) -> Iterator[Message]:
    yield messages.StreamsGroupDescribeRequest(group_ids=[*GROUPS, STREAMS_GROUP, "own-none"])


GROUP_REQUESTS: Mapping[ApiKey, Build] = {
    ApiKey.SHARE_GROUP_HEARTBEAT: _share_heartbeat,
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: _alter_offsets,
    ApiKey.SHARE_FETCH: _share_fetch,
    ApiKey.SHARE_ACKNOWLEDGE: _share_acknowledge,
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: _describe_offsets,
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: _delete_offsets,
    ApiKey.STREAMS_GROUP_HEARTBEAT: _streams_heartbeat,
    ApiKey.STREAMS_GROUP_DESCRIBE: _streams_describe,
}
"""In the order in which they are sent."""


def make_streams_group(client: RawClient) -> None:
    """Make a Streams group that reads a topic that most may not describe."""
    answer = client.request(streams_heartbeat(STREAMS_GROUP, ["orders", "hidden"]), 0)
    assert answer.error_code == 0, answer
