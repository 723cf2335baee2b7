"""A clock that a test moves, and the calls that come by it."""

import heapq
from collections.abc import Callable
from itertools import count


class Call:
    """A call that comes later, or is cancelled."""

    def __init__(self, call: Callable[[], None]) -> None:
        self.call, self.is_cancelled = call, False

    def cancel(self) -> None:
        self.is_cancelled = True


class Clock:
    """Milliseconds since the test began."""

    def __init__(self) -> None:
        self.ms = 0
        self._calls: list[tuple[float, int, Call]] = []
        self._numbers = count()

    def now_ms(self) -> int:
        return self.ms

    def later(self, delay_s: float, call: Callable[[], None]) -> Call:
        made = Call(call)
        heapq.heappush(self._calls, (self.ms + delay_s * 1000, next(self._numbers), made))
        return made

    @property
    def waiting(self) -> int:
        return sum(not call.is_cancelled for _, _, call in self._calls)

    def pass_ms(self, duration_ms: int) -> None:
        """Let time pass, with all that comes in it."""
        until_ms = self.ms + duration_ms
        while self._calls and self._calls[0][0] <= until_ms:
            due_ms, _, call = heapq.heappop(self._calls)
            self.ms = max(self.ms, int(due_ms))
            if not call.is_cancelled:
                call.call()
        self.ms = until_ms
