"""Ends connections whose frames take too long: whoever has room for a large one must send it, or others wait for ever.

Nothing is noted for each frame: a look at every connection now and then tells whether it is still the same one.
"""

import asyncio
import time
from collections.abc import Callable, Collection
from typing import Protocol

import structlog

log = structlog.get_logger()

LONGEST_PAUSE_S = 5.0
SHORTEST_PAUSE_S = 0.05
"""Between two looks."""

LOOKS_IN_TIME = 6
"""How often a frame is looked at within its time; it may take so much longer."""

AT_ONCE = 500
"""Connections looked at before others have their turn: half a millisecond's work."""


class Watched(Protocol):
    """What is looked at: a ClientConnection."""

    def look_at_frames(self, now_ms: int, timeout_ms: int) -> None:
        """End if a frame takes longer than `timeout_ms`."""


async def end_slow(connections: Collection[Watched], timeout_ms: Callable[[], int]) -> None:
    """Look at connections for ever; `timeout_ms` is asked before each look."""
    while True:
        pause_s = timeout_ms() / 1000 / LOOKS_IN_TIME
        await asyncio.sleep(min(max(pause_s, SHORTEST_PAUSE_S), LONGEST_PAUSE_S))
        for number, connection in enumerate(tuple(connections), 1):
            try:
                connection.look_at_frames(time.monotonic_ns() // 1_000_000, timeout_ms())
            except Exception:
                log.exception("internal_error", detail="this connection's frames are looked at again later")
            if number % AT_ONCE == 0:
                await asyncio.sleep(0)
