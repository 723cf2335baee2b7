"""Keeps the collections of CPython's garbage collector short: they never go through everything there is.

A full collection goes through all objects that hold others: some 60 for each connection, 30 ms for 2,000 connections,
in which no client is served. Clients would choose when, by opening connections. So what has survived a collection of
the middle generation (7,000 objects at most) is frozen at once (gc.freeze), and later collections do not look at it.
What is no longer referred to is freed all the same. Only cycles among frozen objects stay, and those are rare:
connections break theirs when they end.

    new ──▶ young ──▶ middle ──▶ frozen ──▶ freed when nothing refers to it, or in a cycle: by `look_at_all`

A full collection is made only where such cycles must have grown: when there is much more than a gateway with so many
connections has, and not for a moment only. So cycles can take only so much memory. To count the frozen objects would
take 10 ms as well, so the blocks of memory are counted of which Python's objects are made: 0.1 ms for a million.
"""

import asyncio
import gc
import sys
from collections.abc import Iterator, Sized
from contextlib import contextmanager

from bifrost.wire.framer import trim

LOOK_AFTER_S = 60.0
"""Time between two looks at how much there is. What is there at one of them alone, as a large request is, does not
count."""

SPARED = 600_000
"""So many more blocks do not lead to a full collection, some 40 MiB: a tenant's names are among them."""

FOR_A_CONNECTION = 250
"""Blocks that an open connection accounts for; one that has authenticated and asked for nothing has 70. A gateway that
has just begun has 250,000."""

_MIDDLE = 1


def settle() -> None:
    """Freeze what there is now, for a gateway that begins to serve, and all that lives long from now on."""
    gc.collect()
    gc.freeze()
    trim()  # Reading code and configuration leaves half a MiB.
    if _freeze_survivors not in gc.callbacks:
        gc.callbacks.append(_freeze_survivors)


def _freeze_survivors(phase: str, info: dict[str, int]) -> None:
    """Freeze what a collection of the middle generation has left (a callback of the collector)."""
    if phase == "stop" and info["generation"] == _MIDDLE:
        gc.freeze()


@contextmanager
def no_collections() -> Iterator[None]:
    """Make no collection while very much is made that lives long, such as a configuration; then freeze it.

    Until it is frozen, collections would go through large parts of it: up to 30 ms at a time, in whatever thread.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def look_at_all() -> int:
    """Make a full collection, also among the frozen objects; return how many blocks of memory there are after it."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()
    return sys.getallocatedblocks()


async def watch_garbage(connections: Sized) -> None:
    """Make a full collection, for ever, whenever there is more at two looks than these open connections account for."""
    least = sys.getallocatedblocks()
    was_more = False
    while True:
        await asyncio.sleep(LOOK_AFTER_S)
        found = sys.getallocatedblocks()
        least = min(least, found)
        is_more = found > 2 * least + SPARED + FOR_A_CONNECTION * len(connections)
        if is_more and was_more:
            least, is_more = look_at_all(), False
        was_more = is_more
