"""The state's counts for the metrics."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StateCounts:
    """The counts and the size of the state, of one process or of all workers."""

    records: int
    """Keys, with those of deleted records that are not purged yet; the most of any worker."""
    size: int
    """Their bytes; the most of any worker."""
    lag: int
    """Offsets to the end of the topic; the most of any worker."""
    is_up: bool
    """Whether all workers have read the state to its end, and read on."""
    ignored: int
    """Records that were older than what was known; the sum of all workers."""
