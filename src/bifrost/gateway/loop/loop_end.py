"""Calls something when an event loop ends, before it is closed."""

from collections.abc import AsyncGenerator, Callable
from contextlib import suppress


class LoopEnd:
    """Calls once, when the event loop that runs now shuts down its asynchronous generators.

    `asyncio.run` and `uvloop.run` do so after the last task, as the one step before they close the loop in which other
    code may run.
    """

    def __init__(self, call: Callable[[], None]) -> None:
        """Wait for the end of the running loop.

        Args:
            call: what is called; it does not wait for anything.
        """
        self._waiting = _until_the_end(call)
        # The event loop learns of a generator with its first step, which goes as far as the `yield`.
        with suppress(StopIteration):
            self._waiting.asend(None).send(None)


async def _until_the_end(call: Callable[[], None]) -> AsyncGenerator[None, None]:
    try:
        yield
    finally:
        call()
