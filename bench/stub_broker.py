"""A stub that stands in for Kafka where Kafka itself is the limit.

    python -m bench.stub_broker HOST PORT [PREFIX COUNT]...

One broker, with as many topics as it is told, each of one partition and none with a record in it. It speaks just
enough of the protocol for what `bench.growth` asks, by the engine's own encode and decode: ApiVersions, Metadata,
DescribeTopicPartitions, Heartbeat, ListOffsets, Produce. Answers to requests that were asked before come out of a
dictionary, so that the stub costs less than what is measured. It is no Kafka: nothing is kept, and any topic that is
asked for by name is there.
"""

import asyncio
import hashlib
import sys
from bisect import bisect_left
from collections.abc import Callable
from typing import Any

import uvloop

from bifrost.wire.api_keys import ApiKey
from bifrost.wire.codec import decode, encode
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.headers import read_request_header, request_body_offset, response_header
from bifrost.wire.message import Message
from bifrost.wire.messages import (
    ApiVersionsResponse,
    DescribeTopicPartitionsResponse,
    HeartbeatResponse,
    ListOffsetsResponse,
    MetadataResponse,
    ProduceResponse,
)
from bifrost.wire.programs import compile_layout
from bifrost.wire.schema import request_schema, response_schema

NODE_ID = 1
SERVED = {
    ApiKey.PRODUCE: (3, 13),
    ApiKey.LIST_OFFSETS: (1, 7),
    ApiKey.METADATA: (1, 12),
    ApiKey.HEARTBEAT: (0, 4),
    ApiKey.API_VERSIONS: (0, 4),
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: (0, 0),
}
MAX_KEPT_ANSWERS = 4096
MAX_KEPT_BYTES = 4 * 1024 * 1024
"""Of one request: a longer one is answered anew each time."""


def topic_id(name: str) -> bytes:
    """Return the ID of a topic, always the same."""
    return hashlib.sha256(name.encode()).digest()[:16]


