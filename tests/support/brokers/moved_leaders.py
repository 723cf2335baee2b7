"""Leaders that move while all brokers are there: each partition of a topic is led by the next of its replicas."""

from __future__ import annotations

import time
from typing import Any

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import (
    AlterPartitionReassignmentsRequest,
    ElectLeadersRequest,
    MetadataRequest,
)
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.gateways.gateway_process import HOST

MOVED_S = 40.0
PREFERRED = 0


def move_leaders(kafka: EmbeddedKafka, topic: str) -> None:
    """Move the leader of each partition of a physical topic, and wait until all brokers know of it."""
    wanted = {
        one.partition_index: [*one.replica_nodes[1:], one.replica_nodes[0]]
        for one in _partitions(kafka, kafka.node_ids[0], topic)
    }
    assert all(len(replicas) > 1 for replicas in wanted.values()), wanted
    deadline = time.monotonic() + MOVED_S
    _reassign(kafka, topic, wanted)
    while not _have_moved(kafka, topic, wanted):
        assert time.monotonic() < deadline, f"the leaders of {topic} have not moved"
        request = ElectLeadersRequest(
            election_type=PREFERRED,
            topic_partitions=[ElectLeadersRequest.TopicPartitions(topic=topic, partitions=list(wanted))],
            timeout_ms=10_000,
        )
        with _controller(kafka) as client:
            client.request(request, 1)
        time.sleep(0.1)


def _reassign(kafka: EmbeddedKafka, topic: str, wanted: dict[int, list[int]]) -> None:
    change = AlterPartitionReassignmentsRequest
    partitions = [
        change.ReassignablePartition(partition_index=number, replicas=replicas)
        for number, replicas in wanted.items()
    ]
    request = change(timeout_ms=20_000, topics=[change.ReassignableTopic(name=topic, partitions=partitions)])
    with _controller(kafka) as client:
        response = client.request(request, 0)
    assert response.error_code == ErrorCode.NONE, response
    assert not any(one.error_code for found in response.responses for one in found.partitions), response


def _have_moved(kafka: EmbeddedKafka, topic: str, wanted: dict[int, list[int]]) -> bool:
    return all(
        one.replica_nodes == wanted[one.partition_index] and one.leader_id == one.replica_nodes[0]
        for node_id in kafka.node_ids
        for one in _partitions(kafka, node_id, topic)
    )


def _at(kafka: EmbeddedKafka, node_id: int) -> RawClient:
    return RawClient(Endpoint(HOST, kafka.broker_port(node_id)))


def _controller(kafka: EmbeddedKafka) -> RawClient:
    """Connect to the controller; with KRaft to a broker that asks it."""
    with _at(kafka, kafka.node_ids[0]) as client:
        return _at(kafka, client.request(MetadataRequest(topics=[]), 5).controller_id)


def _partitions(kafka: EmbeddedKafka, node_id: int, topic: str) -> list[Any]:
    asked = [MetadataRequest.MetadataRequestTopic(name=topic)]
    with _at(kafka, node_id) as client:
        (found,) = client.request(MetadataRequest(topics=asked, allow_auto_topic_creation=False), 5).topics
    assert found.error_code == ErrorCode.NONE, found
    return list(found.partitions)
