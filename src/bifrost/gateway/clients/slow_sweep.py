"""Ends connections whose frames take too long: whoever has room for a large one must send it, or others wait for ever.

Nothing is noted for each frame: a look at every connection now and then tells whether it is still the same one.
"""

import asyncio
import time
from collections.abc import Callable, Collection
from functools import partial
from typing import Protocol

from bifrost.gateway.loop.sweep import visit

LONGEST_PAUSE_S = 5.0
SHORTEST_PAUSE_S = 0.05
"""Between two looks."""

LOOKS_IN_TIME = 6
"""How often a frame is looked at within its time; it may take so much longer."""


class Watched(Protocol):
    """What is looked at: a ClientConnection."""

    def look_at_frames(self, now_ms: int, timeout_ms: int) -> None:
        """End if a frame takes longer than `timeout_ms`."""


async def end_slow(connections: Collection[Watched], timeout_ms: Callable[[], int]) -> None:
    """Look at connections for ever; `timeout_ms` is asked before each look."""
    while True:
        pause_s = timeout_ms() / 1000 / LOOKS_IN_TIME
        await asyncio.sleep(min(max(pause_s, SHORTEST_PAUSE_S), LONGEST_PAUSE_S))
        await visit(connections, partial(_look, timeout_ms), "slow_sweep")


def _look(timeout_ms: Callable[[], int], connection: Watched) -> None:
    connection.look_at_frames(time.monotonic_ns() // 1_000_000, timeout_ms())
