"""Which process looks at the sizes of topics for the journal: in a gateway of one process it is this one.

With several workers `workers/shared_snapshot_turn.py` is in its place: one of them looks for all.
"""


class SnapshotTurn:
    """The turn to look, in a gateway of one process."""

    def is_mine(self) -> bool:
        """Whether this process looks now; if so, it keeps the turn until `leave`."""
        return True

    def leave(self) -> None:
        """Let another process look from now on."""

    def last_ms(self, upstream: str) -> int | None:
        """Return up to when other processes have looked at a cluster, in milliseconds since 1970; None: never."""
        return None

    def note(self, upstream: str, at_ms: int) -> None:
        """Note up to when the looks at a physical cluster are written, in milliseconds since 1970."""
