"""What tests do again and again with a raw client: topics, records, leaders."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.message import Message
from bifrost.wire.messages import (
    CreateTopicsRequest,
    DeleteTopicsRequest,
    DescribeConfigsRequest,
    DescribeLogDirsRequest,
    FetchRequest,
    FindCoordinatorRequest,
    InitProducerIdRequest,
    ListOffsetsRequest,
    MetadataRequest,
    OffsetFetchRequest,
    ProduceRequest,
)
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.record_batches import build_batch
from support.clients.routed_client import RoutedClient

AnyClient = RawClient | RoutedClient

WAIT_S = 20.0
PRODUCE_BY_NAME, FETCH_BY_NAME = 12, 12
"""The last versions that name topics; later ones have IDs (KIP-516)."""
LIST_OFFSETS = 7
EARLIEST = -2
"""ListOffsetsRequest.EARLIEST_TIMESTAMP."""
LATEST = -1
"""ListOffsetsRequest.LATEST_TIMESTAMP."""


def metadata_of(client: AnyClient, *names: str) -> list[Any]:
    """Return what Metadata says of topics, creating none."""
    topics = [MetadataRequest.MetadataRequestTopic(name=name) for name in names]
    request = MetadataRequest(topics=topics, allow_auto_topic_creation=False)
    response = client.request(request, client.newest(ApiKey.METADATA))
    return list(response.topics)


def topic_id_of(client: AnyClient, name: str) -> bytes:
    """Return the ID of a topic that exists."""
    (topic,) = metadata_of(client, name)
    assert topic.error_code == ErrorCode.NONE, topic
    return bytes(topic.topic_id)


def recreate_topic(client: AnyClient, name: str, partitions: int = 1) -> bytes:
    """Delete a topic if it is there, create it anew, and return its ID.

    A client that was just closed may have asked for the topic's metadata a moment ago, and the broker then
    creates it (auto.create.topics.enable) between the two: it is deleted once more.
    """
    deadline = time.monotonic() + WAIT_S
    while True:
        delete_topic(client, name)
        error_code = _try_to_create(client, name, partitions, {})
        if error_code == ErrorCode.NONE:
            return await_topic(client, name, partitions)
        assert error_code == ErrorCode.TOPIC_ALREADY_EXISTS
        assert time.monotonic() < deadline


def create_topic(
    client: AnyClient,
    name: str,
    partitions: int = 1,
    configs: Mapping[str, str] | None = None,
    assignments: Sequence[CreateTopicsRequest.CreatableReplicaAssignment] = (),
) -> bytes:
    """Create a topic, wait until its partitions have leaders, and return its ID.

    Without assignments it has as many replicas as the cluster gives by default.
    """
    error_code = _try_to_create(client, name, partitions, configs or {}, assignments)
    assert error_code == ErrorCode.NONE, ErrorCode(error_code).name
    return await_topic(client, name, partitions)


def _try_to_create(
    client: AnyClient,
    name: str,
    partitions: int,
    configs: Mapping[str, str],
    assignments: Sequence[CreateTopicsRequest.CreatableReplicaAssignment] = (),
) -> int:
    topic = CreateTopicsRequest.CreatableTopic(
        name=name,
        num_partitions=-1 if assignments else partitions,
        replication_factor=-1,
        assignments=list(assignments),
        configs=[
            CreateTopicsRequest.CreatableTopicConfig(name=key, value=value) for key, value in configs.items()
        ],
    )
    response = client.request(CreateTopicsRequest(topics=[topic]), client.newest(ApiKey.CREATE_TOPICS))
    return int(response.topics[0].error_code)


def await_topic(client: AnyClient, name: str, partitions: int = 1) -> bytes:
    """Wait until a topic has so many partitions, each with a leader that serves it, and return its ID."""
    deadline = time.monotonic() + WAIT_S
    while True:
        (topic,) = metadata_of(client, name)
        ready = [one for one in topic.partitions if one.error_code == ErrorCode.NONE and one.leader_id >= 0]
        if len(ready) == partitions and _is_served(client, name, partitions):
            return bytes(topic.topic_id)
        assert time.monotonic() < deadline, topic
        time.sleep(0.02)


def await_offset(client: AnyClient, topic: str, offset: int, *, isolation_level: int = 0) -> None:
    """Wait until the first partition of a topic ends at `offset`, for readers of an isolation level."""
    wanted = ListOffsetsRequest.ListOffsetsPartition(partition_index=0, timestamp=-1)
    named = ListOffsetsRequest.ListOffsetsTopic(name=topic, partitions=[wanted])
    request = ListOffsetsRequest(replica_id=-1, isolation_level=isolation_level, topics=[named])
    version = client.at_most(ApiKey.LIST_OFFSETS, LIST_OFFSETS)
    deadline = time.monotonic() + WAIT_S
    while (answer := client.request(request, version).topics[0].partitions[0]).offset != offset:
        assert time.monotonic() < deadline, answer
        time.sleep(0.01)


def await_config(client: AnyClient, kind: int, name: str, config: str, expected: str) -> None:
    """Wait until a changed config is in force: the broker applies it after it has answered."""
    resource = DescribeConfigsRequest.DescribeConfigsResource(
        resource_type=kind, resource_name=name, configuration_keys=[config]
    )
    deadline = time.monotonic() + WAIT_S
    while True:
        (result,) = client.request(DescribeConfigsRequest(resources=[resource]), 4).results
        if [one.value for one in result.configs] == [expected]:
            return
        assert time.monotonic() < deadline, result
        time.sleep(0.01)


def _is_served(client: AnyClient, name: str, partitions: int) -> bool:
    """Whether the leaders have the partitions' logs: they are named before they do."""
    version = client.at_most(ApiKey.LIST_OFFSETS, LIST_OFFSETS)
    numbers = list(range(partitions))
    # Several brokers are asked one partition at a time, each of them its own.
    is_routed = isinstance(client, RoutedClient) and len(client.nodes) > 1
    for asked in [[number] for number in numbers] if is_routed else [numbers]:
        wanted = [
            ListOffsetsRequest.ListOffsetsPartition(partition_index=number, timestamp=-1) for number in asked
        ]
        named = ListOffsetsRequest.ListOffsetsTopic(name=name, partitions=wanted)
        response = client.request(ListOffsetsRequest(replica_id=-1, topics=[named]), version)
        if any(one.error_code != ErrorCode.NONE for one in response.topics[0].partitions):
            return False
    return True


