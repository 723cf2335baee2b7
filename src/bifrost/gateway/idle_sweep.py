"""Closes connections on which nothing happens, as a broker does after `connections.max.idle.ms`.

Nothing is noted per request: how much has come stands in the framer anyway, and a look at every connection now and then
tells on which of them it has not changed. So one may be a tenth of the time older than it would have to be.
"""

import asyncio
import time
from collections.abc import Callable, Collection
from typing import Protocol

import structlog

from bifrost.session.close_reason import CloseReason

log = structlog.get_logger()

LONGEST_PAUSE_S = 10.0
"""Between two looks."""
SHORTEST_PAUSE_S = 0.1
AT_ONCE = 500
"""Connections looked at before others have their turn: half a millisecond's work."""


class Watched(Protocol):
    """What is looked at: a ClientConnection."""

    def idle_ms(self, now_ms: int) -> int:
        """Return for how long nothing has happened, in milliseconds, as far as looks have shown."""

    def end(self, reason: CloseReason, detail: str) -> None:
        """End now."""


async def close_idle(connections: Collection[Watched], max_idle_ms: Callable[[], int]) -> None:
    """Close idle connections for ever.

    Args:
        connections: those that are open; they come and go.
        max_idle_ms: asked before each look, in milliseconds.
    """
    while True:
        await asyncio.sleep(min(max(max_idle_ms() / 10_000, SHORTEST_PAUSE_S), LONGEST_PAUSE_S))
        try:
            await _look(connections, max_idle_ms())
        except Exception:
            log.exception("internal_error", detail="idle connections are looked at again later")


async def _look(connections: Collection[Watched], max_idle_ms: int) -> None:
    now_ms = time.monotonic_ns() // 1_000_000
    for number, connection in enumerate(tuple(connections), 1):
        idle_ms = connection.idle_ms(now_ms)
        if idle_ms >= max_idle_ms:
            connection.end(CloseReason.IDLE, f"nothing happened for {idle_ms} ms")
        if number % AT_ONCE == 0:
            await asyncio.sleep(0)
