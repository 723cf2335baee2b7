"""The share sessions (KIP-932) of one connection, with the virtual partitions that its client names.

A broker locks the records of a physical partition for the member that fetches it, whichever virtual partitions they
belong to. So that none is locked which the member cannot be given, the broker's session has a physical partition only
while the client's has all of its virtual ones:

    the client's session has some virtual partitions of p    the broker's session does not have p
    it has all of them                                       it has p

A coordinator assigns physical partitions, so a member has all virtual partitions of one as a rule. It lacks some for a
moment, until it knows those that the operator has added.

Source: ShareSession.update, ShareSessionCache, ShareRequestMetadata.
"""

from typing import NamedTuple

from bifrost.tenancy.virtual_partitions.partition_map import (
    PartitionGroup,
    PartitionMap,
    PhysicalPartition,
    VirtualPartition,
)

MAX_SESSIONS = 10
"""Sessions of a connection. Clients have one: a broker, too, releases the records of one session when a connection
ends."""
MAX_PARTITIONS = 10_000
"""Virtual partitions of all sessions of a connection: some 2 MiB, and as many as a topic may have."""
LIMIT = "virtual_partitions_shared"
"""What the metrics call both limits."""
INITIAL_EPOCH, FINAL_EPOCH = 0, -1
"""The epochs that begin a session and end it."""

Key = tuple[str, str]
"""The group, and the member's ID."""


class Place(NamedTuple):
    """A physical partition."""

    topic_id: bytes
    partition: PhysicalPartition


class _Topic(NamedTuple):
    partitions: PartitionMap
    named: dict[PhysicalPartition, set[PartitionGroup]]


class ShareSession:
    """The session of one member."""

    __slots__ = ("_is_told", "_told", "_topics", "_whole", "size")

    def __init__(self) -> None:
        """Begin without partitions."""
        self._topics: dict[bytes, _Topic] = {}
        self._whole: set[Place] = set()
        self._told: frozenset[Place] = frozenset()
        self._is_told = True
        self.size = 0
        """How many virtual partitions it has."""

    @property
    def topics(self) -> dict[bytes, PartitionMap]:
        """The partitions of its topics, by the topics' IDs."""
        return {topic_id: topic.partitions for topic_id, topic in self._topics.items()}

    def add(self, topic_id: bytes, partitions: PartitionMap, number: VirtualPartition) -> None:
        """Add a virtual partition, which there is."""
        topic = self._topics.get(topic_id)
        if topic is None:
            topic = self._topics[topic_id] = _Topic(partitions, {})
        group, physical = topic.partitions.place_of(number)
        named = topic.named.setdefault(physical, set())
        if group in named:
            return
        named.add(group)
        self.size += 1
        if len(named) == len(topic.partitions.all_of(physical)):
            self._whole.add(Place(topic_id, physical))
            self._is_told = False

    def remove(self, topic_id: bytes, number: VirtualPartition) -> None:
        """Remove a virtual partition; one that it does not have is passed over."""
        topic = self._topics.get(topic_id)
        if topic is None or not topic.partitions.has(number):
            return
        group, physical = topic.partitions.place_of(number)
        named = topic.named.get(physical, set())
        if group not in named:
            return
        named.remove(group)
        self.size -= 1
        if Place(topic_id, physical) in self._whole:
            self._whole.remove(Place(topic_id, physical))
            self._is_told = False
        if not named:
            del topic.named[physical]
        if not topic.named:
            del self._topics[topic_id]

    def divide_anew(self, topic_id: bytes, partitions: PartitionMap) -> None:
        """Go on with other partitions of a topic: the virtual ones that it has are parts of these now."""
        topic = self._topics.get(topic_id)
        if topic is None:
            return
        before = [
            topic.partitions.virtual_of(group, physical)
            for physical, groups in topic.named.items()
            for group in groups
        ]
        for number in before:
            self.remove(topic_id, number)
        for number in before:
            if partitions.has(number):
                self.add(topic_id, partitions, number)

    def named(self, place: Place) -> frozenset[PartitionGroup]:
        """Return the groups whose virtual partitions it has of a physical one."""
        topic = self._topics.get(place.topic_id)
        return frozenset() if topic is None else frozenset(topic.named.get(place.partition, ()))

    def is_whole(self, place: Place) -> bool:
        """Whether it has all virtual partitions of a physical one."""
        return place in self._whole

    def changes(self) -> tuple[list[Place], list[Place]]:
        """Return the physical partitions that the broker's session has to get, and those that it has to forget."""
        if self._is_told:
            return [], []
        return sorted(self._whole - self._told), sorted(self._told - self._whole)

    def wanted(self) -> frozenset[Place] | None:
        """Return what the broker's session has once it was told the changes; None: there are none."""
        return None if self._is_told else frozenset(self._whole)

    def note_told(self, places: frozenset[Place]) -> None:
        """Note that the broker's session has these physical partitions."""
        self._told = places
        self._is_told = self._whole == places


class ShareSessions:
    """Those of one connection."""

    __slots__ = ("_sessions",)

    def __init__(self) -> None:
        """Begin without any."""
        self._sessions: dict[Key, ShareSession] = {}

    @property
    def size(self) -> int:
        """How many virtual partitions they have."""
        return sum(one.size for one in self._sessions.values())

    def begin(self, key: Key) -> ShareSession | None:
        """Begin the session of a member anew; None: there is no room for one more."""
        if key not in self._sessions and len(self._sessions) >= MAX_SESSIONS:
            return None
        session = self._sessions[key] = ShareSession()
        return session

    def find(self, key: Key) -> ShareSession | None:
        """Return the session of a member; None: it has none."""
        return self._sessions.get(key)

    def end(self, key: Key) -> ShareSession:
        """End the session of a member, and return it, without partitions if there is none."""
        return self._sessions.pop(key, None) or ShareSession()
