"""Memory that all workers of a gateway share: each worker writes its own row and reads those of the others.

    row of worker 0 │ row of worker 1 │ … │ marks of fetch sessions, which all write │ snapshots of physical clusters │
    budgets of quotas
    each: its pulse │ failed authentications │ tenants: (in flight, waiting, connections, -) each

Every number has 8 bytes and is written whole, so a worker needs no lock to read one. The memory is a file without a
name, so parts that no worker has used take no memory.
"""

import fcntl
import mmap
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from bifrost.forwarding.quotas.shared_budgets import cells_of
from bifrost.gateway.loop.loop_stalls import MARK_CELLS

MAX_TENANTS = 131_072
"""Tenants that a gateway may have had since its start, with those that a reload has removed."""

FAILURE_PLACES = 16_384
"""Addresses whose failed authentications are remembered, in each worker's row: 384 KiB."""

FETCH_PLACES = 262_144
"""Fetch sessions whose owner is remembered, 2 MiB: so many that among thousands two rarely share one place."""

SNAPSHOT_PLACES = 256
"""Physical clusters for which the time of the journal's last snapshot is remembered, 4 KiB."""

BUDGET_PLACES = 65_536
"""Budgets of quotas that workers share, 4.5 MiB if all are in use: one for each user or client ID that has a quota."""

PULSE_CELLS, FAILURE_CELLS, TENANT_CELLS = 64, FAILURE_PLACES * 3, 4
ROW_CELLS = PULSE_CELLS + FAILURE_CELLS + MAX_TENANTS * TENANT_CELLS
IN_FLIGHT, WAITING, CONNECTIONS = range(3)

BEAT_MS, TAKEN, GONE, IS_READY, SPARE_BYTES, BUFFERED_BYTES = range(6)
"""A pulse: when the worker's loop last turned (monotonic clock), how many connections it took over, and how many of
them are gone, whether it can serve clients, how much memory it keeps for frames to come, and how many bytes of frames
it holds."""

STALL_MARKS = 8
"""First cell of a pulse with the longest stalls of the worker's loop: see `loop_stalls.py`."""

ALL_TENANTS, FIRST_TENANT = 0, 1
"""The place of all tenants together, and that of the first one."""

SNAPSHOT_LOCK = MAX_TENANTS
"""Lock of the worker that takes the journal's snapshots of topics; lower numbers are the places of tenants."""


BUDGET_LOCK = MAX_TENANTS + 1
"""Lock of the worker that looks for the place of a budget."""

EXCHANGE_LOCK = MAX_TENANTS + 2
"""Lock of the worker that exchanges the use of budgets with other gateways, and looks after offsets."""


class SharedLimits:
    """The shared memory, as one process sees it."""

    def __init__(self, fd: int, workers: int) -> None:
        """Map the file, which stays open for as long as this object exists."""
        self._fd, self.workers = fd, workers
        self._memory = memoryview(mmap.mmap(fd, size_of(workers)))
        self._cells = self._memory.cast("q")

    @classmethod
    def create(cls, workers: int) -> "SharedLimits":
        """Create new memory, filled with zeros."""
        fd = os.memfd_create("bifrost-limits", os.MFD_CLOEXEC)
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
        """Return the memory in which each worker remembers failed authentications."""
        starts = [worker * ROW_CELLS + PULSE_CELLS for worker in range(self.workers)]
        return [self._cells[start : start + FAILURE_CELLS] for start in starts]

    def fetch_marks(self) -> "memoryview[int]":
        """Return the memory of the fetch sessions' owners: unsigned numbers."""
        start = self.workers * ROW_CELLS * 8
        return self._memory[start : start + FETCH_PLACES * 8].cast("Q")

    def snapshot_ends(self) -> "memoryview[int]":
        """Return the memory of when the last snapshot of each physical cluster was taken: two numbers for each."""
        start = self.workers * ROW_CELLS + FETCH_PLACES
        return self._cells[start : start + 2 * SNAPSHOT_PLACES]

    def budgets(self) -> memoryview:
        """Return the memory of the budgets of quotas: see `shared_budgets.py`."""
        return self._memory[(self.workers * ROW_CELLS + FETCH_PLACES + 2 * SNAPSHOT_PLACES) * 8 :]

    def load_share(self, place: int, worker: int) -> tuple[memoryview, int, int, int]:
        """Return a tenant's requests in flight in the form that the engine's `Load` expects."""
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
        """Clear the requests and connections of a worker that is gone; the failures that it remembered stay.

        Args:
            worker: number of the worker.
            places: number of tenants' places, from the first one on.
        """
        start = _tenant_at(worker, 0)
        self._cells[start : start + places * TENANT_CELLS] = memoryview(
            bytes(places * TENANT_CELLS * 8)
        ).cast("q")
        self.pulse(worker)[:] = memoryview(bytes(PULSE_CELLS * 8)).cast("q")

    @contextmanager
    def locked(self, place: int) -> Iterator[None]:
        """Hold the lock of a place inside; the kernel releases it if the worker dies."""
        fcntl.lockf(self._fd, fcntl.LOCK_EX, 1, place)
        try:
            yield
        finally:
            fcntl.lockf(self._fd, fcntl.LOCK_UN, 1, place)

    def try_to_hold(self, what: int) -> bool:
        """Try to hold a lock until `let_go` or the end of this process; return False if another process holds it."""
        try:
            fcntl.lockf(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, what)
        except (BlockingIOError, PermissionError):  # POSIX allows either error.
            return False
        return True

    def let_go(self, what: int) -> None:
        """Release a lock, if it is held."""
        fcntl.lockf(self._fd, fcntl.LOCK_UN, 1, what)


class Places:
    """The place of each tenant, which stays the same while the gateway runs, whatever tenants come and go."""

    def __init__(self) -> None:
        """Start without places."""
        self.by_tenant: dict[str, int] = {}

    def __len__(self) -> int:
        return FIRST_TENANT + len(self.by_tenant)

    def add(self, tenants: Iterator[str]) -> None:
        """Give places to tenants that have none.

        Raises:
            ValueError: there are no more places.
        """
        new = [one for one in dict.fromkeys(tenants) if one not in self.by_tenant]
        if len(self) + len(new) > MAX_TENANTS:
            raise ValueError(f"more than {MAX_TENANTS} tenants since the gateway was started: restart it")
        for tenant in new:
            self.by_tenant[tenant] = len(self)

    def take(self, by_tenant: Mapping[str, int]) -> None:
        """Take over the places that another process has given."""
        self.by_tenant.update(by_tenant)


def size_of(workers: int) -> int:
    """Return the size of the file, in bytes."""
    return (workers * ROW_CELLS + FETCH_PLACES + 2 * SNAPSHOT_PLACES + cells_of(BUDGET_PLACES)) * 8


def _tenant_at(worker: int, place: int) -> int:
    return worker * ROW_CELLS + PULSE_CELLS + FAILURE_CELLS + place * TENANT_CELLS
