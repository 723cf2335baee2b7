"""The entries of the index that one process knows of the logs at one physical cluster.

    the topic  ──take──▶  known  ──of──▶  a search in the log, which proves an entry before it uses it
    a scan  ──extend──▶   known  ──due──▶  the topic

Of two entries about the same log the one counts that covers it further. Which log is meant only the log itself can
prove; so what is kept here may be wrong, and is never used without that.

It also keeps to which offsets consumers were moved beyond the end of an idle partition (`moved`, see index_entry.py).
A client may commit any offset, though, and brokers accept it. So one beyond what an entry covers is kept apart
(`ahead`) until the entry covers it, is not written before that, and counts only in a log that is so long.
"""

from collections import OrderedDict
from collections.abc import Iterator

from bifrost.tenancy.virtual_partitions.index.index_entry import NO_TOPIC_ID, IndexEntry, Place
from bifrost.tenancy.virtual_partitions.partition_end import STEP, may_be_least_end

MAX_PLACES = 65_536
"""Physical partitions that are remembered. What is known of others is left out: to forget some for them would mean to
read them again."""
MAX_GROUPS = 400_000
"""Groups of all of them, some 32 MiB. Beyond them likewise."""
MAX_AHEAD, MAX_AHEAD_GROUPS = 4_096, 40_000
"""Physical partitions without an entry of which it is remembered where consumers were moved, and their groups. A client
may commit offsets of topics that there are not; so these make room for each other alone."""
GROWTH = 8 * STEP
"""An entry is written when it covers so many offsets more, or"""
LATEST_MS = 60_000
"""when so much time has passed since it first covered more."""


class _Known:
    """What is known of a physical partition."""

    __slots__ = ("ahead", "entry", "is_moved", "moved", "written_end")

    def __init__(self, entry: IndexEntry) -> None:
        self.entry = entry
        self.moved: dict[int, int] = {}
        """Within what the entry covers."""
        self.ahead: dict[int, int] = {}
        """Beyond that."""
        self.written_end = 0
        """How far the topic says."""
        self.is_moved = False
        """Whether the topic does not say all of `moved`."""

    @property
    def groups(self) -> int:
        return len(self.moved) + len(self.ahead) + len(self.entry.ends)

    def note(self, group: int, offset: int) -> bool:
        """Note where consumers of a group were moved; return whether that is new, and within the entry."""
        known = self.moved if offset <= self.entry.end else self.ahead
        if known.get(group, 0) >= offset:
            return False
        known[group] = offset
        return known is self.moved

    def catch_up(self) -> None:
        """Take over what is not ahead any more, because the entry covers it by now."""
        for group, offset in list(self.ahead.items()):
            if offset <= self.entry.end:
                del self.ahead[group]
                self.is_moved |= self.note(group, offset)


