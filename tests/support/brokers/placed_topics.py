"""Topics of several brokers whose replicas are not drawn by Kafka, so that two worlds have them in the same places.

Every topic has a replica on each broker. Leaders go round, from a broker that the topic's name decides.
"""

from __future__ import annotations

import zlib

from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import CreateTopicsRequest
from support.clients.routed_client import RoutedClient

INTERNAL_PARTITIONS = 4
"""As bifrost.embedded gives a cluster."""
INTERNAL_TOPICS = ("__consumer_offsets", "__transaction_state", "__share_group_state")


def replicas_of(name: str, partitions: int, brokers: int) -> list[list[int]]:
    """Return for each partition of a topic the brokers that have it, the leader first."""
    first = zlib.crc32(name.encode())
    return [[1 + (first + part + more) % brokers for more in range(brokers)] for part in range(partitions)]


def assignments_of(
    name: str, partitions: int, brokers: int
) -> list[CreateTopicsRequest.CreatableReplicaAssignment]:
    """Return the same as CreateTopics has it."""
    return [
        CreateTopicsRequest.CreatableReplicaAssignment(partition_index=number, broker_ids=replicas)
        for number, replicas in enumerate(replicas_of(name, partitions, brokers))
    ]


def place_internal_topics(client: RoutedClient) -> None:
    """Create the topics of groups and transactions, before a broker does it by itself.

    Then each key has the same coordinator in every cluster of so many brokers. And it keeps its coordinator behind a
    prefix whose hash code is divisible by 4 (`SOYLENT`): Kafka takes the absolute value of the hash code, whose sign
    the prefix may change, by 4, and partitions 1 and 3 have the same leader.

    Source: org.apache.kafka.coordinator.group.GroupCoordinatorService.partitionFor.
    """
    turns = [min(number, INTERNAL_PARTITIONS - number) for number in range(INTERNAL_PARTITIONS)]
    for name in INTERNAL_TOPICS:
        places = assignments_of(name, INTERNAL_PARTITIONS, len(client.nodes))
        topic = CreateTopicsRequest.CreatableTopic(
            name=name,
            num_partitions=-1,
            replication_factor=-1,
            assignments=[
                CreateTopicsRequest.CreatableReplicaAssignment(
                    partition_index=number, broker_ids=places[turn].broker_ids
                )
                for number, turn in enumerate(turns)
            ],
            configs=[CreateTopicsRequest.CreatableTopicConfig(name="cleanup.policy", value="compact")],
        )
        (created,) = client.request(CreateTopicsRequest(topics=[topic], timeout_ms=20_000), 5).topics
        assert created.error_code == ErrorCode.NONE, created
