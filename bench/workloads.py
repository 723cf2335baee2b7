"""What is asked of the broker: each workload makes its frames for a subject, and knows a good answer."""

import struct
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import cycle
from typing import Any

from bench import frames
from bench.client import RawClient
from bench.subjects import Subject
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.message import Message
from bifrost.wire.messages import (
    CreateTopicsRequest,
    FindCoordinatorRequest,
    HeartbeatRequest,
    ListOffsetsRequest,
    MetadataRequest,
    OffsetCommitRequest,
)

PRODUCED, CONSUMED = "produced", "consumed"
GROUP = "group"
BATCH_BYTES, RECORD_BYTES = 64 * 1024, 1024
PARTITIONS = 8
FETCH_SIZE_BATCHES = 15
"""Whole batches of BATCH_BYTES within a partition's fetch size of 1 MiB."""

CORRELATION_ID_AT = 8
"""Behind the length, the API key and the version, in bytes."""
LEADERS_TIMEOUT_S = 30.0

Frames = Callable[[RawClient, int], Iterator[bytes | bytearray]]
"""Makes the endless frames of one connection from it and its number."""


@dataclass(frozen=True)
class Workload:
    """One kind of request, to be sent over and over."""

    name: str
    api_key: ApiKey
    version: int
    make_frames: Callable[[Subject], Frames]
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


class Topics:
    """The topics of a run: one to write into, of which little is kept, and one to read from again and again."""

    def __init__(self, gateway: Subject, read_mib: int) -> None:
        """Create and fill them, through the gateway."""
        self.batch, self.records_per_batch = frames.record_batch(BATCH_BYTES, RECORD_BYTES)
        self.batches = read_mib * 1024 * 1024 // PARTITIONS // len(self.batch)
        client = gateway.connect()
        small = {
            "retention.ms": -1,
            "retention.bytes": 64 << 20,
            "segment.bytes": 32 << 20,
            "file.delete.delay.ms": 1000,
        }
        _create(client, PRODUCED, small)
        _create(client, CONSUMED, {"retention.ms": -1})
        answer = client.request(FindCoordinatorRequest(key_type=0, coordinator_keys=[GROUP]), 4)
        assert answer.coordinators[0].error_code in (0, ErrorCode.COORDINATOR_NOT_AVAILABLE), answer
        self.ids = {name: _await_leaders(client, name) for name in (PRODUCED, CONSUMED)}
        for partition in range(PARTITIONS):
            for name, count in ((PRODUCED, 1), (CONSUMED, self.batches)):
                self._fill(client, name, partition, count)
        client.close()

    def _fill(self, client: RawClient, name: str, partition: int, batches: int) -> None:
        request = frames.produce(name, self.ids[name], 9, partition, self.batch)
        deadline = time.monotonic() + LEADERS_TIMEOUT_S
        while batches:
            answer = client.request(request, 9)
            if _is_produced(answer):
                batches -= 1
            else:
                # Metadata knows a leader a little before it knows itself.
                assert time.monotonic() < deadline, answer
                time.sleep(0.02)


def _create(client: RawClient, name: str, configs: dict[str, int]) -> None:
    topic = CreateTopicsRequest.CreatableTopic(
        name=name,
        num_partitions=PARTITIONS,
        replication_factor=1,
        configs=[
            CreateTopicsRequest.CreatableTopicConfig(name=key, value=str(value))
            for key, value in configs.items()
        ],
    )
    answer = client.request(CreateTopicsRequest(topics=[topic], timeout_ms=30_000), 6)
    assert answer.topics[0].error_code == 0, answer


def _await_leaders(client: RawClient, name: str) -> bytes:
    """Wait until every partition of a topic has a leader, and return the topic's ID."""
    deadline = time.monotonic() + LEADERS_TIMEOUT_S
    while time.monotonic() < deadline:
        request = MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name=name)])
        topic = client.request(request, 12).topics[0]
        if topic.partitions and not any(one.error_code for one in (topic, *topic.partitions)):
            return topic.topic_id
        time.sleep(0.05)
    raise TimeoutError(f"{name} has no leaders")


def bulk_workloads(topics: Topics) -> list[Workload]:
    """Return what is measured by bytes."""
    return [
        _produce(topics, "produce v9, 64 KiB", 9, topics.batch),
        _produce(topics, "produce v13, 64 KiB", 13, topics.batch),
        _consume(topics, "consume v12, 1 MiB", 12, 1),
        _consume(topics, "consume v16, 1 MiB", 16, 1),
        _consume(topics, "consume v16, 8 x 1 MiB", 16, PARTITIONS),
    ]


