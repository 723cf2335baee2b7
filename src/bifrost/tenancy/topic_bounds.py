"""How many topics and partitions a tenant may have: checked before a request that creates more. Pure.

Every partition costs the brokers files, memory maps and a place in all metadata, whether it is used or not. The
tenant's topics are counted by a list of them (gateway/brokers/topic_look_ups.py), which is valid for a moment. A
broker's list may be older than an answer of the controller, so this process adds what it let through or saw deleted:

    has = the list, changed by what was created and deleted in the last RECENT_MS

Two gateways, or two workers, do not know of each other's last second: each may let through as much as is free. No count
is kept, so none can be wrong for longer.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Protocol
from weakref import WeakSet

from bifrost.tenancy.bounded_map import BoundedMap
from bifrost.tenancy.names import PhysicalTopic
from bifrost.tenancy.policy import Refusal
from bifrost.wire.error_codes import ErrorCode

TOPICS_LIMIT, PARTITIONS_LIMIT = "max_topics", "max_partitions"
"""The names of the settings in the configuration and in the metrics."""

COUNTED_FOR_MS = 1_000
"""How long a count is valid, so that a thousand requests in a second cost one list."""

RECENT_MS = 5_000
"""How long a creation or deletion is added to the list: longer than metadata takes to reach a broker."""

MAX_RECENT = 16_384
"""Bound of the remembered creations and deletions, some 3 MiB at worst; more than one request may create (10,000)."""

BY_DEFAULT = -1
"""In place of a number of partitions: as many as the brokers' `num.partitions` (KIP-464)."""


class RemembersTopics(Protocol):
    """A namespace of the tenant, which remembers which topics exist."""

    def topic_was_deleted(self, topic: PhysicalTopic) -> None:
        """Forget that a topic exists."""


class Budgets(Protocol):
    """What the namespaces of a tenant may have: `policies.namespace_budgets`."""

    def add(self, topic: PhysicalTopic, before: int, wanted: int) -> Refusal | None:
        """Let a topic have so many partitions, 0 before if it is new; return why it may not."""


class TopicBounds:
    """The topics that one tenant has on its physical cluster, and how many it may have."""

    def __init__(self, now_ms: Callable[[], int], hits: Counter[tuple[str, str]], tenant: str) -> None:
        """Start without a count and with bounds of zero.

        Args:
            now_ms: a monotonic clock, in milliseconds.
            hits: where to count refusals, by limit and tenant.
            tenant: the tenant that has the topics.
        """
        self._now_ms, self._hits, self._tenant = now_ms, hits, tenant
        self.max_topics = self.max_partitions = 0
        self._counted: Mapping[PhysicalTopic, int] = {}
        self._default_partitions = self.default_replication_factor = 1
        self._until_ms = 0
        self._recent: BoundedMap[PhysicalTopic, tuple[int, int]] = BoundedMap(MAX_RECENT)
        """How many partitions each topic has now, 0 if it was deleted, and until when that is valid."""
        self.namespaces: WeakSet[RemembersTopics] = WeakSet()
        """The namespaces of the tenant: its own, and those below."""

    def limit(self, max_topics: int, max_partitions: int) -> None:
        """Set or change the bounds. Existing topics stay."""
        self.max_topics, self.max_partitions = max_topics, max_partitions

    @property
    def is_counted(self) -> bool:
        """Whether the tenant's topics were counted a moment ago."""
        return self._now_ms() < self._until_ms

    def is_reached_by(self, topics: int, partitions: int) -> bool:
        """Whether so many leave no room for one more, so that the caller need not count further."""
        return topics > self.max_topics or partitions > self.max_partitions

    def count(
        self,
        partitions: Mapping[PhysicalTopic, int],
        default_partitions: int,
        default_replication_factor: int = 1,
    ) -> None:
        """Store the result of a list.

        Args:
            partitions: of each of the tenant's topics.
            default_partitions: of a topic that is created without saying how many.
            default_replication_factor: of such a topic.
        """
        self._counted, self._default_partitions = partitions, max(1, default_partitions)
        self.default_replication_factor = max(1, default_replication_factor)
        self._until_ms = self._now_ms() + COUNTED_FOR_MS

    def grow(self) -> "Growth":
        """Start to judge a request that creates topics or partitions."""
        now_ms = self._now_ms()
        recent = {name: count for name, (count, until_ms) in self._recent.items() if now_ms < until_ms}
        if not recent:
            self._recent = BoundedMap(MAX_RECENT)
        return Growth(self, self._counted, recent, self._default_partitions)

    def note(self, topics: Mapping[PhysicalTopic, int]) -> None:
        """Note how many partitions topics have now; 0: they were deleted."""
        until_ms = self._now_ms() + RECENT_MS
        for name, count in topics.items():
            self._recent.put(name, (count, until_ms))

    def note_deleted(self, topic: PhysicalTopic) -> None:
        """Note that a topic does not exist any more."""
        self.note({topic: 0})
        for namespace in self.namespaces:
            namespace.topic_was_deleted(topic)

    def refusal(self, limit: str, text: str) -> Refusal:
        """Return a refusal, and count it."""
        self._hits[limit, self._tenant] += 1
        return Refusal(ErrorCode.POLICY_VIOLATION, text)


