"""A consumer group as the brokers have it. Names are physical."""

from collections.abc import Mapping
from dataclasses import dataclass

TopicPartition = tuple[str, int]
"""A topic's name, and the partition."""


@dataclass(frozen=True, slots=True)
class ListedGroup:
    """A group in a broker's list."""

    group_id: str
    state: str
    """Kafka's word, such as `Stable`."""
    group_type: str
    """`classic` or `consumer`; what a broker older than Kafka 3.7 has is `classic`."""


@dataclass(frozen=True, slots=True)
class GroupMember:
    """A member of a group."""

    member_id: str
    client_id: str
    host: str


@dataclass(frozen=True, slots=True)
class GroupState:
    """A group with its members and the offsets that it has committed."""

    state: str
    members: tuple[GroupMember, ...]
    offsets: Mapping[TopicPartition, int]
