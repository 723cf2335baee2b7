"""A Fetch that a broker has of one connection, and for whose answer other connections wait with theirs.

    a connection's Fetch ──▶ SharedPoll, kept by its exchange ──▶ PollEnd ◀── entries of the store, and who waits

When the answer has come, or the connection has ended and with it the exchange, the end comes and all that wait are
called. So a connection that goes away never leaves others waiting.
"""

from __future__ import annotations

from collections.abc import Callable


class PollEnd:
    """When a broker has answered a Fetch, or will not do so any more."""

    __slots__ = ("_calls", "has_come", "is_slow")

    def __init__(self) -> None:
        """Begin with a Fetch that is on its way."""
        self._calls: dict[Callable[[], None], None] = {}
        self.has_come = False
        self.is_slow = False
        """Whether a connection has waited for it in vain: no other one joins it."""

    def call(self, call: Callable[[], None]) -> None:
        """Call when the end comes; at once if it has come."""
        if self.has_come:
            call()
        else:
            self._calls[call] = None

    def forget(self, call: Callable[[], None]) -> None:
        """Do not call any more."""
        self._calls.pop(call, None)

    def come(self) -> None:
        """Call all that wait; once."""
        calls, self._calls, self.has_come = self._calls, {}, True
        for call in calls:
            call()


class SharedPoll:
    """The Fetch, as its own exchange keeps it."""

    __slots__ = ("end",)

    def __init__(self) -> None:
        """Begin when it is sent."""
        self.end = PollEnd()

    def __del__(self) -> None:
        # The connection has ended, or its request was not sent after all.
        self.end.come()