class IndexTable:
    """The entries. Times are of a monotonic clock, in milliseconds."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self._known: dict[Place, _Known] = {}
        self._ahead: OrderedDict[Place, dict[int, int]] = OrderedDict()
        """Where consumers were moved, as long as there is no entry."""
        self._ahead_groups = 0
        self._changed: dict[Place, int] = {}
        """Entries that the topic has not, and since when."""
        self._groups = 0

    def __len__(self) -> int:
        """Return how many entries there are."""
        return len(self._known)

    @property
    def is_full(self) -> bool:
        """Whether there is no room for another entry."""
        return len(self._known) >= MAX_PLACES or self._groups >= MAX_GROUPS

    def places(self) -> list[Place]:
        """Return them."""
        return list(self._known)

    def of(self, place: Place) -> IndexEntry | None:
        """Return what the index says of a physical partition, which the log has to prove; None: nothing."""
        known = self._known.get(place)
        return None if known is None else known.entry

    def moved_to(self, place: Place, group: int, log_end: int) -> int:
        """Return up to where consumers of a group may have been moved in a log that ends at `log_end`; 0: nowhere.

        What lies behind that end is forgotten: Fetch moves none there.
        """
        known = self._known.get(place)
        moved, ahead = ({}, self._ahead.get(place, {})) if known is None else (known.moved, known.ahead)
        if ahead.get(group, 0) > log_end:
            del ahead[group]
            self._ahead_groups -= known is None
            self._groups -= known is not None
        return max(moved.get(group, 0), ahead.get(group, 0))

    # -- what this process finds out

    def extend(self, place: Place, entry: IndexEntry, now_ms: int) -> None:
        """Remember what was read of a log just now, in place of what is known of it."""
        known = self._begin(place, entry)
        if known is None:
            return
        if known.entry.topic_id not in (entry.topic_id, NO_TOPIC_ID):
            known.moved, known.ahead, known.written_end = {}, {}, 0
        known.entry = entry
        known.catch_up()
        self._changed.setdefault(place, now_ms)
        self._end(place, known)

    def note_moved(self, place: Place, group: int, offset: int, now_ms: int) -> None:
        """Note that brokers have an offset as a consumer's: one to which Fetch may have moved it counts."""
        if not may_be_least_end(offset):
            return
        known = self._known.get(place)
        if known is None:
            self._note_ahead(place, group, offset)
            return
        self._groups -= known.groups
        if known.note(group, offset):
            known.is_moved = True
            self._changed.setdefault(place, now_ms)
        self._end(place, known)

    def _note_ahead(self, place: Place, group: int, offset: int) -> None:
        moved = self._ahead.setdefault(place, {})
        self._ahead.move_to_end(place)
        self._ahead_groups += group not in moved
        moved[group] = max(offset, moved.get(group, 0))
        while len(self._ahead) > MAX_AHEAD or self._ahead_groups > MAX_AHEAD_GROUPS:
            self._ahead_groups -= len(self._ahead.popitem(last=False)[1])

    def distrust(self, place: Place, entry: IndexEntry) -> None:
        """Forget an entry that the log has disproved, if it is still the one that is known."""
        known = self._known.get(place)
        if known is not None and known.entry == entry:
            self.forget(place)

    def forget(self, place: Place) -> None:
        """Forget all that is known of a physical partition."""
        known = self._known.pop(place, None)
        self._changed.pop(place, None)
        self._groups -= 0 if known is None else known.groups
        self._ahead_groups -= len(self._ahead.pop(place, ()))

    # -- the topic

    def take(self, place: Place, entry: IndexEntry | None) -> None:
        """Take what the topic says of a physical partition; None: its topic was deleted."""
        if entry is None:
            if place not in self._changed:
                self.forget(place)
            return
        is_new, known = place not in self._known, self._begin(place, entry)
        if known is None:
            return
        mine = known.entry
        if is_new or mine.topic_id != entry.topic_id:
            # Of two logs the one counts that was written last, unless this process has read its own since.
            if place not in self._changed:
                if not is_new:
                    known.moved, known.ahead = {}, {}
                self._replace(known, entry)
        elif entry.end > mine.end:
            self._replace(known, entry)
            self._changed.pop(place, None)
        else:
            known.written_end = max(known.written_end, entry.end)
            self._merge(known, entry)
            if entry.end == mine.end and not known.is_moved:
                self._changed.pop(place, None)
        if known.is_moved:
            self._changed.setdefault(place, 0)
        self._end(place, known)

    def due(self, now_ms: int, *, is_last: bool = False) -> Iterator[tuple[Place, IndexEntry]]:
        """Yield the entries that are to be written now; each is one until `written` is called.

        Args:
            now_ms: the time.
            is_last: whether all are that the topic has not, because the process ends.
        """
        for place, since_ms in list(self._changed.items()):
            known = self._known.get(place)
            if known is None:
                continue
            has_grown = known.entry.end - known.written_end >= GROWTH or known.entry.end < known.written_end
            if is_last or known.is_moved or has_grown or now_ms - since_ms >= LATEST_MS:
                yield place, self._to_write(known, known.entry)

    def written(self, place: Place, entry: IndexEntry) -> None:
        """Note that the topic has an entry now."""
        known = self._known.get(place)
        if known is None:
            return
        known.written_end = entry.end
        known.is_moved = self._to_write(known, known.entry).moved != entry.moved
        if known.entry.end == entry.end and not known.is_moved:
            self._changed.pop(place, None)

    def _to_write(self, known: _Known, entry: IndexEntry) -> IndexEntry:
        moved = {group: to for group, to in known.moved.items() if to > entry.ends.get(group, 0)}
        return entry._replace(moved=moved)

    def _replace(self, known: _Known, entry: IndexEntry) -> None:
        known.entry, known.written_end = entry._replace(moved={}), entry.end
        known.catch_up()
        self._merge(known, entry)

    def _merge(self, known: _Known, entry: IndexEntry) -> None:
        for group, offset in entry.moved.items():
            if offset <= entry.end:
                known.moved[group] = max(offset, known.moved.get(group, 0))
        known.is_moved = known.is_moved and any(
            offset > max(entry.moved.get(group, 0), entry.ends.get(group, 0))
            for group, offset in known.moved.items()
        )

    def _begin(self, place: Place, entry: IndexEntry) -> _Known | None:
        """Return what is known of a physical partition, to be changed until `_end`; None: there is no room for it."""
        known = self._known.get(place)
        if known is not None:
            self._groups -= known.groups
            return known
        if self.is_full:
            return None
        known = self._known[place] = _Known(entry)
        known.ahead = self._ahead.pop(place, {})
        self._ahead_groups -= len(known.ahead)
        return known

    def _end(self, place: Place, known: _Known) -> None:
        self._groups += known.groups
        if self._groups > MAX_GROUPS:
            self.forget(place)
