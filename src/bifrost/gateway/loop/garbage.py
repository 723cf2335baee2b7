"""Keeps the collections of CPython's garbage collector short: they never go through everything there is.

A full collection goes through all objects that hold others: some 60 for each connection, 30 ms for 2,000 connections,
in which no client is served. Clients would choose when, by opening connections. So what has survived a collection of
the middle generation (7,000 objects at most) is frozen at once (gc.freeze), and later collections do not look at it.
What is no longer referred to is freed all the same. Only cycles among frozen objects stay, and those are rare:
connections break theirs when they end.

    new ──▶ young ──▶ middle ──▶ frozen ──▶ freed when nothing refers to it, or in a cycle: by `look_at_all`

A full collection is made only where such cycles must have grown: when there are many more frozen objects than a gateway
with so many connections has. So cycles can take only so much memory.
"""

import asyncio
import gc
from collections.abc import Iterator, Sized
from contextlib import contextmanager

from bifrost.wire.framer import trim

LOOK_AFTER_S = 60.0
"""Least time between two counts of the frozen objects. A count takes 6 ns an object, some milliseconds for 10,000
connections, so they are counted only when there may be many more: when there were enough collections since."""

FROZEN_AT_ONCE = 8_000
"""More objects than a collection of the middle generation goes through, by the collector's thresholds."""

SPARED = 200_000
"""So many more frozen objects do not lead to a full collection: a tenant's names are among them."""

FOR_A_CONNECTION = 100
"""Frozen objects that an open connection accounts for; it has some 60."""

_MIDDLE = 1


_freezes = 0
"""Collections that have frozen something."""


def settle() -> None:
    """Freeze what there is now, for a gateway that begins to serve, and all that lives long from now on."""
    gc.collect()
    gc.freeze()
    trim()  # Reading code and configuration leaves half a MiB.
    if _freeze_survivors not in gc.callbacks:
        gc.callbacks.append(_freeze_survivors)


def _freeze_survivors(phase: str, info: dict[str, int]) -> None:
    """Freeze what a collection of the middle generation has left (a callback of the collector)."""
    global _freezes  # The collector is one for the whole process.
    if phase == "stop" and info["generation"] == _MIDDLE:
        _freezes += 1
        gc.freeze()


@contextmanager
def no_collections() -> Iterator[None]:
    """Make no collection while very much is made that lives long, such as a configuration; then freeze it.

    Until it is frozen, collections would go through large parts of it: up to 30 ms at a time, in whatever thread.
    """
    global _freezes
    gc.disable()
    try:
        yield
    finally:
        _freezes += 1 + gc.get_count()[0] // FROZEN_AT_ONCE
        gc.freeze()
        gc.enable()


def look_at_all() -> int:
    """Make a full collection, also among the frozen objects; return how many there are after it."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()
    return gc.get_freeze_count()


async def watch_garbage(connections: Sized) -> None:
    """Make a full collection, for ever, whenever more objects are frozen than these open connections account for."""
    least = found = gc.get_freeze_count()
    freezes = _freezes
    while True:
        await asyncio.sleep(LOOK_AFTER_S)
        most = 2 * least + SPARED + FOR_A_CONNECTION * len(connections)
        if found + (_freezes - freezes) * FROZEN_AT_ONCE <= most:
            continue
        found, freezes = gc.get_freeze_count(), _freezes
        least = min(least, found)
        if found > 2 * least + SPARED + FOR_A_CONNECTION * len(connections):
            least = found = look_at_all()
