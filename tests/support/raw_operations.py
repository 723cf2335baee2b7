"""What tests do again and again with a raw client: topics, records, leaders."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import (
    CreateTopicsRequest,
    DeleteTopicsRequest,
    FetchRequest,
    FindCoordinatorRequest,
    MetadataRequest,
    ProduceRequest,
)
from support.raw_client import RawClient
from support.record_batches import build_batch

WAIT_S = 20.0
PRODUCE_BY_NAME, FETCH_BY_NAME = 12, 12
"""The last versions that name topics; later ones have IDs (KIP-516)."""


def metadata_of(client: RawClient, *names: str) -> list[Any]:
    """Return what Metadata says of topics, creating none."""
    topics = [MetadataRequest.MetadataRequestTopic(name=name) for name in names]
    request = MetadataRequest(topics=topics, allow_auto_topic_creation=False)
    response = client.request(request, client.newest(ApiKey.METADATA))
    return list(response.topics)


def topic_id_of(client: RawClient, name: str) -> bytes:
    """Return the ID of a topic that exists."""
    (topic,) = metadata_of(client, name)
    assert topic.error_code == ErrorCode.NONE, topic
    return bytes(topic.topic_id)


def create_topic(client: RawClient, name: str, partitions: int = 1) -> bytes:
    """Create a topic, wait until its partitions have leaders, and return its ID."""
    topic = CreateTopicsRequest.CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
    response = client.request(CreateTopicsRequest(topics=[topic]), client.newest(ApiKey.CREATE_TOPICS))
    assert response.topics[0].error_code == ErrorCode.NONE, response
    return await_topic(client, name, partitions)


def await_topic(client: RawClient, name: str, partitions: int = 1) -> bytes:
    """Wait until a topic has so many partitions, each with a leader, and return its ID."""
    deadline = time.monotonic() + WAIT_S
    while True:
        (topic,) = metadata_of(client, name)
        ready = [one for one in topic.partitions if one.error_code == ErrorCode.NONE and one.leader_id >= 0]
        if len(ready) == partitions:
            return bytes(topic.topic_id)
        assert time.monotonic() < deadline, topic
        time.sleep(0.02)


def delete_topic(client: RawClient, name: str) -> None:
    """Delete a topic if it is there, and wait until it is gone."""
    state = DeleteTopicsRequest.DeleteTopicState(name=name)
    request = DeleteTopicsRequest(topics=[state], timeout_ms=10_000)
    response = client.request(request, client.newest(ApiKey.DELETE_TOPICS))
    accepted = (ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    assert response.responses[0].error_code in accepted, response
    deadline = time.monotonic() + WAIT_S
    while metadata_of(client, name)[0].error_code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def produce_request(
    topic: str, records: bytes | None, *, partition: int = 0, acks: int = -1, topic_id: bytes = bytes(16)
) -> ProduceRequest:
    """Return a Produce request for one partition."""
    data = ProduceRequest.PartitionProduceData(index=partition, records=records)
    named = ProduceRequest.TopicProduceData(name=topic, topic_id=topic_id, partition_data=[data])
    return ProduceRequest(acks=acks, timeout_ms=10_000, topic_data=[named])


def produce(client: RawClient, topic: str, values: Sequence[bytes], partition: int = 0) -> int:
    """Produce one batch and return its base offset."""
    request = produce_request(topic, build_batch(values), partition=partition)
    response = client.request(request, PRODUCE_BY_NAME)
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


def records_of(client: RawClient, topic: str, partition: int = 0) -> bytes:
    """Return the bytes of all the record batches of a partition."""
    response = client.request(fetch_request(topic, partition=partition), FETCH_BY_NAME)
    answered = response.responses[0].partitions[0]
    assert answered.error_code == ErrorCode.NONE, response
    return bytes(answered.records or b"")


def await_coordinator(client: RawClient, key: str, key_type: int = 0) -> None:
    """Wait until a group (0) or a transactional ID (1) has a coordinator: its topic is created by asking."""
    deadline = time.monotonic() + WAIT_S
    while True:
        response = client.request(FindCoordinatorRequest(key_type=key_type, coordinator_keys=[key]), 4)
        if response.coordinators[0].error_code == ErrorCode.NONE:
            return
        assert time.monotonic() < deadline, response
        time.sleep(0.05)
