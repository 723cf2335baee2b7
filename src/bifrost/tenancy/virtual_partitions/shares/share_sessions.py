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
from bifrost.tenancy.virtual_partitions.shares.share_room import (
    MAX_BYTES_OF_ONE,
    PHYSICAL_BYTES,
    SESSION_BYTES,
    TOLD_BYTES,
    TOPIC_BYTES,
    VIRTUAL_BYTES,
    ShareRoom,
)
from bifrost.wire.steps import in_steps

MAX_SESSIONS = 10
"""Sessions of a connection. Clients have one: a broker, too, releases the records of one session when a connection
ends."""
LIMIT = "virtual_partitions_shared"
"""What the metrics call the limits of sessions, and of what they remember."""
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
    """The session of one member. It has its bytes of a room as long as anything refers to it: a request may, too."""

    __slots__ = (
        "_changed",
        "_held",
        "_room",
        "_taken",
        "_told",
        "_told_changes",
        "_topics",
        "_whole",
        "size",
    )

    def __init__(self, room: ShareRoom | None = None) -> None:
        """Begin without partitions.

        Args:
            room: has the bytes for what it remembers; None: a room of its own.
        """
        self._room = ShareRoom() if room is None else room
        self._held = self._taken = 0
        self._topics: dict[bytes, _Topic] = {}
        self._whole: set[Place] = set()
        self._told: set[Place] = set()
        self._changed: list[Place] = []
        """The physical partitions by which `_whole` came to differ from `_told`: each was added, or else removed."""
        self._told_changes = 0
        """How many such changes the broker was told."""
        self.size = 0
        """How many virtual partitions it has."""

    def __del__(self) -> None:
        """Give back its bytes."""
        self._room.give_back(self._taken)

    @property
    def topics(self) -> dict[bytes, PartitionMap]:
        """The partitions of its topics, by the topics' IDs."""
        return {topic_id: topic.partitions for topic_id, topic in self._topics.items()}

    def name(self, key: Key) -> bool:
        """Count the session itself, and the names of its member; False: there is no room for it."""
        self._held += SESSION_BYTES + sum(map(len, key))
        return self.has_room()

    def has_room(self) -> bool:
        """Take the bytes for what it remembers now, or give some back; False: there is no room for it."""
        size = max(self._held, TOLD_BYTES * (len(self._told) + len(self._changed)))
        if size > self._taken:
            if not self._room.take(size - self._taken):
                return False
        elif 2 * size > self._taken:
            return True  # Its tables are as large as they were.
        else:
            self._shrink()
            self._room.give_back(self._taken - size)
        self._taken = size
        return True

    def _shrink(self) -> None:
        """Make tables anew from which much was removed: those of CPython never become smaller."""
        self._topics = {
            topic_id: topic._replace(named={one: set(groups) for one, groups in topic.named.items()})
            for topic_id, topic in self._topics.items()
        }
        self._whole, self._told = set(self._whole), set(self._told)

    def add(self, topic_id: bytes, partitions: PartitionMap, number: VirtualPartition) -> bool:
        """Add a virtual partition, which there is; False: there is no room for it."""
        topic = self._topics.get(topic_id)
        if topic is None:
            topic = self._topics[topic_id] = _Topic(partitions, {})
            self._held += TOPIC_BYTES
        group, physical = topic.partitions.place_of(number)
        named = topic.named.get(physical)
        if named is None:
            named = topic.named[physical] = set()
            self._held += PHYSICAL_BYTES
        if group in named:
            return True
        named.add(group)
        self.size += 1
        self._held += VIRTUAL_BYTES
        if len(named) == len(topic.partitions.all_of(physical)):
            self._whole.add(Place(topic_id, physical))
            self._changed.append(Place(topic_id, physical))
        return self.has_room()

    def remove(self, topic_id: bytes, number: VirtualPartition) -> None:
        """Remove a virtual partition; one that it does not have is passed over. Then ask `has_room`."""
        topic = self._topics.get(topic_id)
        if topic is None or not topic.partitions.has(number):
            return
        group, physical = topic.partitions.place_of(number)
        named = topic.named.get(physical, set())
        if group not in named:
            return
        named.remove(group)
        self.size -= 1
        self._held -= VIRTUAL_BYTES
        if Place(topic_id, physical) in self._whole:
            self._whole.remove(Place(topic_id, physical))
            self._changed.append(Place(topic_id, physical))
        if not named:
            del topic.named[physical]
            self._held -= PHYSICAL_BYTES
        if not topic.named:
            del self._topics[topic_id]
            self._held -= TOPIC_BYTES

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
        changed = dict.fromkeys(self._changed)
        return (
            sorted(one for one in in_steps(changed, 1) if one in self._whole and one not in self._told),
            sorted(one for one in in_steps(changed, 1) if one in self._told and one not in self._whole),
        )

    @property
    def change_count(self) -> int:
        """How many changes it has had: what `note_told` takes once the broker has taken a request with `changes`."""
        return self._told_changes + len(self._changed)

    def note_told(self, change_count: int) -> None:
        """Note that the broker's session has what this one had after so many changes."""
        count = max(0, change_count - self._told_changes)
        # Without pauses, in which a request would see a part of it: some 0.1 us each.
        for one in self._changed[:count]:
            self._told ^= {one}
        del self._changed[:count]
        self._told_changes += count
        self.has_room()


class ShareSessions:
    """Those of one connection."""

    __slots__ = ("_room", "_sessions")

    def __init__(self, room: ShareRoom | None = None) -> None:
        """Begin without any; `room` is that of all connections of the tenant, None: no others share it."""
        self._sessions: dict[Key, ShareSession] = {}
        self._room = ShareRoom(MAX_BYTES_OF_ONE, room)

    def begin(self, key: Key) -> ShareSession | None:
        """Begin the session of a member anew; None: there is no room for one more."""
        self._sessions.pop(key, None)
        if len(self._sessions) >= MAX_SESSIONS:
            return None
        session = ShareSession(self._room)
        if not session.name(key):
            return None
        self._sessions[key] = session
        return session

    def find(self, key: Key) -> ShareSession | None:
        """Return the session of a member; None: it has none."""
        return self._sessions.get(key)

    def end(self, key: Key) -> ShareSession:
        """End the session of a member, and return it, without partitions if there is none."""
        return self._sessions.pop(key, None) or ShareSession(self._room)
