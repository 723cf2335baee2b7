"""A timer of a connection, which has at most one time set."""

import asyncio
from collections.abc import Callable

MAX_WAIT_MS = 86_400_000
"""A day: a loop's timer cannot run for years, so a caller that waits longer has to set it again."""


class Deadline:
    """Calls back once, unless another time is set earlier or it is cancelled."""

    __slots__ = ("_handle",)

    def __init__(self) -> None:
        """Set no time."""
        self._handle: asyncio.TimerHandle | None = None

    def set(self, after_s: float, callback: Callable[[], object]) -> None:
        """Call back after `after_s` seconds; this replaces the time set before."""
        self.cancel()
        self._handle = asyncio.get_running_loop().call_later(after_s, callback)

    def cancel(self) -> None:
        """Do not call back."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    @property
    def is_set(self) -> bool:
        """Whether it will call back, or has."""
        return self._handle is not None

    def when(self) -> float:
        """Return when it calls back, in seconds of the loop's clock; a time must be set."""
        assert self._handle is not None
        return self._handle.when()
