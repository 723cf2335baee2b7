"""Who looks at the sizes of topics for the journal: one worker for all, and another one when it is gone.

It holds a lock on the board's file, which the kernel takes from a process that ends, however it ends. Up to when looks
are written stands on the board, so that whoever looks next covers the time since.
"""

from hashlib import blake2b

from bifrost.gateway.peers.snapshot_turn import SnapshotTurn
from bifrost.gateway.workers.shared_limits import LOOKING, SharedLimits


class SharedSnapshotTurn(SnapshotTurn):
    """Those of all workers, as one of them sees them."""

    def __init__(self, board: SharedLimits) -> None:
        """Look at the board; the turn is nobody's until one asks."""
        self._board, self._cells = board, board.looks()

    def is_mine(self) -> bool:
        """Whether this worker has the turn, or takes it because nobody has."""
        return self._board.try_to_hold(LOOKING)

    def leave(self) -> None:
        """Let the others have it."""
        self._board.let_go(LOOKING)

    def last_ms(self, upstream: str) -> int | None:
        """Return what stands on the board."""
        mark, at = self._place(upstream)
        return self._cells[at + 1] if at is not None and self._cells[at] == mark else None

    def note(self, upstream: str, at_ms: int) -> None:
        """Write it there; only who has the turn does, so nobody else writes meanwhile."""
        mark, at = self._place(upstream)
        if at is not None:
            self._cells[at + 1] = at_ms
            self._cells[at] = mark

    def _place(self, upstream: str) -> tuple[int, int | None]:
        """Return what stands for a physical cluster, and where it does or would; None: there is no room for more."""
        mark = int.from_bytes(blake2b(upstream.encode(), digest_size=8).digest(), "big", signed=True) or 1
        places = len(self._cells) // 2
        for step in range(places):
            at = (mark + step) % places * 2
            if self._cells[at] in (0, mark):
                return mark, at
        return mark, None
