"""Ever new names: every cache, table and metric that remembers them must have a bound."""

import itertools
import time
from collections.abc import Callable, Iterator

from bench.frames import request_frame
from bench.hostile.attack import attack
from bench.hostile.field import Field
from bifrost.wire.headers import REQUEST_PREFIX
from bifrost.wire.message import Message
from bifrost.wire.messages import (
    ApiVersionsRequest,
    ConsumerGroupHeartbeatRequest,
    FetchRequest,
    HeartbeatRequest,
    InitProducerIdRequest,
    JoinGroupRequest,
    MetadataRequest,
    OffsetCommitRequest,
)

MARK = "n00000000"


def _numbered(field: Field, message: Message, version: int, depth: int = 10) -> None:
    """Send a request again and again, with another number in place of the mark each time."""
    template, mark = request_frame(message, version, 1), MARK.encode()
    assert mark in template
    # Other names than those of an earlier run.
    first = time.time_ns() // 1_000_000 % 900 * 100_000
    frames = (template.replace(mark, b"n%08d" % number) for number in itertools.count(first))
    field.flood(frames, connections=4, depth=depth, is_endless=False)


def _with_client_ids(
    field: Field, message: Message, version: int, name: Callable[[int], bytes]
) -> Iterator[bytes]:
    body = request_frame(message, version, 1)[4 + REQUEST_PREFIX.size + len(b"bench") :]
    key = message.SCHEMA.api_key
    for number in itertools.count():
        client_id = name(number)
        head = REQUEST_PREFIX.pack(key, version, 1, len(client_id)) + client_id
        frame = head + body
        yield len(frame).to_bytes(4, "big") + frame


@attack("Metadata of topics that do not exist, another name each time", is_warmed=True)
def many_topic_names(field: Field) -> Iterator[None]:
    topic = MetadataRequest.MetadataRequestTopic(name=MARK)
    yield
    _numbered(field, MetadataRequest(topics=[topic], allow_auto_topic_creation=False), 12)


@attack("fetches of topics that do not exist, another name each time", is_warmed=True)
def many_fetched_names(field: Field) -> Iterator[None]:
    partition = FetchRequest.FetchPartition(partition=0, partition_max_bytes=1024)
    topic = FetchRequest.FetchTopic(topic=MARK, partitions=[partition])
    yield
    _numbered(field, FetchRequest(max_wait_ms=0, session_epoch=-1, topics=[topic]), 12)


@attack("heartbeats of groups that do not exist, another name each time", is_warmed=True)
def many_group_names(field: Field) -> Iterator[None]:
    yield
    _numbered(field, HeartbeatRequest(group_id=MARK, generation_id=1, member_id="m"), 4)


@attack("commits of offsets, a new group each time", is_warmed=True)
def many_groups(field: Field) -> Iterator[None]:
    partition = OffsetCommitRequest.OffsetCommitRequestPartition(partition_index=0, committed_offset=1)
    topic = OffsetCommitRequest.OffsetCommitRequestTopic(name=field.target.topic, partitions=[partition])
    message = OffsetCommitRequest(group_id=MARK, generation_id_or_member_epoch=-1, topics=[topic])
    yield
    _numbered(field, message, 8)


@attack("joins, a new group each time", is_warmed=True)
def many_joins(field: Field) -> Iterator[None]:
    protocol = JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=bytes(6) + b"\xff" * 4)
    join = JoinGroupRequest(
        group_id=MARK,
        session_timeout_ms=6000,
        rebalance_timeout_ms=6000,
        protocol_type="consumer",
        protocols=[protocol],
    )
    yield
    _numbered(field, join, 3)


@attack(
    "members that join a group of the newer protocol, another one each time, with 200 topics", is_warmed=True
)
def many_members(field: Field) -> Iterator[None]:
    names = [f"{number:03}-{'t' * 96}" for number in range(200)]
    beat = ConsumerGroupHeartbeatRequest(
        group_id="members",
        member_id=MARK,
        member_epoch=0,
        rebalance_timeout_ms=6000,
        subscribed_topic_names=names,
        topic_partitions=[],
    )
    yield
    _numbered(field, beat, 1)


@attack("new producer IDs, a new transactional ID each time", is_warmed=True)
def many_transactional_ids(field: Field) -> Iterator[None]:
    yield
    _numbered(field, InitProducerIdRequest(transactional_id=MARK, transaction_timeout_ms=10_000), 4)


@attack("new producer IDs without a transactional ID", is_warmed=True)
def many_producer_ids(field: Field) -> Iterator[None]:
    frame = field.frame(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=10_000), 4)
    yield
    field.flood([frame], connections=4, depth=10)


@attack("another client ID with each request", is_warmed=True)
def many_client_ids(field: Field) -> Iterator[None]:
    message = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
    frames = _with_client_ids(field, message, 4, lambda number: b"client-%d" % number)
    yield
    field.flood(frames, connections=4, depth=10, is_endless=False)


@attack("another client ID of 32 KiB with each request")
def long_client_ids(field: Field) -> Iterator[None]:
    message = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
    frames = _with_client_ids(field, message, 4, lambda number: b"%d-" % number + b"c" * 32_000)
    yield
    field.flood(frames, connections=4, depth=2, is_endless=False)


@attack("another name of the client's software with each ApiVersions")
def many_software_names(field: Field) -> Iterator[None]:
    message = ApiVersionsRequest(client_software_name=MARK, client_software_version=MARK)
    yield
    _numbered(field, message, 3)
