"""Which worker takes snapshots of the sizes of topics for the journal: one for all, and another one when it is gone.

It holds a lock on the file of the shared limits, which the kernel releases when the process ends, however it ends. That
file has the time up to which snapshots are written, so that the next worker covers the time since.
"""

from hashlib import blake2b

from bifrost.gateway.peers.snapshot_turn import SnapshotTurn
from bifrost.gateway.workers.shared_limits import SNAPSHOT_LOCK, SharedLimits


class SharedSnapshotTurn(SnapshotTurn):
    """The turn among all workers, as one of them sees it."""

    def __init__(self, shared_limits: SharedLimits) -> None:
        """Use the shared limits; no worker has the turn until one asks."""
        self._shared_limits, self._cells = shared_limits, shared_limits.snapshot_ends()

    def is_mine(self) -> bool:
        """Whether this worker has the turn; it takes the turn if no worker has it."""
        return self._shared_limits.try_to_hold(SNAPSHOT_LOCK)

    def leave(self) -> None:
        """Leave the turn to the other workers."""
        self._shared_limits.let_go(SNAPSHOT_LOCK)

    def last_ms(self, upstream: str) -> int | None:
        """Return the time up to which snapshots of a physical cluster are written; None: never."""
        mark, at = self._place(upstream)
        return self._cells[at + 1] if at is not None and self._cells[at] == mark else None

    def note(self, upstream: str, at_ms: int) -> None:
        """Write that time; only the worker that has the turn writes."""
        mark, at = self._place(upstream)
        if at is not None:
            self._cells[at + 1] = at_ms
            self._cells[at] = mark

    def _place(self, upstream: str) -> tuple[int, int | None]:
        """Return the mark of a physical cluster, and its cell; None: there is no room for more."""
        mark = int.from_bytes(blake2b(upstream.encode(), digest_size=8).digest(), "big", signed=True) or 1
        places = len(self._cells) // 2
        for step in range(places):
            at = (mark + step) % places * 2
            if self._cells[at] in (0, mark):
                return mark, at
        return mark, None