class StubCluster:
    """What the stub knows; it answers one request at a time, without I/O."""

    def __init__(self, host: str, port: int, topics: list[str]) -> None:
        self._host, self._port = host, port
        self._topics, self._in_order = topics, sorted(topics)
        self._names = {topic_id(name): name for name in topics}
        self._kept: dict[bytes, bytes] = {}
        self._answers: dict[int, Callable[[Any, int], Message]] = {
            ApiKey.API_VERSIONS: self._api_versions,
            ApiKey.METADATA: self._metadata,
            ApiKey.HEARTBEAT: lambda _request, _version: HeartbeatResponse(
                error_code=ErrorCode.UNKNOWN_MEMBER_ID
            ),
            ApiKey.LIST_OFFSETS: self._list_offsets,
            ApiKey.DESCRIBE_TOPIC_PARTITIONS: self._describe_topic_partitions,
            ApiKey.PRODUCE: self._produce,
        }

    def answer(self, frame: bytes) -> bytes:
        """Return the response to a request, with its length; the request is without.

        Raises:
            ValueError: it is one that the stub does not know.
        """
        correlation_id, rest = frame[4:8], frame[:4] + frame[8:]
        body = self._kept.get(rest)
        if body is None:
            body = self._make_answer(frame)
            if len(frame) <= MAX_KEPT_BYTES:
                if len(self._kept) >= MAX_KEPT_ANSWERS:
                    self._kept.clear()
                self._kept[rest] = body
        return body[:4] + correlation_id + body[8:]

    def _make_answer(self, frame: bytes) -> bytes:
        header = read_request_header(frame)
        served = SERVED.get(ApiKey(header.api_key))
        if served is None or not served[0] <= header.api_version <= served[1]:
            raise ValueError(f"the stub has no {ApiKey(header.api_key).name} v{header.api_version}")
        schema, version = request_schema(header.api_key), header.api_version
        offset, _ = request_body_offset(
            frame, header.client_id_length, schema.request_header_version(version) >= 2
        )
        request = decode(compile_layout(schema.name, version), frame, offset)
        answered = response_schema(header.api_key)
        head = response_header(header.correlation_id, answered.response_header_version(version) >= 1)
        answer = self._answers[header.api_key](request, version)
        return bytes(encode(compile_layout(answered.name, version), answer, head))

    def _api_versions(self, _request: Any, _version: int) -> Message:
        return ApiVersionsResponse(
            api_keys=[
                ApiVersionsResponse.ApiVersion(api_key=key, min_version=low, max_version=high)
                for key, (low, high) in SERVED.items()
            ]
        )

    def _metadata(self, request: Any, _version: int) -> Message:
        if request.topics is None:
            names = self._topics
        else:
            names = [
                self._names.get(one.topic_id, "") if one.name is None else one.name for one in request.topics
            ]
        return MetadataResponse(
            brokers=[
                MetadataResponse.MetadataResponseBroker(node_id=NODE_ID, host=self._host, port=self._port)
            ],
            cluster_id="stub",
            controller_id=NODE_ID,
            topics=[_described(name) for name in names],
        )

    def _describe_topic_partitions(self, request: Any, _version: int) -> Message:
        first = "" if request.cursor is None else request.cursor.topic_name
        start = bisect_left(self._in_order, first)
        end = start + request.response_partition_limit
        partition = DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponsePartition(
            partition_index=0, leader_id=NODE_ID, leader_epoch=0, replica_nodes=[NODE_ID], isr_nodes=[NODE_ID]
        )
        cursor = None
        if end < len(self._in_order):
            cursor = DescribeTopicPartitionsResponse.Cursor(topic_name=self._in_order[end], partition_index=0)
        topic = DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic
        return DescribeTopicPartitionsResponse(
            topics=[
                topic(name=name, topic_id=topic_id(name), partitions=[partition])
                for name in self._in_order[start:end]
            ],
            next_cursor=cursor,
        )

    def _list_offsets(self, request: Any, _version: int) -> Message:
        topics = [
            ListOffsetsResponse.ListOffsetsTopicResponse(
                name=topic.name,
                partitions=[
                    ListOffsetsResponse.ListOffsetsPartitionResponse(
                        partition_index=one.partition_index, offset=0, timestamp=-1
                    )
                    for one in topic.partitions
                ],
            )
            for topic in request.topics
        ]
        return ListOffsetsResponse(topics=topics)

    def _produce(self, request: Any, _version: int) -> Message:
        responses = [
            ProduceResponse.TopicProduceResponse(
                name=topic.name,
                topic_id=topic.topic_id,
                partition_responses=[
                    ProduceResponse.PartitionProduceResponse(index=one.index, base_offset=0)
                    for one in topic.partition_data
                ],
            )
            for topic in request.topic_data
        ]
        return ProduceResponse(responses=responses)


def _described(name: str) -> Any:
    partition = MetadataResponse.MetadataResponsePartition(
        partition_index=0, leader_id=NODE_ID, leader_epoch=0, replica_nodes=[NODE_ID], isr_nodes=[NODE_ID]
    )
    return MetadataResponse.MetadataResponseTopic(name=name, topic_id=topic_id(name), partitions=[partition])


class _Connection(asyncio.Protocol):
    """A client of the stub."""

    def __init__(self, cluster: StubCluster) -> None:
        self._cluster = cluster
        self._received = bytearray()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        at, answers = 0, []
        while len(self._received) - at >= 4:
            end = at + 4 + int.from_bytes(self._received[at : at + 4], "big")
            if end > len(self._received):
                break
            answers.append(self._cluster.answer(bytes(self._received[at + 4 : end])))
            at = end
        del self._received[:at]
        if answers:
            self._transport.write(b"".join(answers))


async def serve(host: str, port: int, topics: list[str]) -> None:
    """Serve until the process is ended."""
    cluster = StubCluster(host, port, topics)
    server = await asyncio.get_running_loop().create_server(
        lambda: _Connection(cluster), host, port, backlog=4096
    )
    await server.serve_forever()


def topics_named(arguments: list[str]) -> list[str]:
    """Return the topics of pairs of a prefix and a count: `a 2 b 1` are a0, a1 and b0."""
    pairs = zip(arguments[::2], map(int, arguments[1::2]), strict=True)
    return [f"{prefix}{number}" for prefix, count in pairs for number in range(count)]


if __name__ == "__main__":
    uvloop.run(serve(sys.argv[1], int(sys.argv[2]), topics_named(sys.argv[3:])))
