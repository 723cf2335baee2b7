"""A member's share session (KIP-932) at a single address: one with the gateway, and of it one with each leader.

    client ──its epoch──▶ ShareSession ──an epoch for each broker──▶ BrokerSession: the partitions that the broker leads

A partition that is led by another broker from now on leaves the session of the one and joins that of the other. What
the client acknowledges goes to the broker that gave the records, for only there are they locked for the member.

Source: SharePartitionManager.newContext and acknowledgeSessionUpdate; ShareSession.update; ShareRequestMetadata.
"""

from collections.abc import Callable, Iterable

from bifrost.wire.error_codes import ErrorCode

Key = tuple[bytes, int]
"""Topic ID and index of a partition."""

NO_NODE = -1
"""A partition has no broker yet; Kafka's Node.noNode()."""

INITIAL_EPOCH, FINAL_EPOCH, MAX_EPOCH = 0, -1, 0x7FFFFFFF

PARTITION_BYTES = 512
"""What a partition of a session holds: its places in some tables, here and for its broker."""

TOLD_BYTES = 128
"""What a partition holds that only the session of a broker has: one that is not asked for records any more."""

SESSION_BYTES = 4_096
"""What a session holds besides, and the sessions at brokers. Its names come on top: each may have 32 KiB."""

MAX_BYTES = 64 << 20
"""Bound of all share sessions in a process: some 130,000 partitions. Those of one tenant hold half of it at most
(session_memory.py). Kafka has 2,000 sessions at a broker (`group.share.max.share.sessions`), and no bound for their
partitions."""

MAX_BYTES_OF_ONE = 4 << 20
"""The same for one client: some 8,000 partitions."""


def next_epoch(epoch: int) -> int:
    """Return the epoch of the request behind one of this epoch."""
    return 1 if epoch == MAX_EPOCH else epoch + 1


class BrokerSession:
    """The session with one broker; it begins with the first poll."""

    __slots__ = ("_epoch", "_is_changed", "_told", "is_out", "node_id", "wanted")

    def __init__(self, node_id: int) -> None:
        """Begin without partitions."""
        self.node_id, self._epoch = node_id, INITIAL_EPOCH
        self.wanted: dict[Key, None] = {}
        """The partitions that it should have."""
        self._told: dict[Key, None] = {}
        self._is_changed = False
        self.is_out = False
        """Whether the broker has a poll."""

    @property
    def is_open(self) -> bool:
        """Whether the broker was asked to begin it."""
        return self._epoch != INITIAL_EPOCH

    @property
    def told_count(self) -> int:
        """How many partitions the broker was told."""
        return len(self._told)

    def want(self, keys: Iterable[Key]) -> None:
        """Let it have these partitions, from its next poll on."""
        self.wanted = dict.fromkeys(keys)
        self._is_changed = self.wanted.keys() != self._told.keys()

    def take_epoch(self) -> int:
        """Return the epoch of the next request."""
        epoch, self._epoch = self._epoch, next_epoch(self._epoch)
        return epoch

    def take_changes(self) -> tuple[list[Key], list[Key]]:
        """Return the partitions that the next poll adds, and those that it forgets."""
        if not self._is_changed:
            return [], []
        added = [one for one in self.wanted if one not in self._told]
        forgotten = [one for one in self._told if one not in self.wanted]
        self._told, self._is_changed = dict(self.wanted), False
        return added, forgotten


