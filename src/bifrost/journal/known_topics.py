"""Facts that the gateway last knew of topics, from snapshots and requests, for `before` in the journal."""

from collections.abc import Mapping
from dataclasses import dataclass

from bifrost.tenancy.bounded_map import BoundedMap

MAX_TOPICS = 50_000
"""Topics remembered, some 20 MB; beyond that the topics learnt first are forgotten."""


@dataclass(frozen=True, slots=True)
class Known:
    """Facts, and the time at which they were known."""

    at_ms: int
    facts: Mapping[str, str]


class KnownTopics:
    """Known facts, by physical cluster and physical topic name."""

    def __init__(self, limit: int = MAX_TOPICS) -> None:
        """Begin without topics; remember at most `limit`."""
        self._known: BoundedMap[tuple[str, str], Known] = BoundedMap(limit)

    def get(self, upstream: str, topic: str) -> Known | None:
        """Return the facts known of a topic, None if there are none."""
        return self._known.get((upstream, topic))

    def learn(self, upstream: str, topic: str, at_ms: int, facts: Mapping[str, str]) -> None:
        """Add facts to those known of a topic, or replace them."""
        before = self._known.get((upstream, topic))
        self._known.put((upstream, topic), Known(at_ms, {**(before.facts if before else {}), **facts}))

    def learn_gone(self, upstream: str, topic: str, at_ms: int) -> None:
        """Note that the topic does not exist any more."""
        self._known.put((upstream, topic), Known(at_ms, {}))
