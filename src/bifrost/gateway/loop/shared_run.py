"""Work that several tasks wait for together: the first begins it, the others wait for the same run."""

import asyncio
from collections.abc import Awaitable, Callable


class SharedRun:
    """Runs one coroutine function, never twice at the same time."""

    def __init__(self, work: Callable[[], Awaitable[None]]) -> None:
        """Begin nothing yet."""
        self._work = work
        self._task: asyncio.Task[None] | None = None

    @property
    def is_running(self) -> bool:
        """Whether a run has begun and not ended yet."""
        return self._task is not None

    async def wait(self) -> None:
        """Wait for the end of the run that goes on, or of a new one. A caller that is cancelled does not end it.

        Raises:
            Exception: what the work raised, in every caller.
        """
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run())
        await asyncio.shield(self._task)

    async def _run(self) -> None:
        try:
            await self._work()
        finally:
            self._task = None
