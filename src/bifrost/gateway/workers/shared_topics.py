"""Shares with all workers what one learns of topics; otherwise only that one would know the state before a change.

learn ──▶ what came in one turn of the loop ──supervisor──▶ hear, in every other worker
"""

import asyncio
import json
from collections.abc import Callable, Mapping

from bifrost.journal.known_topics import KnownTopics


class SharedTopics(KnownTopics):
    """What one worker knows of topics."""

    def __init__(self, tell: Callable[[bytes], None]) -> None:
        """Start without knowledge; `tell` sends the other workers what this one learns."""
        super().__init__()
        self._tell = tell
        self._untold: list[tuple[str, str, int, Mapping[str, str] | None]] = []

    def learn(self, upstream: str, topic: str, at_ms: int, facts: Mapping[str, str]) -> None:
        """Learn facts of a topic, and tell the other workers."""
        super().learn(upstream, topic, at_ms, facts)
        self._note(upstream, topic, at_ms, dict(facts))

    def learn_gone(self, upstream: str, topic: str, at_ms: int) -> None:
        """Learn that a topic does not exist, and tell the other workers."""
        super().learn_gone(upstream, topic, at_ms)
        self._note(upstream, topic, at_ms, None)

    def hear(self, content: bytes) -> None:
        """Learn what another worker has told, unless something newer is known here."""
        for upstream, topic, at_ms, facts in json.loads(content):
            known = self.get(upstream, topic)
            if known is not None and known.at_ms > at_ms:
                continue
            if facts is None:
                super().learn_gone(upstream, topic, at_ms)
            else:
                super().learn(upstream, topic, at_ms, facts)

    def _note(self, upstream: str, topic: str, at_ms: int, facts: Mapping[str, str] | None) -> None:
        if not self._untold:
            asyncio.get_running_loop().call_soon(self._tell_all)
        self._untold.append((upstream, topic, at_ms, facts))

    def _tell_all(self) -> None:
        untold, self._untold = self._untold, []
        self._tell(json.dumps(untold).encode())
