"""Closes connections on which nothing happens, as a broker does after `connections.max.idle.ms`.

Nothing is noted per request: how much has come stands in the framer anyway, and a look at every connection now and then
tells on which of them it has not changed. So one may be a tenth of the time older than it would have to be.
"""

import asyncio
import time
from collections.abc import Callable, Collection
from typing import Protocol

from bifrost.gateway.loop.sweep import visit
from bifrost.session.close_reason import CloseReason

LONGEST_PAUSE_S = 10.0
"""Between two looks."""
SHORTEST_PAUSE_S = 0.1


class Watched(Protocol):
    """What is looked at: a ClientConnection."""

    @property
    def bytes_received(self) -> int | None:
        """How much has come; None while it is not idle, whatever has come."""

    def end(self, reason: CloseReason, detail: str) -> None:
        """End now."""


Seen = dict[Watched, tuple[int, int]]
"""How many bytes each had received when it was last found idle, and since when it is: a monotonic time in ms."""


async def close_idle(connections: Collection[Watched], max_idle_ms: Callable[[], int]) -> None:
    """Close idle connections for ever.

    Args:
        connections: those that are open; they come and go.
        max_idle_ms: asked before each look, in milliseconds.
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
