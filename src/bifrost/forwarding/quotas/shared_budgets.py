"""The memory of quotas' budgets that all workers charge: a table of places, found by the names of the budgets.

    place: what its name hashes to, 8 bytes │ paid_ns of the budget, 8 bytes (forwarding/quotas/budget.pyx)

All workers have one monotonic clock, so one number is one budget for all of them.
"""

import hashlib
from collections.abc import Callable
from contextlib import AbstractContextManager

MAX_PROBES = 64
"""Places that are tried for one budget. If none of them is free, the budget is the worker's own, so that the workers
together allow more than it says; even in a table that is nearly full that is rare."""

IDLE_NS = 7_200_000_000_000
"""How long a budget must have been paid before another one gets its place, 2 h: longer than any debt."""

_PLACE = 2


class SharedBudgets:
    """The budgets of all workers, as one of them finds them."""

    def __init__(
        self,
        memory: memoryview,
        locked: Callable[[], AbstractContextManager[None]],
        key: bytes,
        now_ns: Callable[[], int],
    ) -> None:
        """Look into a table that all workers map.

        Args:
            memory: the table, 16 bytes for each place; zeros at the beginning.
            locked: holds back the other workers while a place is looked for.
            key: with which names are hashed, the same in all workers: clients choose parts of the names.
            now_ns: the engine's monotonic clock.
        """
        self._memory, self._locked, self._key, self._now_ns = memory, locked, key, now_ns
        self._cells = self._memory.cast("q")

    def memory(self, name: str) -> memoryview | None:
        """Return the 8 bytes of a budget; None: there is no place for it."""
        digest = hashlib.blake2b(name.encode(), key=self._key, digest_size=8).digest()
        tag = int.from_bytes(digest, "little", signed=True) or 1
        places = len(self._cells) // _PLACE
        with self._locked():
            free = None
            for probe in range(MAX_PROBES):
                at = (tag + probe) % places * _PLACE
                if self._cells[at] == tag:
                    return self._number(at)
                if free is None and self._is_free(at):
                    free = at
                if not self._cells[at]:
                    break
            if free is None:
                return None
            # Paid for long, and not so long that another budget could get the place before this one is charged.
            self._cells[free], self._cells[free + 1] = tag, self._now_ns() - IDLE_NS // 2
            return self._number(free)

    def _is_free(self, at: int) -> bool:
        return not self._cells[at] or self._cells[at + 1] < self._now_ns() - IDLE_NS

    def _number(self, at: int) -> memoryview:
        return self._memory[(at + 1) * 8 : (at + 2) * 8]
