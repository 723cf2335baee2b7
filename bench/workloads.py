"""What is asked of the broker: each workload makes its frames for a subject, and knows a good answer."""

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import cycle
from typing import Any

from bench import frames
from bench.client import RawClient
from bench.goals import API_VERSIONS
from bench.subjects import Space
from bench.topics import (
    CONSUMED,
    FETCH_SIZE_BATCHES,
    GROUP,
    PARTITIONS,
    PRODUCED,
    Topics,
    is_produced,
)
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.message import Message
from bifrost.wire.messages import (
    ApiVersionsRequest,
    HeartbeatRequest,
    ListOffsetsRequest,
    MetadataRequest,
    OffsetCommitRequest,
)

CORRELATION_ID_AT = 8
"""Behind the length, the API key and the version, in bytes."""

Frames = Callable[[Space, RawClient, int], Iterator[bytes | bytearray]]
"""Makes the endless frames of one connection: from its space, itself and its number."""


@dataclass(frozen=True)
class Workload:
    """One kind of request, to be sent over and over."""

    name: str
    api_key: ApiKey
    version: int
    make_frames: Frames
    accept: Callable[[Any], bool]
    """Whether a decoded response is as it should be."""
    bytes_per_request: int = 0
    """Bytes of records in a request; 0 when it is the responses that are counted, or requests."""
    counts_responses: bool = False
    connections: int = 4
    depth: int = 5
    """Requests in flight on each connection (max.in.flight.requests.per.connection)."""

    @property
    def is_bulk(self) -> bool:
        """Whether it is measured by bytes, not by requests."""
        return self.counts_responses or self.bytes_per_request > 0


def bulk_workloads(topics: Topics) -> list[Workload]:
    """Return what is measured by bytes."""
    return [
        producing(topics, "produce v9, acks=1", 9, topics.batch),
        producing(topics, "produce v9, acks=all", 9, topics.batch, acks=-1),
        producing(topics, "produce v13, acks=1", 13, topics.batch),
        consuming(topics, "consume v12, 1 MiB", 12, 1),
        consuming(topics, "consume v16, 1 MiB", 16, 1),
        consuming(topics, "consume v16, 8 x 1 MiB", 16, PARTITIONS),
    ]


def tiny_produce(topics: Topics) -> Workload:
    """Return the one of the small ones that every protocol is measured with: tiny batches."""
    tiny, _ = frames.record_batch(200, 100)
    return producing(topics, "Produce v9, 100 B", 9, tiny, is_bulk=False)


def small_workloads(topics: Topics) -> list[Workload]:
    """Return what is measured by requests, tiny batches first."""
    return [
        tiny_produce(topics),
        _same("Heartbeat", ApiKey.HEARTBEAT, 4, _heartbeat, _is_unknown_member),
        _same("ListOffsets", ApiKey.LIST_OFFSETS, 7, _list_offsets, _is_listed),
        _same("OffsetCommit", ApiKey.OFFSET_COMMIT, 8, _offset_commit, _is_committed),
        _empty_fetch(topics, 12),
        _same("Metadata", ApiKey.METADATA, 12, _metadata, _is_described),
        _same(API_VERSIONS, ApiKey.API_VERSIONS, 4, _api_versions, _are_told),
    ]


def producing(
    topics: Topics, name: str, version: int, batch: bytes, *, acks: int = 1, is_bulk: bool = True
) -> Workload:
    """Return the workload that writes a batch again and again, each connection into its own partition."""

    def make(space: Space, _client: RawClient, number: int) -> Iterator[bytes]:
        topic, topic_id = space.called(PRODUCED), topics.topic_id(space.tenant, PRODUCED)
        request = frames.produce(topic, topic_id, version, number, batch, acks=acks)
        return cycle([frames.request_frame(request, version, 100 + n) for n in range(8)])

    size = len(batch) if is_bulk else 0
    return Workload(name, ApiKey.PRODUCE, version, make, is_produced, bytes_per_request=size)


