"""What the gateway last knew of topics, for `before` in the journal: by its snapshots and by what went through it."""

from collections.abc import Mapping
from dataclasses import dataclass

from bifrost.tenancy.bounded_map import BoundedMap

MAX_TOPICS = 50_000
"""Beyond it those learnt first are forgotten: some 20 MB."""


@dataclass(frozen=True, slots=True)
class Known:
    """What was known at a time."""

    at_ms: int
    facts: Mapping[str, str]


class KnownTopics:
    """By physical cluster and physical name."""

    def __init__(self, limit: int = MAX_TOPICS) -> None:
        """Know nothing."""
        self._known: BoundedMap[tuple[str, str], Known] = BoundedMap(limit)

    def get(self, upstream: str, topic: str) -> Known | None:
        """Return what is known of a topic."""
        return self._known.get((upstream, topic))

    def learn(self, upstream: str, topic: str, at_ms: int, facts: Mapping[str, str]) -> None:
        """Learn facts; those known before that are not among them stay."""
        before = self._known.get((upstream, topic))
        self._known.put((upstream, topic), Known(at_ms, {**(before.facts if before else {}), **facts}))

    def learn_gone(self, upstream: str, topic: str, at_ms: int) -> None:
        """Learn that there is no such topic."""
        self._known.put((upstream, topic), Known(at_ms, {}))
