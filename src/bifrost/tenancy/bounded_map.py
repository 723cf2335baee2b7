"""A map that forgets its oldest entry when it is full: it bounds all state that clients can make grow."""

from collections import OrderedDict
from collections.abc import ItemsView
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class BoundedMap(Generic[K, V]):
    """A dictionary of at most `limit` entries; every operation takes constant time.

    (A plain dict is too slow at finding its oldest entry: `next(iter(d))` walks over all deleted entries.)
    """

    __slots__ = ("_entries", "_limit")

    def __init__(self, limit: int) -> None:
        """Start empty."""
        assert limit > 0
        self._entries: OrderedDict[K, V] = OrderedDict()
        self._limit = limit

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: K) -> V | None:
        """Return the value, None when there is none or when it was forgotten."""
        return self._entries.get(key)

    def items(self) -> ItemsView[K, V]:
        """Return all entries, the oldest first."""
        return self._entries.items()

    def put(self, key: K, value: V) -> tuple[K, V] | None:
        """Set a value, which makes its entry the newest; return the entry that the map forgot for it, if any."""
        self._entries[key] = value
        self._entries.move_to_end(key)
        return self._entries.popitem(last=False) if len(self._entries) > self._limit else None

    def discard(self, key: K) -> None:
        """Forget an entry, if it is there."""
        self._entries.pop(key, None)
