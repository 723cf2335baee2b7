"""Which process takes snapshots of the sizes of topics for the journal: in a gateway of one process it is this one.

With several workers `workers/shared_snapshot_turn.py` is in its place: one of them does it for all.
"""


class SnapshotTurn:
    """The turn to take snapshots, in a gateway of one process."""

    def is_mine(self) -> bool:
        """Whether this process takes the snapshots now; if so, it keeps the turn until `leave`."""
        return True

    def leave(self) -> None:
        """Let another process take them from now on."""

    def last_ms(self, upstream: str) -> int | None:
        """Return up to when other processes wrote snapshots of a cluster, in milliseconds since 1970; None: never."""
        return None

    def note(self, upstream: str, at_ms: int) -> None:
        """Note up to when the snapshots of a physical cluster are written, in milliseconds since 1970."""
