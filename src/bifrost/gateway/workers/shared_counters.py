"""Counters of one worker that outlive it: a file without a name, which its supervisor reads whenever it wants.

    8 bytes: how much of the file is written        then records, each
    u32 size of the record │ u32 size of the key │ the key, JSON, up to a multiple of 8 │ numbers of 8 bytes

Records are added and never moved, so a worker counts in the record itself, without a call. The counts of a worker
survive even if it is killed in the next moment.
"""

import json
import mmap
import os
import struct
from collections import Counter
from collections.abc import Iterator
from typing import Any

Key = tuple[str | int | None, ...]
"""What a record counts: its kind first, then its labels."""

CHUNK = 256 * 1024
"""Bytes by which the file grows; no record crosses such a boundary."""

_HEAD = struct.Struct("=II")
_USED = 8


def new_shared_counters() -> int:
    """Return the descriptor of new, empty shared counters."""
    fd = os.memfd_create("bifrost-counters", os.MFD_CLOEXEC)
    os.ftruncate(fd, CHUNK)
    return fd


class SharedCounters:
    """The memory in which a worker counts."""

    def __init__(self, fd: int) -> None:
        """Begin in an empty file."""
        self._fd = fd
        self._chunks = [memoryview(mmap.mmap(fd, CHUNK))]
        self._used = _USED
        self._publish()

    def cells(self, key: Key, count: int) -> memoryview:
        """Return new memory for `count` numbers, all 0; another call with this key returns other memory.

        Raises:
            ValueError: a record of that size does not fit.
        """
        name = json.dumps(key).encode()
        name += b" " * (-len(name) % 8)
        size = _HEAD.size + len(name) + 8 * count
        if size > CHUNK - _USED:
            raise ValueError(f"{key[0]}: {size} bytes are more than fit")
        start = self._used % CHUNK
        if start + size > CHUNK or not start:
            self._grow()
            start = 0
        chunk = self._chunks[-1]
        chunk[start : start + _HEAD.size + len(name)] = _HEAD.pack(size, len(name)) + name
        self._used += size
        self._publish()
        return chunk[start + size - 8 * count : start + size]

    def _grow(self) -> None:
        end = len(self._chunks) * CHUNK
        left = end - self._used
        if left:
            # An empty record tells the reader to skip the rest: sizes are multiples of 8, so it always fits.
            self._chunks[-1][CHUNK - left : CHUNK - left + _HEAD.size] = _HEAD.pack(left, 0)
        os.ftruncate(self._fd, end + CHUNK)
        self._chunks.append(memoryview(mmap.mmap(self._fd, CHUNK, offset=end)))
        self._used = end

    def _publish(self) -> None:
        self._chunks[0][:_USED] = self._used.to_bytes(_USED, "little")


class SharedCountersReader:
    """The counters of a worker as its supervisor reads them."""

    def __init__(self, fd: int) -> None:
        """Read the counters with this descriptor, which `close` closes."""
        self._fd = fd
        self._index: list[tuple[Key, int, int]] = []
        self._seen = _USED

    def read(self) -> Iterator[tuple[Key, tuple[int, ...]]]:
        """Yield each record's key and numbers."""
        used = int.from_bytes(os.pread(self._fd, _USED, 0), "little")
        content = b"".join(os.pread(self._fd, min(CHUNK, used - at), at) for at in range(0, used, CHUNK))
        while self._seen < len(content):
            size, name_size = _HEAD.unpack_from(content, self._seen)
            start = self._seen + _HEAD.size + name_size
            if name_size:
                key = tuple(json.loads(content[self._seen + _HEAD.size : start]))
                self._index.append((key, start, (self._seen + size - start) // 8))
            self._seen += size
        for key, start, count in self._index:
            yield key, struct.unpack_from(f"={count}q", content, start)

    def close(self) -> None:
        """Close the memory."""
        os.close(self._fd)


class SharedCounter(Counter[Any]):
    """A Counter whose numbers are stored in shared memory as well."""

    def __init__(self, counters: SharedCounters, name: str) -> None:
        """Count under a key of `name` and the counter's key: its text, or the parts of a tuple."""
        super().__init__()
        self._counters, self._name = counters, name
        self._cells: dict[object, memoryview] = {}

    def __setitem__(self, key: Any, value: int) -> None:
        super().__setitem__(key, value)
        cell = self._cells.get(key)
        if cell is None:
            labels = key if isinstance(key, tuple) else (str(key),)
            cell = self._cells[key] = self._counters.cells((self._name, *map(str, labels)), 1).cast("q")
        cell[0] = value

    def copy(self) -> "Counter[Any]":  # type: ignore[override]
        """Return a plain Counter."""
        return Counter(dict(self))