class ShareSession:
    """The session of one member with the gateway, since the request that began it."""

    __slots__ = (
        "_acquired",
        "_homes",
        "absent",
        "brokers",
        "epoch",
        "held_bytes",
        "is_placed",
        "lock_ms",
        "turn",
    )

    def __init__(self) -> None:
        """Begin without partitions."""
        self.epoch = INITIAL_EPOCH
        self._homes: dict[Key, int] = {}
        """The broker of each partition."""
        self._acquired: dict[Key, int] = {}
        """The broker that last gave records of a partition."""
        self.brokers: dict[int, BrokerSession] = {}
        self.absent: dict[Key, ErrorCode] = {}
        """The partitions that no broker is asked for, as there is none of them, each with its error."""
        self.is_placed = False
        """Whether each partition has its broker, as far as is known."""
        self.lock_ms = 0
        """How long brokers lock records for a member."""
        self.turn = 0
        """How many polls were made that ask one broker after the other."""
        self.held_bytes = 0

    def __contains__(self, key: object) -> bool:
        """Whether a partition is one of the session."""
        return key in self._homes

    @property
    def partitions(self) -> Iterable[Key]:
        """Its partitions."""
        return self._homes.keys()

    @property
    def size(self) -> int:
        """Bytes that are held for it, but for its names."""
        told = sum(one.told_count for one in self.brokers.values())
        others = max(0, told - len(self._homes))
        return SESSION_BYTES + PARTITION_BYTES * len(self._homes) + TOLD_BYTES * others

    # -- what the client asks for

    def refusal(self, epoch: int) -> ErrorCode:
        """Return why a request is no next one, or NONE."""
        return ErrorCode.NONE if epoch == self.epoch else ErrorCode.INVALID_SHARE_SESSION_EPOCH

    def go_on(self) -> None:
        """Take a request: the next one has the next epoch."""
        self.epoch = next_epoch(self.epoch)

    def begin(self, named: Iterable[Key]) -> None:
        """Have these partitions alone, as a member asks that begins anew.

        Sessions at brokers go on, and records stay acquired: a broker, too, replaces a session and keeps the locks.
        """
        self.epoch = INITIAL_EPOCH
        self._homes = dict.fromkeys(named, NO_NODE)
        self._acquired = {key: node for key, node in self._acquired.items() if key in self._homes}
        self.is_placed = False

    def change(self, named: Iterable[Key], forgotten: Iterable[Key]) -> None:
        """Add partitions, then remove some."""
        for key in named:
            if key not in self._homes:
                self._homes[key] = NO_NODE
                self.is_placed = False
        for key in forgotten:
            if self._homes.pop(key, None) is not None:
                self._acquired.pop(key, None)
                self.is_placed = False

    # -- at brokers

    def place(self, leader_of: Callable[[Key], int], absence_of: Callable[[Key], ErrorCode]) -> None:
        """Give each partition to its leader, but for those that there are none of.

        Args:
            leader_of: returns the leader of a partition, or another broker that has Kafka's error for it.
            absence_of: returns the error of a partition that no broker is to be asked for, or NONE.
        """
        by_node: dict[int, list[Key]] = {node_id: [] for node_id in self.brokers}
        self.absent = {}
        for key in self._homes:
            if code := absence_of(key):
                self._homes[key], self.absent[key] = NO_NODE, code
                continue
            node_id = self._homes[key] = leader_of(key)
            by_node.setdefault(node_id, []).append(key)
        for node_id, keys in by_node.items():
            if node_id not in self.brokers:
                self.brokers[node_id] = BrokerSession(node_id)
            self.brokers[node_id].want(keys)
        self.is_placed = True

    def lose(self, broker: BrokerSession) -> BrokerSession | None:
        """Take note that a broker's session is gone; return the one that may be begun in its place.

        Returns:
            None: it had been replaced already.
        """
        if self.brokers.get(broker.node_id) is not broker:
            return None
        other = self.brokers[broker.node_id] = BrokerSession(broker.node_id)
        other.want(broker.wanted)
        return other

    def note_acquired(self, key: Key, node_id: int) -> None:
        """Take note that the client gets records that a broker has locked for it."""
        if key in self._homes:
            self._acquired[key] = node_id

    def has_acquired(self, key: Key) -> bool:
        """Whether a broker has given records of a partition."""
        return key in self._acquired

    def broker_of(self, key: Key) -> BrokerSession | None:
        """Return where acknowledgements of a partition go; None: no broker has a session in which they could be.

        Then no records are locked for the member any more. What it never got is sent to any broker, which has Kafka's
        error for it.
        """
        node_id = self._acquired.get(key, self._homes.get(key, NO_NODE))
        broker = self.brokers.get(node_id)
        if broker is not None and broker.is_open:
            return broker
        if key in self._acquired:
            return None
        return next((one for one in self.brokers.values() if one.is_open), None)