def delete_topic(client: AnyClient, name: str) -> None:
    """Delete a topic if it is there, until it is gone."""
    state = DeleteTopicsRequest.DeleteTopicState(name=name)
    request = DeleteTopicsRequest(topics=[state], timeout_ms=10_000)
    deadline = time.monotonic() + WAIT_S
    while True:
        (answer,) = client.request(request, client.newest(ApiKey.DELETE_TOPICS)).responses
        assert answer.error_code in (ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), answer
        time.sleep(0.01)
        if metadata_of(client, name)[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            return
        assert time.monotonic() < deadline


def await_no_topic(client: AnyClient, name: str) -> None:
    """Wait until a topic that was deleted is gone."""
    deadline = time.monotonic() + WAIT_S
    while (topic := metadata_of(client, name)[0]).error_code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        assert time.monotonic() < deadline, topic
        time.sleep(0.02)


def produce_request(
    topic: str, records: bytes | None, *, partition: int = 0, acks: int = -1, topic_id: bytes = bytes(16)
) -> ProduceRequest:
    """Return a Produce request for one partition."""
    data = ProduceRequest.PartitionProduceData(index=partition, records=records)
    named = ProduceRequest.TopicProduceData(name=topic, topic_id=topic_id, partition_data=[data])
    return ProduceRequest(acks=acks, timeout_ms=10_000, topic_data=[named])


def produce(client: AnyClient, topic: str, values: Sequence[bytes], partition: int = 0) -> int:
    """Produce one batch and return its base offset."""
    request = produce_request(topic, build_batch(values), partition=partition)
    response = client.request(request, client.at_most(ApiKey.PRODUCE, PRODUCE_BY_NAME))
    answered = response.responses[0].partition_responses[0]
    assert answered.error_code == ErrorCode.NONE, response
    return int(answered.base_offset)


def fetch_request(
    topic: str,
    *,
    partition: int = 0,
    offset: int = 0,
    topic_id: bytes = bytes(16),
    session_id: int = 0,
    session_epoch: int = -1,
    max_wait_ms: int = 0,
) -> FetchRequest:
    """Return a Fetch request for one partition, by default outside of any session."""
    wanted = FetchRequest.FetchPartition(
        partition=partition, fetch_offset=offset, partition_max_bytes=1 << 20
    )
    named = FetchRequest.FetchTopic(topic=topic, topic_id=topic_id, partitions=[wanted])
    return FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=0,
        max_bytes=1 << 20,
        session_id=session_id,
        session_epoch=session_epoch,
        topics=[named],
    )


