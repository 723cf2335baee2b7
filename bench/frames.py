"""Whole request frames, made once and sent many times: a load generator must cost less than what it measures."""

from collections.abc import Sequence
from typing import Any

from kafka.record import MemoryRecordsBuilder

from bifrost.wire.codec import decode, encode
from bifrost.wire.headers import REQUEST_PREFIX, response_body_offset
from bifrost.wire.message import Message
from bifrost.wire.messages import FetchRequest, ProduceRequest
from bifrost.wire.programs import compile_layout
from bifrost.wire.schema import response_schema

CLIENT_ID = b"bench"
LONG_AGO_MS = 1_700_000_000_000
NO_SESSION_EPOCH = -1
"""FetchMetadata.FINAL_EPOCH: a fetch outside any session."""


def request_frame(message: Message, version: int, correlation_id: int) -> bytes:
    """Return a request as it goes over the wire, its length included."""
    schema = message.SCHEMA
    assert schema.api_key is not None
    head = REQUEST_PREFIX.pack(schema.api_key, version, correlation_id, len(CLIENT_ID)) + CLIENT_ID
    if schema.request_header_version(version) >= 2:
        head += b"\0"
    return encode(compile_layout(schema.name, version), message, head)


def read_response(api_key: int, version: int, frame: bytes) -> Any:
    """Decode a response; `frame` is without its length."""
    schema = response_schema(api_key)
    offset, _ = response_body_offset(frame, schema.response_header_version(version) >= 1)
    return decode(compile_layout(schema.name, version), frame, offset)


def record_batch(
    max_bytes: int, record_bytes: int, timestamp_ms: int = LONG_AGO_MS, key: bytes | None = None
) -> tuple[bytes, int]:
    """Return an uncompressed record batch (v2, its CRC valid) that is full, and how many records it holds."""
    builder = MemoryRecordsBuilder(magic=2, compression_type=0, batch_size=max_bytes)
    records = 0
    while builder.append(timestamp=timestamp_ms, key=key, value=_value(record_bytes)) is not None:
        records += 1
    builder.close()
    batch = bytes(builder.buffer())
    assert len(batch) <= max_bytes
    return batch, records


def _value(size: int) -> bytes:
    return (b"the quick brown fox jumps over the lazy dog " * (size // 44 + 1))[:size]


def produce(
    topic: str, topic_id: bytes, version: int, partition: int, batch: bytes, *, acks: int = 1
) -> Message:
    """Return a Produce request with one batch; from v13 on the topic goes by its ID. `acks` of -1 is all."""
    data = ProduceRequest.PartitionProduceData(index=partition, records=batch)
    named = {"topic_id": topic_id} if version >= 13 else {"name": topic}
    topic_data = ProduceRequest.TopicProduceData(**named, partition_data=[data])
    return ProduceRequest(acks=acks, timeout_ms=30_000, topic_data=[topic_data])


def produce_all(topic: str, version: int, partitions: int, batch: bytes) -> Message:
    """Return a Produce request with the same batch for each of a topic's first partitions; acks=1, before v13."""
    data = [ProduceRequest.PartitionProduceData(index=one, records=batch) for one in range(partitions)]
    topic_data = ProduceRequest.TopicProduceData(name=topic, partition_data=data)
    return ProduceRequest(acks=1, timeout_ms=30_000, topic_data=[topic_data])


def fetch(
    topic: str,
    topic_id: bytes,
    version: int,
    partitions: Sequence[tuple[int, int]],
    *,
    session_id: int = 0,
    session_epoch: int = NO_SESSION_EPOCH,
    max_wait_ms: int = 500,
) -> Message:
    """Return a Fetch request with the limits of Kafka's own consumers; `partitions` are (index, offset)."""
    wanted = [
        FetchRequest.FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=1024 * 1024)
        for index, offset in partitions
    ]
    named = {"topic_id": topic_id} if version >= 13 else {"topic": topic}
    return FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=1,
        max_bytes=50 * 1024 * 1024,
        session_id=session_id,
        session_epoch=session_epoch,
        topics=[FetchRequest.FetchTopic(**named, partitions=wanted)] if wanted else [],
    )