class Growth:
    """What one request adds: each item is judged as if those before it existed already."""

    __slots__ = (
        "_added",
        "_bounds",
        "_counted",
        "_default_partitions",
        "_partitions",
        "_recent",
        "_topics",
        "below",
        "new_partitions",
    )

    def __init__(
        self,
        bounds: TopicBounds,
        counted: Mapping[PhysicalTopic, int],
        recent: Mapping[PhysicalTopic, int],
        default_partitions: int,
    ) -> None:
        self._bounds, self._default_partitions = bounds, default_partitions
        self._counted, self._recent = counted, recent
        self._added: dict[PhysicalTopic, int] = {}
        self.below: Budgets | None = None
        """What the policies of the tenant's namespaces say; None: there are none."""
        self.new_partitions = 0
        """How many partitions the allowed items add."""
        self._topics, self._partitions = len(counted), sum(counted.values())
        for name, count in recent.items():
            before = counted.get(name, 0)
            self._topics += (count > 0) - (before > 0)
            self._partitions += count - before

    @property
    def default_partitions(self) -> int:
        """How many partitions a topic has that is created without saying how many."""
        return self._default_partitions

    @property
    def default_replication_factor(self) -> int:
        """How many replicas the partitions of a topic have that is created without saying how many."""
        return self._bounds.default_replication_factor

    def existing(self) -> Mapping[PhysicalTopic, int]:
        """Return the partitions of each topic of the tenant, before this request."""
        return {**self._counted, **self._recent}

    def has(self, topic: PhysicalTopic) -> int:
        """Return how many partitions a topic has; 0: there is no such topic."""
        for known in (self._added, self._recent, self._counted):
            if topic in known:
                return known[topic]
        return 0

    def add(self, topic: PhysicalTopic, partitions: int) -> Refusal | None:
        """Let a topic have so many partitions; return why it may not.

        Args:
            topic: if it does not exist it is to be created.
            partitions: how many it is to have in all, or BY_DEFAULT.
        """
        bounds, before = self._bounds, self.has(topic)
        wanted = self._default_partitions if partitions == BY_DEFAULT else partitions
        if before and wanted <= before:
            return None
        if not before and self._topics >= bounds.max_topics:
            return bounds.refusal(
                TOPICS_LIMIT,
                f"Another topic is not allowed: there are {self._topics}, "
                f"and this cluster allows {bounds.max_topics} ({TOPICS_LIMIT})",
            )
        more = max(0, wanted) - before
        if self._partitions + more > bounds.max_partitions:
            return bounds.refusal(
                PARTITIONS_LIMIT,
                f"{more} more partitions are not allowed: there are {self._partitions} over all topics, "
                f"and this cluster allows {bounds.max_partitions} ({PARTITIONS_LIMIT})",
            )
        refusal = None if self.below is None else self.below.add(topic, before, max(1, wanted))
        if refusal is not None:
            return refusal
        self._added[topic] = max(1, wanted)
        self._topics += not before
        self._partitions += more
        self.new_partitions += more
        return None

    def commit(self) -> None:
        """Count the allowed topics and partitions as existing."""
        self._bounds.note(self._added)
