"""How a gateway drains its connections: requests in flight are answered, and no new ones are accepted.

    told to stop ──▶ connections are told, a few every TICK_S ──▶ each ends once its last answer is written
                                                              └─▶ what is left after the time-out is cut

Connections that are not told yet go on as before, so that no client waits for its turn.
"""

import asyncio
from collections.abc import Collection
from typing import Protocol

from bifrost.session.close_reason import CloseReason

SPREAD_S = 1.0
"""Time over which connections are told, so that a thousand clients do not come back in the same millisecond."""

TICK_S = 0.02
FEWEST_PER_TICK = 20
"""Connections told per tick at least: a thousand a second."""


class Drained(Protocol):
    """A connection that can be drained: a ClientConnection."""

    @property
    def tenant(self) -> str | None:
        """The client's tenant; None before the client is authenticated."""

    @property
    def has_ended(self) -> bool:
        """Whether only closing the socket is left to do."""

    def drain(self) -> None:
        """Accept no more requests, and end when all are answered."""

    def end(self, reason: CloseReason, detail: str) -> None:
        """End now."""


async def drain(connections: Collection[Drained], *, timeout_ms: int, hurry: asyncio.Event) -> int:
    """Drain connections; return how many had to be cut.

    Args:
        connections: the open connections; one that ends is removed from them.
        timeout_ms: time for all of them to end, in milliseconds.
        hurry: set when the gateway must not wait any longer.
    """
    loop = asyncio.get_running_loop()
    began = loop.time()
    deadline = began + timeout_ms / 1000
    spread_s = min(SPREAD_S, timeout_ms / 4000)
    per_tick = max(FEWEST_PER_TICK, int(len(connections) * TICK_S / max(spread_s, TICK_S)) + 1)
    told: set[Drained] = set()
    while connections and loop.time() < deadline and not hurry.is_set():
        # Clients that are just authenticating are told last: by then they have, and take the close for no error.
        untold = sorted(set(connections) - told, key=lambda one: one.tenant is None)
        for connection in untold[:per_tick]:
            told.add(connection)
            connection.drain()
        await asyncio.sleep(TICK_S)
    left = [connection for connection in connections if not connection.has_ended]
    for connection in left:
        connection.end(CloseReason.SHUTDOWN, "the gateway stops")
    return len(left)
