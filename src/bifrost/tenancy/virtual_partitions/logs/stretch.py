"""A stretch of a physical partition's log of which is known which group of virtual partitions has what offset last.

Nothing is said about what lies before it or behind it. What has been read once is remembered for the next request, by
tenant and process, so that a tool which asks for the ends of partitions each minute has only what is new read.
"""

from collections import OrderedDict
from collections.abc import Mapping
from typing import NamedTuple

MAX_REMEMBERED = 4_096
"""Physical partitions of one tenant of which a stretch is remembered. Beyond them the one is forgotten that was not
asked for the longest."""
MAX_GROUPS = 200_000
"""Groups of all of them, some 16 MiB: a physical partition has up to 512. Beyond them likewise."""

Place = tuple[bytes, int]
"""A physical topic and one of its partitions."""


class Stretch(NamedTuple):
    """The offsets from `begin` on that are less than `end`."""

    begin: int
    end: int
    last: Mapping[int, int]
    """The last offset of each group that has one in it."""


def joined(one: Stretch | None, other: Stretch) -> Stretch:
    """Return the stretch that two make which touch each other; if there is a gap, that which ends later."""
    if one is None:
        return other
    if one.end < other.begin or other.end < one.begin:
        return max(one, other, key=lambda stretch: stretch.end)
    last = dict(one.last)
    for group, offset in other.last.items():
        last[group] = max(offset, last.get(group, -1))
    return Stretch(min(one.begin, other.begin), max(one.end, other.end), last)


class KnownStretches:
    """The stretches that a tenant's requests have read."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self._known: OrderedDict[Place, tuple[int, Stretch]] = OrderedDict()
        self._groups = 0

    def of(self, place: Place, leader_epoch: int) -> Stretch | None:
        """Return what is known of a partition under a leader; -1: which one is not known.

        What was read under another leader is not used: that one may have lost the end of the log.
        """
        epoch, stretch = self._known.get(place, (-1, None))
        if stretch is None or (min(epoch, leader_epoch) >= 0 and epoch != leader_epoch):
            return None
        self._known.move_to_end(place)
        return stretch

    def add(self, place: Place, leader_epoch: int, stretch: Stretch) -> None:
        """Remember what was read."""
        made = joined(self.of(place, leader_epoch), stretch)
        before = self._known.pop(place, None)
        self._groups += len(made.last) - (0 if before is None else len(before[1].last))
        self._known[place] = leader_epoch, made
        while len(self._known) > MAX_REMEMBERED or self._groups > MAX_GROUPS:
            self._groups -= len(self._known.popitem(last=False)[1][1].last)

    def forget(self) -> None:
        """Forget all of it: a topic may have been deleted, and made anew."""
        self._known.clear()
        self._groups = 0