def log_start(client: AnyClient, topic: str, partition: int = 0) -> int:
    """Return the first offset that a partition has: after DeleteRecords not 0."""
    return _listed_offset(client, topic, partition, EARLIEST)


def log_end(client: AnyClient, topic: str, partition: int = 0) -> int:
    """Return the offset behind the last record that a partition's replicas in sync have: its high watermark."""
    return _listed_offset(client, topic, partition, LATEST)


def _listed_offset(client: AnyClient, topic: str, partition: int, timestamp: int) -> int:
    wanted = ListOffsetsRequest.ListOffsetsPartition(partition_index=partition, timestamp=timestamp)
    named = ListOffsetsRequest.ListOffsetsTopic(name=topic, partitions=[wanted])
    response = client.request(ListOffsetsRequest(replica_id=-1, topics=[named]), 1)
    return int(response.topics[0].partitions[0].offset)


def records_of(client: AnyClient, topic: str, partition: int = 0, offset: int = 0) -> bytes:
    """Return the bytes of the record batches of a partition, from an offset on."""
    version = client.at_most(ApiKey.FETCH, FETCH_BY_NAME)
    response = client.request(fetch_request(topic, partition=partition, offset=offset), version)
    answered = response.responses[0].partitions[0]
    assert answered.error_code == ErrorCode.NONE, response
    return bytes(answered.records or b"")


def warm_up(client: AnyClient) -> None:
    """Wait until a new cluster has what the first groups and transactions create, so that no test does.

    Consecutive keys fall into consecutive partitions of the internal topics (by Java's hash code), of which
    the embedded Kafka has four.
    """
    for number in range(4):
        key = f"warm-up-{number}"
        _await(client, FindCoordinatorRequest(key_type=0, key=key), 3)
        _await(client, FindCoordinatorRequest(key_type=1, key=key), 3)
        _await(client, OffsetFetchRequest(group_id=key, topics=None), 7)
        _await(client, InitProducerIdRequest(transactional_id=key, transaction_timeout_ms=1000), 4)


def _await(client: AnyClient, message: Message, version: int) -> None:
    """Send a request until its answer has no error."""
    deadline = time.monotonic() + WAIT_S
    while (response := client.request(message, version)).error_code != ErrorCode.NONE:
        assert time.monotonic() < deadline, response
        time.sleep(0.02)


def log_bytes(broker: Endpoint, topic: str) -> int:
    """Return how large a topic's log is, as the broker says."""
    with RawClient(broker) as client:
        answer = client.request(
            DescribeLogDirsRequest(topics=None), client.at_most(ApiKey.DESCRIBE_LOG_DIRS, 4)
        )
        return sum(
            part.partition_size
            for result in answer.results
            for one in result.topics
            if one.name == topic
            for part in one.partitions
        )
