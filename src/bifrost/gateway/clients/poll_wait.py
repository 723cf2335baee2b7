"""Waits for the answer to another connection's Fetch, no longer than the client of this one would (`OthersPoll`)."""

import contextlib
from collections.abc import Callable

from bifrost.filters.steps import OthersPoll
from bifrost.gateway.loop.deadline import MAX_WAIT_MS, Deadline
from bifrost.gateway.loop.later import soon


class PollWait:
    """What one connection waits for."""

    __slots__ = ("_call", "_deadline", "_is_over", "need")

    def __init__(self, need: OthersPoll, now_ns: int, call: Callable[[], None]) -> None:
        """Begin to wait.

        Args:
            need: what for.
            now_ns: the time, by the clock of the need.
            call: called once, when an answer has come or the time is over; not from within another connection's work.
        """
        self.need, self._call, self._deadline, self._is_over = need, call, Deadline(), False
        self._deadline.set(min(max(need.until_ns - now_ns, 0) / 1e9, MAX_WAIT_MS / 1000), self._end)
        for end in need.ends:
            end.call(self._come)

    def leave(self) -> None:
        """Wait no longer."""
        self._is_over = True
        self._deadline.cancel()
        for end in self.need.ends:
            end.forget(self._come)

    def _come(self) -> None:
        # Without a loop, as in another thread's garbage collection, the time that was set goes on.
        with contextlib.suppress(RuntimeError):
            soon(self._end)

    def _end(self) -> None:
        if not self._is_over:
            self.leave()
            self._call()
