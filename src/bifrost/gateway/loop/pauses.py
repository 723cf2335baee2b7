"""How long connections were not read because the gateway could not forward what they send."""

import time
from collections import Counter

CLIENT, BROKER = SIDES = ("client", "broker")


class Pauses:
    """The pauses of all connections together, by the side that was not read."""

    def __init__(self, ended_ns: Counter[str] | None = None) -> None:
        """Start at nothing, and count nanoseconds in `ended_ns`."""
        self._ended_ns = Counter[str]() if ended_ns is None else ended_ns

    def add(self, side: str, ns: int) -> None:
        """Add a pause that has ended, in nanoseconds."""
        self._ended_ns[side] += ns

    def seconds(self, side: str) -> float:
        """Return the time of the pauses that have ended, in seconds."""
        return self._ended_ns[side] / 1e9


class Unread:
    """Since when each side of one connection is not read."""

    __slots__ = ("_pauses", "_since_ns")

    def __init__(self, pauses: Pauses) -> None:
        """Start with both sides being read; pauses that have ended are added to `pauses`."""
        self._pauses = pauses
        self._since_ns = dict.fromkeys(SIDES, 0)

    def note(self, side: str, *, has_ended: bool) -> None:
        """Note that a pause begins or ends now."""
        now_ns = time.monotonic_ns()
        if has_ended:
            self._pauses.add(side, now_ns - self._since_ns[side])
        self._since_ns[side] = now_ns
