"""What a cluster looks like that has a single broker: the answers in which brokers stand.

A client behind a single address knows one broker, with one node ID. In the answers that name brokers it takes the place
of all of them: it leads each partition that has a leader, and has the only replica; it coordinates every group.
"""

from typing import Any

from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.message import Message
from bifrost.wire.messages import (
    DescribeClusterResponse,
    DescribeTopicPartitionsResponse,
    FindCoordinatorResponse,
    MetadataResponse,
)
from bifrost.wire.steps import in_steps

NODE_ID = 1
"""The node ID of the only broker. Each gateway of a fleet gives the same, so it is not configured."""

NAMES_BROKERS = frozenset(
    {
        ApiKey.METADATA,
        ApiKey.FIND_COORDINATOR,
        ApiKey.DESCRIBE_CLUSTER,
        ApiKey.DESCRIBE_TOPIC_PARTITIONS,
    }
)
"""The APIs whose answers name brokers, besides those that are taken apart (split.pyx removes hints of leaders)."""

_NONE = -1
"""There is no such broker."""


def show_one(response: Message) -> None:
    """Put the only broker in the place of every broker that an answer names."""
    match response:
        case MetadataResponse():
            response.brokers = [MetadataResponse.MetadataResponseBroker(node_id=NODE_ID, host="", port=-1)]
            response.controller_id = NODE_ID
            _show_partitions(response.topics)
        case DescribeTopicPartitionsResponse():
            _show_partitions(response.topics)
        case DescribeClusterResponse():
            brokers = [DescribeClusterResponse.DescribeClusterBroker(broker_id=NODE_ID, host="", port=-1)]
            response.brokers = brokers if response.error_code == ErrorCode.NONE else []
            response.controller_id = NODE_ID if response.controller_id != _NONE else _NONE
        case FindCoordinatorResponse():
            if response.host and response.error_code == ErrorCode.NONE:
                response.node_id = NODE_ID  # up to v3; later versions have none but those in the list
            for one in in_steps(response.coordinators):
                if one.error_code == ErrorCode.NONE:
                    one.node_id = NODE_ID


def _show_partitions(topics: list[Any]) -> None:
    for topic in in_steps(topics):
        for partition in in_steps(topic.partitions):
            has_leader = partition.leader_id != _NONE
            partition.leader_id = NODE_ID if has_leader else _NONE
            partition.replica_nodes = [NODE_ID]
            partition.isr_nodes = [NODE_ID] if has_leader else []
            partition.offline_replicas = [] if has_leader else [NODE_ID]
            if getattr(partition, "eligible_leader_replicas", None):
                partition.eligible_leader_replicas = []
            if getattr(partition, "last_known_elr", None):
                partition.last_known_elr = []
