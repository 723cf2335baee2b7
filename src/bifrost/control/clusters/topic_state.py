"""A topic as the brokers have it."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TopicState:
    """The size of a topic, and the configs that it has of its own."""

    partitions: int
    replication_factor: int
    """The fewest replicas that one of its partitions has."""
    configs: Mapping[str, str]
    """The configs that are set for the topic itself (DYNAMIC_TOPIC_CONFIG), by name."""