def consuming(
    topics: Topics, name: str, version: int, partitions: int, *, fewest: int = FETCH_SIZE_BATCHES
) -> Workload:
    """Return the workload that reads again and again; an answer has `fewest` batches of a partition or more."""
    step = fewest * topics.records_per_batch
    offsets = range(0, (topics.batches - fewest) * topics.records_per_batch, step)

    def make(space: Space, _client: RawClient, number: int) -> Iterator[bytes]:
        chosen = [(number + n) % PARTITIONS for n in range(partitions)]
        topic, topic_id = space.called(CONSUMED), topics.topic_id(space.tenant, CONSUMED)
        requests = [
            frames.fetch(topic, topic_id, version, [(partition, offset) for partition in chosen])
            for offset in offsets
        ]
        return cycle([frames.request_frame(one, version, 100 + n) for n, one in enumerate(requests)])

    def accept(response: Any) -> bool:
        found = response.responses[0].partitions
        enough = fewest * len(topics.batch)
        return len(found) == partitions and all(
            one.error_code == 0 and len(one.records) >= enough for one in found
        )

    return Workload(name, ApiKey.FETCH, version, make, accept, counts_responses=True, connections=2, depth=1)


def _same(
    name: str,
    api_key: ApiKey,
    version: int,
    build: Callable[[Space], Message],
    accept: Callable[[Any], bool],
) -> Workload:
    """Return a workload whose requests are all alike."""

    def make(space: Space, _client: RawClient, _number: int) -> Iterator[bytes]:
        return cycle([frames.request_frame(build(space), version, 100 + n) for n in range(8)])

    return Workload(f"{name} v{version}", api_key, version, make, accept)


def _heartbeat(space: Space) -> Message:
    return HeartbeatRequest(group_id=space.called(GROUP), generation_id=1, member_id="unknown")


def _is_unknown_member(response: Any) -> bool:
    return bool(response.error_code == ErrorCode.UNKNOWN_MEMBER_ID)


def _list_offsets(space: Space) -> Message:
    partition = ListOffsetsRequest.ListOffsetsPartition(partition_index=0, timestamp=-1)
    topic = ListOffsetsRequest.ListOffsetsTopic(name=space.called(CONSUMED), partitions=[partition])
    return ListOffsetsRequest(replica_id=-1, topics=[topic])


def _is_listed(response: Any) -> bool:
    partition = response.topics[0].partitions[0]
    return bool(partition.error_code == 0 and partition.offset > 0)


def _offset_commit(space: Space) -> Message:
    partition = OffsetCommitRequest.OffsetCommitRequestPartition(partition_index=0, committed_offset=1)
    topic = OffsetCommitRequest.OffsetCommitRequestTopic(name=space.called(CONSUMED), partitions=[partition])
    return OffsetCommitRequest(group_id=space.called(GROUP), topics=[topic])


def _is_committed(response: Any) -> bool:
    return bool(response.topics[0].partitions[0].error_code == 0)


def _metadata(space: Space) -> Message:
    topic = MetadataRequest.MetadataRequestTopic(name=space.called(CONSUMED))
    return MetadataRequest(topics=[topic], allow_auto_topic_creation=False)


def _is_described(response: Any) -> bool:
    return response.topics[0].error_code == 0 and bool(response.brokers)


def _api_versions(_space: Space) -> Message:
    return ApiVersionsRequest(client_software_name="bench", client_software_version="1")


def _are_told(response: Any) -> bool:
    return response.error_code == 0 and bool(response.api_keys)


def _empty_fetch(topics: Topics, version: int) -> Workload:
    """A consumer that is up to date: an incremental fetch (KIP-227) names nothing and gets nothing."""
    marker = 0x5EA50E

    def make(space: Space, client: RawClient, number: int) -> Iterator[bytearray]:
        topic, topic_id = space.called(CONSUMED), topics.topic_id(space.tenant, CONSUMED)
        end = [(number % PARTITIONS, topics.batches * topics.records_per_batch)]
        first = frames.fetch(topic, topic_id, version, end, session_epoch=0, max_wait_ms=0)
        session_id = client.request(first, version).session_id
        assert session_id != 0
        next_one = frames.fetch(
            topic, topic_id, version, [], session_id=session_id, session_epoch=marker, max_wait_ms=0
        )
        frame = bytearray(frames.request_frame(next_one, version, 100))
        at = frame.index(marker.to_bytes(4, "big"))
        epoch = 0
        while True:
            epoch += 1
            struct.pack_into(">i", frame, CORRELATION_ID_AT, epoch)
            struct.pack_into(">i", frame, at, epoch)
            yield frame

    def accept(response: Any) -> bool:
        return response.error_code == 0 and not response.responses

    return Workload(f"Fetch v{version}, empty", ApiKey.FETCH, version, make, accept)