def small_workloads(topics: Topics) -> list[Workload]:
    """Return what is measured by requests."""
    tiny, _ = frames.record_batch(200, 100)
    return [
        _same(ApiKey.HEARTBEAT, 4, _heartbeat, lambda r: r.error_code == ErrorCode.UNKNOWN_MEMBER_ID),
        _same(ApiKey.LIST_OFFSETS, 7, _list_offsets, _is_listed),
        _same(ApiKey.OFFSET_COMMIT, 8, _offset_commit, lambda r: r.topics[0].partitions[0].error_code == 0),
        _empty_fetch(topics, 12),
        _produce(topics, "Produce v9, 100 B", 9, tiny, is_bulk=False),
        _same(ApiKey.METADATA, 12, _metadata, lambda r: r.topics[0].error_code == 0 and r.brokers),
    ]


def _produce(topics: Topics, name: str, version: int, batch: bytes, *, is_bulk: bool = True) -> Workload:
    def make(subject: Subject) -> Frames:
        def frames_of(_client: RawClient, number: int) -> Iterator[bytes]:
            request = frames.produce(subject.called(PRODUCED), topics.ids[PRODUCED], version, number, batch)
            return cycle([frames.request_frame(request, version, 100 + n) for n in range(8)])

        return frames_of

    return Workload(
        name, ApiKey.PRODUCE, version, make, _is_produced, bytes_per_request=len(batch) if is_bulk else 0
    )


def _is_produced(response: Any) -> bool:
    return response.responses[0].partition_responses[0].error_code == 0


def _consume(topics: Topics, name: str, version: int, partitions: int) -> Workload:
    step = FETCH_SIZE_BATCHES * topics.records_per_batch
    offsets = range(0, (topics.batches - FETCH_SIZE_BATCHES) * topics.records_per_batch, step)

    def make(subject: Subject) -> Frames:
        def frames_of(_client: RawClient, number: int) -> Iterator[bytes]:
            chosen = [(number + n) % PARTITIONS for n in range(partitions)]
            topic, topic_id = subject.called(CONSUMED), topics.ids[CONSUMED]
            requests = [
                frames.fetch(topic, topic_id, version, [(partition, offset) for partition in chosen])
                for offset in offsets
            ]
            return cycle([frames.request_frame(one, version, 100 + n) for n, one in enumerate(requests)])

        return frames_of

    def accept(response: Any) -> bool:
        found = response.responses[0].partitions
        enough = FETCH_SIZE_BATCHES * len(topics.batch)
        return len(found) == partitions and all(
            one.error_code == 0 and len(one.records) >= enough for one in found
        )

    return Workload(name, ApiKey.FETCH, version, make, accept, counts_responses=True, connections=2, depth=1)


def _same(
    api_key: ApiKey, version: int, build: Callable[[Subject], Message], accept: Callable[[Any], bool]
) -> Workload:
    """Return a workload whose requests are all alike."""

    def make(subject: Subject) -> Frames:
        ready = [frames.request_frame(build(subject), version, 100 + n) for n in range(8)]
        return lambda _client, _number: cycle(ready)

    name = f"{build.__name__.strip('_').title().replace('_', '')} v{version}"
    return Workload(name, api_key, version, make, accept)


def _heartbeat(subject: Subject) -> Message:
    return HeartbeatRequest(group_id=subject.called(GROUP), generation_id=1, member_id="nobody")


def _list_offsets(subject: Subject) -> Message:
    partition = ListOffsetsRequest.ListOffsetsPartition(partition_index=0, timestamp=-1)
    topic = ListOffsetsRequest.ListOffsetsTopic(name=subject.called(CONSUMED), partitions=[partition])
    return ListOffsetsRequest(replica_id=-1, topics=[topic])


def _is_listed(response: Any) -> bool:
    partition = response.topics[0].partitions[0]
    return partition.error_code == 0 and partition.offset > 0


def _offset_commit(subject: Subject) -> Message:
    partition = OffsetCommitRequest.OffsetCommitRequestPartition(partition_index=0, committed_offset=1)
    topic = OffsetCommitRequest.OffsetCommitRequestTopic(
        name=subject.called(CONSUMED), partitions=[partition]
    )
    return OffsetCommitRequest(group_id=subject.called(GROUP), topics=[topic])


def _metadata(subject: Subject) -> Message:
    topic = MetadataRequest.MetadataRequestTopic(name=subject.called(CONSUMED))
    return MetadataRequest(topics=[topic], allow_auto_topic_creation=False)


def _empty_fetch(topics: Topics, version: int) -> Workload:
    """A consumer that is up to date: an incremental fetch (KIP-227) names nothing and gets nothing."""
    marker = 0x5EA50E

    def make(subject: Subject) -> Frames:
        def frames_of(client: RawClient, number: int) -> Iterator[bytearray]:
            topic, topic_id = subject.called(CONSUMED), topics.ids[CONSUMED]
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

        return frames_of

    def accept(response: Any) -> bool:
        return response.error_code == 0 and not response.responses

    return Workload(f"Fetch v{version}, empty", ApiKey.FETCH, version, make, accept)
