"""How a gateway takes leave of its clients: what is in flight is answered, and nothing is begun.

    told to stop ──▶ connections are told, a few every TICK_S ──▶ each ends once its last answer is written
                                                              └─▶ what is left after the time-out is cut

Those that are not told yet go on as ever, so that no client waits for its turn.
"""

import asyncio
from collections.abc import Collection
from typing import Protocol

from bifrost.session.close_reason import CloseReason

SPREAD_S = 1.0
"""Time over which connections are told, so that a thousand clients do not come back in the same millisecond."""

TICK_S = 0.02
FEWEST_PER_TICK = 20
"""A thousand a second, unless there are more than that."""


class Drained(Protocol):
    """What is drained: a ClientConnection."""

    @property
    def tenant(self) -> str | None:
        """The tenant whose client this is; None before it is authenticated."""

    @property
    def has_ended(self) -> bool:
        """Whether it is over but for the closing."""

    def drain(self) -> None:
        """Take nothing more, and end when everything is answered."""

    def end(self, reason: CloseReason, detail: str) -> None:
        """End now."""


async def drain(connections: Collection[Drained], *, timeout_ms: int, hurry: asyncio.Event) -> int:
    """Drain connections; return how many had to be cut.

    Args:
        connections: those that are open; whoever ends leaves them.
        timeout_ms: for all of them to end, in milliseconds.
        hurry: set when nobody waits any longer.
    """
    loop = asyncio.get_running_loop()
    began = loop.time()
    deadline = began + timeout_ms / 1000
    spread_s = min(SPREAD_S, timeout_ms / 4000)
    per_tick = max(FEWEST_PER_TICK, int(len(connections) * TICK_S / max(spread_s, TICK_S)) + 1)
    told: set[Drained] = set()
    while connections and loop.time() < deadline and not hurry.is_set():
        # Who is just authenticating is told last: by then it has, and a client takes no offence.
        untold = sorted(set(connections) - told, key=lambda one: one.tenant is None)
        for connection in untold[:per_tick]:
            told.add(connection)
            connection.drain()
        await asyncio.sleep(TICK_S)
    left = [connection for connection in connections if not connection.has_ended]
    for connection in left:
        connection.end(CloseReason.SHUTDOWN, "the gateway stops")
    return len(left)
