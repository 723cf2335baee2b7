"""How many processes that read records there are at a time, of all filters together."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from contextlib import AbstractAsyncContextManager

from contextlib import asynccontextmanager

MAX_PROCESSES = 4
"""Processes of one gateway process; each takes some 50 MB, and as much of a processor as there is."""


class ProcessRoom:
    """Room for processes; when all of it is taken, the one that was used least of late makes room."""

    def __init__(self, most: int = MAX_PROCESSES) -> None:
        """Begin with no process."""
        self._most = most
        self._turns = asyncio.Semaphore(most)
        self._idle: OrderedDict[object, Callable[[], None]] = OrderedDict()
        self._used = 0

    def turn(self, owner: object, end: Callable[[], None]) -> AbstractAsyncContextManager[None]:
        """Wait for a turn in which `owner` may have a process; `end` ends it when another one needs its place.

        An owner that has no process at the end of its turn calls `leave`.
        """
        return self._turn(owner, end)

    @asynccontextmanager
    async def _turn(self, owner: object, end: Callable[[], None]) -> AsyncIterator[None]:
        async with self._turns:
            if self._idle.pop(owner, None) is None and self._used + len(self._idle) >= self._most:
                _, end_other = self._idle.popitem(last=False)
                end_other()
            self._used += 1
            try:
                yield
            finally:
                self._used -= 1
                self._idle[owner] = end

    def leave(self, owner: object) -> None:
        """Note that the owner has no process now."""
        self._idle.pop(owner, None)
