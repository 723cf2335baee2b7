"""Memory that all workers of a gateway see: each writes its own row and reads those of the others.

    row of worker 0 │ row of worker 1 │ … │ marks of fetch sessions, which all write │ looks at physical clusters
    each: its pulse │ failed authentications │ tenants: (in flight, waiting, connections, -) each

Every number has 8 bytes and is written whole, so nobody needs a lock to read one. It is a file without a name: of what
nobody has used there is no memory.
"""

import fcntl
import mmap
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from bifrost.gateway.loop.loop_stalls import MARK_CELLS

MAX_TENANTS = 131_072
"""Tenants that there may have been while a gateway runs, those that a reload removed among them."""

FAILURE_PLACES = 16_384
"""Addresses whose failed authentications are remembered, in each worker's row: 384 KiB."""

FETCH_PLACES = 262_144
"""Fetch sessions whose owner is remembered, 2 MiB: so many that two of some thousands seldom meet in one place."""

LOOK_PLACES = 256
"""Physical clusters of which it is remembered when the journal looked at them last, 4 KiB."""

PULSE_CELLS, FAILURE_CELLS, TENANT_CELLS = 64, FAILURE_PLACES * 3, 4
ROW_CELLS = PULSE_CELLS + FAILURE_CELLS + MAX_TENANTS * TENANT_CELLS
IN_FLIGHT, WAITING, CONNECTIONS = range(3)

BEAT_MS, TAKEN, GONE, IS_READY, SPARE_BYTES, BUFFERED_BYTES = range(6)
"""A pulse: when the worker's loop last turned (monotonic clock), how many connections it took over, and how many of
them are gone, whether it can serve clients, how much memory it keeps for frames to come, and how many bytes of frames
it holds."""

STALL_MARKS = 8
"""From this cell of a pulse on stands how long the worker's loop stood still: see `loop_stalls.py`."""

WHOLE, FIRST_TENANT = 0, 1
"""The place of all tenants together, and that of the first one."""

LOOKING = MAX_TENANTS
"""What the worker holds that looks at the sizes of topics for the journal; below it are the places of tenants."""


class SharedLimits:
    """That memory, as one process sees it."""

    def __init__(self, fd: int, workers: int) -> None:
        """Map the file; it stays open for as long as this lives."""
        self._fd, self.workers = fd, workers
        self._memory = memoryview(mmap.mmap(fd, size_of(workers)))
        self._cells = self._memory.cast("q")

    @classmethod
    def create(cls, workers: int) -> "SharedLimits":
        """Make a new one, of nothing but zeros."""
        fd = os.memfd_create("bifrost-board", os.MFD_CLOEXEC)
        os.ftruncate(fd, size_of(workers))
        return cls(fd, workers)

    @property
    def fd(self) -> int:
        """The file's descriptor."""
        return self._fd

    def pulse(self, worker: int) -> "memoryview[int]":
        """Return a worker's pulse."""
        start = worker * ROW_CELLS
        return self._cells[start : start + PULSE_CELLS]

    def stall_marks(self, worker: int) -> "memoryview[int]":
        """Return where a worker notes the longest stalls of its event loop."""
        return self.pulse(worker)[STALL_MARKS : STALL_MARKS + MARK_CELLS]

    def failures(self) -> "list[memoryview[int]]":
        """Return where each worker remembers failed authentications."""
        starts = [worker * ROW_CELLS + PULSE_CELLS for worker in range(self.workers)]
        return [self._cells[start : start + FAILURE_CELLS] for start in starts]

    def fetch_marks(self) -> "memoryview[int]":
        """Return where owners of fetch sessions are remembered: unsigned numbers."""
        start = self.workers * ROW_CELLS * 8
        return self._memory[start : start + FETCH_PLACES * 8].cast("Q")

    def looks(self) -> "memoryview[int]":
        """Return where it stands which physical cluster was looked at when: two numbers for each."""
        return self._cells[self.workers * ROW_CELLS + FETCH_PLACES :]

    def load_share(self, place: int, worker: int) -> tuple[memoryview, int, int, int]:
        """Return a tenant's requests in flight as the engine's `Load` takes them."""
        start = _tenant_at(0, place)
        end = _tenant_at(self.workers - 1, place) + TENANT_CELLS
        return self._memory[start * 8 : end * 8], ROW_CELLS, self.workers, worker

    def tenant(self, worker: int, place: int) -> tuple[int, ...]:
        """Return a tenant's numbers in a worker's row."""
        start = _tenant_at(worker, place)
        return tuple(self._cells[start : start + TENANT_CELLS])

    def note_connections(self, worker: int, place: int, count: int) -> None:
        """Write how many connections a tenant has in a worker."""
        self._cells[_tenant_at(worker, place) + CONNECTIONS] = count

    def connections(self, place: int) -> Iterator[int]:
        """Yield how many connections a tenant has in each worker."""
        for worker in range(self.workers):
            yield self._cells[_tenant_at(worker, place) + CONNECTIONS]

    def clear(self, worker: int, places: int) -> None:
        """Take out what a worker that is gone had open; what it remembered stays.

        Args:
            worker: which.
            places: how many there are, from the first on.
        """
        start = _tenant_at(worker, 0)
        self._cells[start : start + places * TENANT_CELLS] = memoryview(
            bytes(places * TENANT_CELLS * 8)
        ).cast("q")
        self.pulse(worker)[:] = memoryview(bytes(PULSE_CELLS * 8)).cast("q")

    @contextmanager
    def locked(self, place: int) -> Iterator[None]:
        """Let no other worker in for the same tenant; whoever dies holds it no more."""
        fcntl.lockf(self._fd, fcntl.LOCK_EX, 1, place)
        try:
            yield
        finally:
            fcntl.lockf(self._fd, fcntl.LOCK_UN, 1, place)

    def try_to_hold(self, what: int) -> bool:
        """Hold something alone until `let_go` or the end of this process; False: another process holds it."""
        try:
            fcntl.lockf(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, what)
        except (BlockingIOError, PermissionError):  # POSIX lets a system say either.
            return False
        return True

    def let_go(self, what: int) -> None:
        """Hold it no more, if it was held."""
        fcntl.lockf(self._fd, fcntl.LOCK_UN, 1, what)


class Places:
    """Which place each tenant has: the same for as long as the gateway lives, whatever tenants come and go."""

    def __init__(self) -> None:
        """Give none yet."""
        self.by_tenant: dict[str, int] = {}

    def __len__(self) -> int:
        return FIRST_TENANT + len(self.by_tenant)

    def add(self, tenants: Iterator[str]) -> None:
        """Give places to those that have none.

        Raises:
            ValueError: there are no more.
        """
        new = [one for one in dict.fromkeys(tenants) if one not in self.by_tenant]
        if len(self) + len(new) > MAX_TENANTS:
            raise ValueError(f"more than {MAX_TENANTS} tenants since the gateway was started: restart it")
        for tenant in new:
            self.by_tenant[tenant] = len(self)

    def take(self, by_tenant: Mapping[str, int]) -> None:
        """Learn places that another process has given."""
        self.by_tenant.update(by_tenant)


def size_of(workers: int) -> int:
    """Return the size of the file, in bytes."""
    return (workers * ROW_CELLS + FETCH_PLACES + 2 * LOOK_PLACES) * 8


def _tenant_at(worker: int, place: int) -> int:
    return worker * ROW_CELLS + PULSE_CELLS + FAILURE_CELLS + place * TENANT_CELLS
