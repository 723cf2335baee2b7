"""Who goes by the names of a namespace, and is told when they mean something else; and what names meant before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol
from weakref import WeakSet

from bifrost.tenancy.remembered_names import Renewable
from bifrost.wire.entity import Entity

if TYPE_CHECKING:
    from bifrost.tenancy.namespaces.subscriptions import Subscriptions
    from bifrost.tenancy.topic_ids import TopicIds

MAX_FORMER = 10_000
"""Names from before the last change beyond which they are forgotten at the next one: more than are in flight."""


class NameWatcher(Protocol):
    """Is told when names mean something else: a session."""

    def rights_changed(self) -> None:
        """Ask anew from now on."""


class NameUsers:
    """The users of one namespace's names."""

    __slots__ = ("_former", "guards", "sessions", "subscriptions")

    def __init__(self) -> None:
        """Begin without users."""
        self.guards: WeakSet[Renewable] = WeakSet()
        """What remembers names for single users (`acls.guard`); they tell their sessions."""
        self.sessions: WeakSet[NameWatcher] = WeakSet()
        """The open sessions without a guard, where names may change."""
        self.subscriptions: Subscriptions | None = None
        """What members of groups subscribe to by patterns; made when topics are moved or shared."""
        self._former: dict[bytes, bytes] = {}

    def renew(self) -> None:
        """Tell all."""
        if self.subscriptions is not None:
            self.subscriptions.renew()
        for guard in list(self.guards):
            guard.renew()
        for session in list(self.sessions):
            session.rights_changed()

    def keep_former(self, topics: Mapping[bytes, bytes]) -> None:
        """Remember what topics are called that may be called otherwise from now on, physical by virtual names."""
        if len(self._former) > MAX_FORMER:
            self._former = {}
        self._former |= {physical: virtual for virtual, physical in topics.items()}

    def former(self, entity: int, value: bytes, topic_ids: TopicIds) -> bytes | None:
        """Return the virtual form that a topic's name or ID had before it was moved, or a share of it ended.

        For answers that only say whether something was written that the client had sent before. No request after the
        change reaches the topic.
        """
        if entity == Entity.TOPIC_ID:
            topic = topic_ids.name_of(value)
            return value if topic is not None and topic in self._former else None
        return self._former.get(value) if entity == Entity.TOPIC_NAME else None
