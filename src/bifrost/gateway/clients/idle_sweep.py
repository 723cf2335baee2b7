"""Closes connections on which nothing happens, as a broker does after `connections.max.idle.ms`.

Nothing is noted per request: the framer has the number of received bytes anyway, and a periodic look at every
connection shows where it has not changed. So an idle connection may stay open a tenth of the time longer.
"""

import asyncio
import time
from collections.abc import Callable, Collection
from typing import Protocol

from bifrost.gateway.loop.sweep import visit
from bifrost.session.close_reason import CloseReason

LONGEST_PAUSE_S = 10.0
"""Longest pause between two looks."""
SHORTEST_PAUSE_S = 0.1


class Watched(Protocol):
    """A connection that is looked at: a ClientConnection."""

    @property
    def bytes_received(self) -> int | None:
        """Bytes received; None while the connection is busy and so not idle."""

    def end(self, reason: CloseReason, detail: str) -> None:
        """End now."""


Seen = dict[Watched, tuple[int, int]]
"""For each connection the bytes received when it was last seen, and since when they are the same (monotonic, in ms)."""


async def close_idle(connections: Collection[Watched], max_idle_ms: Callable[[], int]) -> None:
    """Close idle connections for ever.

    Args:
        connections: the open connections; they come and go.
        max_idle_ms: returns the limit in milliseconds; called before each look.
    """
    seen: Seen = {}
    while True:
        await asyncio.sleep(min(max(max_idle_ms() / 10_000, SHORTEST_PAUSE_S), LONGEST_PAUSE_S))
        seen = await _look(connections, seen, max_idle_ms())


async def _look(connections: Collection[Watched], before: Seen, max_idle_ms: int) -> Seen:
    now_ms = time.monotonic_ns() // 1_000_000
    seen: Seen = {}

    def look(connection: Watched) -> None:
        received = connection.bytes_received
        if received is not None:
            known = before.get(connection)
            since_ms = now_ms if known is None or known[0] != received else known[1]
            if now_ms - since_ms >= max_idle_ms:
                connection.end(CloseReason.IDLE, f"nothing happened for {now_ms - since_ms} ms")
            else:
                seen[connection] = received, since_ms

    await visit(connections, look, "idle_sweep")
    return seen
