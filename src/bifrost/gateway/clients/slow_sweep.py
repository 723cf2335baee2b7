"""Ends connections whose frames take too long: a client that holds room for a large frame keeps others waiting.

Nothing is noted for each frame: a periodic look at every connection tells whether it is still the same frame.
"""

import asyncio
import time
from collections.abc import Callable, Collection
from functools import partial
from typing import Protocol

from bifrost.gateway.loop.sweep import visit

LONGEST_PAUSE_S = 5.0
SHORTEST_PAUSE_S = 0.05
"""Bounds of the pause between two looks."""

LOOKS_IN_TIME = 6
"""Number of looks at a frame within its timeout; it may take longer by one such part."""


class Watched(Protocol):
    """A connection that is looked at: a ClientConnection."""

    def look_at_frames(self, now_ms: int, timeout_ms: int) -> None:
        """End the connection if a frame takes longer than `timeout_ms`."""


async def end_slow(connections: Collection[Watched], timeout_ms: Callable[[], int]) -> None:
    """Look at connections for ever; `timeout_ms` is called before each look."""
    while True:
        pause_s = timeout_ms() / 1000 / LOOKS_IN_TIME
        await asyncio.sleep(min(max(pause_s, SHORTEST_PAUSE_S), LONGEST_PAUSE_S))
        await visit(connections, partial(_look, timeout_ms), "slow_sweep")


def _look(timeout_ms: Callable[[], int], connection: Watched) -> None:
    connection.look_at_frames(time.monotonic_ns() // 1_000_000, timeout_ms())
