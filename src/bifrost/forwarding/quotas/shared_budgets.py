"""The memory of quotas' budgets that all workers charge: a table of places, found by the names of the budgets.

    head: budgets in the table │ stretch of a new budget      then the numbers of the places in use, then the places:
    what the name hashes to here │ in all gateways │ paid_ns │ stretch │ used_ns │ burst_ns │ most_ns │ used_ns seen

All workers have one monotonic clock, so one number is one budget for all of them. A gateway that has its budgets alone
uses only `paid_ns` (forwarding/quotas/budget.pyx); the rest is for gateways that share them (forwarding/exchange/).
"""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import NamedTuple

from bifrost.forwarding.quotas.budget import Budget, take_used

MAX_PROBES = 64
"""Places that are tried for one budget. If none of them is free, the budget is the worker's own, so that the workers
together allow more than it says; even in a table that is nearly full that is rare."""

IDLE_NS = 7_200_000_000_000
"""How long a budget must have been paid before another one gets its place, 2 h: longer than any debt."""

START_STRETCH = 50.0
"""A budget's stretch while the gateway does not know yet how many others there are: a fiftieth of the rate."""

_HEAD, _PLACE = 2, 8
_COUNT, _NEW_STRETCH = range(_HEAD)
_TAG, _FLEET_TAG, _BUDGET = range(3)
_PAID, _STRETCH, _USED, _BURST, _MOST, _SEEN = range(_BUDGET, _PLACE)


def cells_of(places: int) -> int:
    """Return how many numbers of 8 bytes a table with so many places takes."""
    return _HEAD + places * (1 + _PLACE)


class Use(NamedTuple):
    """What the gateway used of a budget since the last look."""

    place: int
    """Number of its place."""
    tag: int
    """What its name hashes to in all gateways."""
    used_ns: int
    """How long the whole rate takes to allow what was used."""
    debt_ns: int
    """How long it takes until all is paid; 0 or less: there is no debt."""


class SharedBudgets:
    """The budgets of all workers, as one of them finds them."""

    def __init__(
        self,
        memory: memoryview,
        locked: Callable[[], AbstractContextManager[None]],
        key: bytes,
        now_ns: Callable[[], int],
        *,
        is_exchanged: bool = False,
    ) -> None:
        """Look into a table that all workers map.

        Args:
            memory: the table, `cells_of` numbers; zeros at the beginning.
            locked: holds back the other workers while a place is looked for.
            key: with which names are hashed, the same in all workers: clients choose parts of the names.
            now_ns: the engine's monotonic clock.
            is_exchanged: whether other gateways have the same budgets.
        """
        self._memory, self._locked, self._key, self._now_ns = memory, locked, key, now_ns
        self._cells, self._stretches = self._memory.cast("q"), self._memory.cast("d")
        self._places = (len(self._cells) - _HEAD) // (1 + _PLACE)
        self.is_exchanged = is_exchanged

    def memory(self, name: str) -> memoryview | None:
        """Return the memory of a budget; None: there is no place for it."""
        digest = hashlib.blake2b(name.encode(), key=self._key, digest_size=8).digest()
        tag = int.from_bytes(digest, "little", signed=True) or 1
        with self._locked():
            free = None
            for probe in range(MAX_PROBES):
                place = (tag + probe) % self._places
                at = self._at(place)
                if self._cells[at] == tag:
                    return self._budget(at)
                if free is None and self._is_free(at):
                    free = place
                if not self._cells[at]:
                    break
            if free is None:
                return None
            self._take(free, tag, name)
            return self._budget(self._at(free))

    # -- for the exchange with other gateways

    @property
    def new_stretch(self) -> float:
        """The stretch of a budget that is new here; 0: it is not known yet."""
        return self._stretches[_NEW_STRETCH]

    @new_stretch.setter
    def new_stretch(self, stretch: float) -> None:
        self._stretches[_NEW_STRETCH] = stretch

    def __len__(self) -> int:
        return self._cells[_COUNT]

    def uses(self) -> list[Use]:
        """Return what was used of each budget since the last call, and those that owe anything."""
        found = take_used(self._memory, _HEAD, len(self), self._places, _PLACE, self._now_ns())
        return [Use(*one) for one in found]

    def tags(self, since: int) -> Iterator[tuple[int, int]]:
        """Yield number of the place and tag of each budget, from the `since`-th that was entered on."""
        for number in range(since, len(self)):
            place = self._cells[_HEAD + number]
            yield place, self._cells[self._at(place) + _FLEET_TAG]

    def tag_at(self, place: int) -> int:
        """Return the tag of the budget that has a place."""
        return self._cells[self._at(place) + _FLEET_TAG]

    def stretch_at(self, place: int) -> float:
        """Return the stretch of the budget that has a place."""
        return self._stretches[self._at(place) + _STRETCH] or 1.0

    def stretch(self, place: int, stretch: float) -> None:
        """Set the stretch of the budget that has a place."""
        at = self._at(place)
        if self._stretches[at + _STRETCH] == stretch:
            return
        burst_ns, most_ns = self._cells[at + _BURST], self._cells[at + _MOST]
        if not most_ns:  # Its first worker has not filled it in yet; nothing is charged.
            self._stretches[at + _STRETCH] = stretch
            return
        Budget("", "", 1.0, burst_ns, most_ns, self._budget(at)).stretch_to(stretch, self._now_ns())

    # -- places

    def _take(self, place: int, tag: int, name: str) -> None:
        at, cells = self._at(place), self._cells
        if not cells[at]:
            cells[_HEAD + cells[_COUNT]] = place
            cells[_COUNT] += 1
        fleet = hashlib.blake2b(name.encode(), digest_size=8, person=b"bifrost quota").digest()
        cells[at], cells[at + _FLEET_TAG] = tag, int.from_bytes(fleet, "little", signed=True)
        # Paid for long, and not so long that another budget could get the place before this one is charged.
        cells[at + _PAID] = self._now_ns() - IDLE_NS // 2
        self._stretches[at + _STRETCH] = (self.new_stretch or START_STRETCH) if self.is_exchanged else 1.0
        cells[at + _USED] = cells[at + _SEEN] = cells[at + _BURST] = cells[at + _MOST] = 0

    def _at(self, place: int) -> int:
        return _HEAD + self._places + place * _PLACE

    def _is_free(self, at: int) -> bool:
        return not self._cells[at] or self._cells[at + _PAID] < self._now_ns() - IDLE_NS

    def _budget(self, at: int) -> memoryview:
        end = at + (_SEEN if self.is_exchanged else _PAID + 1)
        return self._memory[(at + _BUDGET) * 8 : end * 8]
