"""Looks for the ends of virtual partitions, from the end of their physical partition towards its beginning.

    low ........ begin ──read──▶ | already read | end

A log can only be read forwards, so it is read in parts, each before the one that was read last, and each longer than
that. Where all partitions are written to, the first part has a record of each of them.
"""

from collections.abc import Collection

from bifrost.tenancy.virtual_partitions.logs.stretch import Stretch, joined
from bifrost.tenancy.virtual_partitions.virtual_batches import last_offsets

FIRST_PART, GROWTH = 64, 4
"""Offsets of the first part, and how much longer each one is than the one behind it."""


class TailScan:
    """The search at one physical partition."""

    def __init__(
        self, low: int, end: int, groups: Collection[int], known: Stretch | None, *, is_keyed: bool = False
    ) -> None:
        """Begin at the end.

        Args:
            low: where virtual partitions end at the least; nothing before it is read.
            end: of the physical partition.
            groups: whose ends are wanted.
            known: a stretch that need not be read again.
            is_keyed: whether the topic is compacted.
        """
        self._low, self._end, self._groups, self._known = low, end, groups, known
        self._is_keyed = is_keyed
        self.found = Stretch(end, end, {})
        """What was read, without a gap to the end."""
        self._length = FIRST_PART
        self._begin = end
        self._at: int | None = end
        self._last: dict[int, int] = {}
        self._next_part()

    @property
    def offset(self) -> int | None:
        """Where to read next; None: all is known."""
        return self._at

    def take(self, records: bytes | memoryview) -> bool:
        """Take what was read from `offset` on; return whether it goes on.

        Raises:
            UnfitBatch: it does not say whose it is.
        """
        assert self._at is not None, "nothing was asked for"
        end, last = last_offsets(records, self.found.begin, self._is_keyed)
        if end <= self._at:
            return False
        self._at = end
        self._last |= last
        if end >= self.found.begin:
            self.found = Stretch(self._begin, self.found.end, self._last | dict(self.found.last))
            self._next_part()
        return True

    def end_of(self, group: int) -> int:
        """Return where the virtual partition of a group ends; if it was not found, what was read has none of it."""
        last = self.found.last.get(group)
        least = self._low if last is not None else max(self._low, self.found.begin)
        return min(self._end, max(least, -1 if last is None else last + 1))

    def _next_part(self) -> None:
        known, behind = self._known, self.found.begin
        if known is not None and known.begin <= behind <= known.end:
            self.found, self._known = joined(known, self.found), None
            behind = self.found.begin
        if behind <= self._low or all(group in self.found.last for group in self._groups):
            self._at = None
            return
        begin = max(self._low, behind - self._length)
        if self._known is not None and self._known.end <= behind:
            begin = max(begin, self._known.end)
        self._length *= GROWTH
        self._begin = self._at = begin
        self._last = {}
