"""Which topics of a namespace were seen to exist: where brokers act on other names too, the engine passes only theirs.

    Metadata    a broker may create what does not exist     forgotten after EXISTING_FOR_MS, and when one is deleted
    Fetch       a broker keeps metrics of any name           forgotten when that topic is deleted

Both are asked about before (session/topics/absent_topics.py). What was deleted elsewhere is still taken for a topic.
"""

from collections.abc import Callable

from bifrost.tenancy.names import PhysicalTopic, TenantNames, VirtualTopic
from bifrost.tenancy.remembered_names import remember
from bifrost.wire.fields import entities
from bifrost.wire.rewriting import Names

EXISTING_FOR_MS = 60_000
"""How long names of existing topics are collected before all are forgotten at once. Until then a topic that was deleted
elsewhere may be created again by its name without being counted."""


class ExistingTopics:
    """Those of one namespace, in the tables in which the engine looks."""

    def __init__(self, names: TenantNames, to_physical: Names, now_ms: Callable[[], int], most: int) -> None:
        """Begin with none.

        Args:
            names: the tenant's naming function.
            to_physical: the namespace's names in requests.
            now_ms: a monotonic clock, in milliseconds.
            most: names remembered of either kind; beyond it that memory is emptied.
        """
        self._names, self._to_physical, self._now_ms, self.most = names, to_physical, now_ms, most
        self._until_ms = 0
        for slot in (entities.SLOT_NEW_TOPIC, entities.SLOT_FETCHED_TOPIC):
            to_physical.tables[slot] = {}

    def __contains__(self, topic: VirtualTopic) -> bool:
        """Whether a topic was recently seen to exist; then no request can create it."""
        return topic in self._table(entities.SLOT_NEW_TOPIC)

    def add(self, topic: VirtualTopic) -> None:
        """Remember that a topic exists, so that the engine lets it pass in Metadata."""
        now_ms = self._now_ms()
        if now_ms >= self._until_ms:
            self._table(entities.SLOT_NEW_TOPIC).clear()
            self._until_ms = now_ms + EXISTING_FOR_MS
        self._remember(entities.SLOT_NEW_TOPIC, topic)

    def may_be_fetched(self, topic: VirtualTopic) -> bool:
        """Whether the engine lets a topic's name pass in a Fetch."""
        return topic in self._table(entities.SLOT_FETCHED_TOPIC)

    def let_fetch(self, topic: VirtualTopic) -> None:
        """Let the engine pass a topic's name in a Fetch from now on: the topic exists."""
        self._remember(entities.SLOT_FETCHED_TOPIC, topic)

    def forget(self, topic: PhysicalTopic) -> None:
        """Forget that a topic exists: it was deleted. Its name in Metadata is forgotten with all others."""
        self._table(entities.SLOT_NEW_TOPIC).clear()
        virtual = self._names.virtual_topic(topic)
        if virtual is not None:
            self._table(entities.SLOT_FETCHED_TOPIC).pop(virtual, None)

    def _remember(self, slot: int, topic: VirtualTopic) -> None:
        remember(self._to_physical, slot, topic, self._names.physical_topic(topic), self.most)

    def _table(self, slot: int) -> dict[bytes, bytes]:
        table = self._to_physical.tables[slot]
        assert table is not None, "the namespace's own names have both"
        return table
