"""Where the groups of virtual partitions begin in the log of a physical one, as it was read a moment ago.

The consumers of a group that starts behind ask for the starts of their partitions at the same time, some clients for
each by itself, and the same part of the log answers all of them. It is remembered for a moment only: a topic may be
deleted and made again elsewhere, and then its records begin anew.
"""

from collections import OrderedDict
from collections.abc import Mapping
from typing import NamedTuple

KEPT_MS = 2_000
"""As long as fetched records are kept for others."""
MAX_REMEMBERED = 1_024
"""Physical partitions of one tenant that are remembered. Beyond them the one is forgotten that was read first."""
MAX_GROUPS = 131_072
"""Groups of all of them, some 12 MiB: a physical partition has up to 512. Beyond them likewise."""

Place = tuple[bytes, int]
"""A physical topic and one of its partitions."""


class KnownStart(NamedTuple):
    """What was read from the start of a log on."""

    begin: int
    """Where the log begins."""
    end: int
    """Behind the last batch that was read."""
    firsts: Mapping[int, int]
    """The first offset of each group that has one before the end."""
    read_ms: int
    """When it was read, by a monotonic clock."""
    near: int = 0
    """Before it all is near the beginning: some MiB at the most."""


class KnownStarts:
    """What the requests of a tenant have read."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self._known: OrderedDict[Place, KnownStart] = OrderedDict()
        self._groups = 0

    @property
    def has_any(self) -> bool:
        """Whether anything is known of any log."""
        return bool(self._known)

    def of(self, place: Place, begin: int, end: int, now_ms: int) -> KnownStart | None:
        """Return what is known of a log that begins and ends there now; None: nothing, or of another one."""
        known = self._known.get(place)
        if known is None or known.begin != begin or known.end > end or now_ms - known.read_ms >= KEPT_MS:
            return None
        return known

    def add(self, place: Place, start: KnownStart) -> None:
        """Remember what was read in place of what is known of the partition."""
        before = self._known.pop(place, None)
        self._groups += len(start.firsts) - (0 if before is None else len(before.firsts))
        self._known[place] = start
        while len(self._known) > MAX_REMEMBERED or self._groups > MAX_GROUPS:
            self._groups -= len(self._known.popitem(last=False)[1].firsts)

    def begin_of(self, place: Place, group: int, offset: int) -> int:
        """Return where to read from for a consumer that is at the start of its virtual partition.

        Consumers that share a physical partition start at offsets of their own, a little apart. If all of them read
        from where the log begins, one Fetch serves all. What was read counts however long ago: no consumer gets less
        for it.

        Returns:
            Where the log begins, if that is near and no record of the group lies between; else the offset.
        """
        known = self._known.get(place)
        if known is None or known.firsts.get(group) != offset:
            return offset
        return known.begin if offset < known.near else offset

    def forget(self) -> None:
        """Forget all of it: topics or records were deleted."""
        self._known.clear()
        self._groups = 0
