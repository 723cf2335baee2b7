"""The state's counts for the metrics."""

from collections.abc import Mapping
from dataclasses import dataclass, field

KIND = "kind:"
"""Before the name of a kind, in the names of a worker's numbers."""


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
    waiting: int = 0
    """Changes that wait or are being written, of clients of all workers."""
    changes: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """Changes that clients asked for, by tenant and outcome; the sum of all workers."""
    attempts: Mapping[str, int] = field(default_factory=dict)
    """Attempts to write a change, by how they ended; the sum of all workers."""
    change_s: float = 0.0
    """How long clients waited for changes, in seconds, added up."""
    kinds: Mapping[str, int] = field(default_factory=dict)
    """Keys of each kind, such as `acl`, without those of deleted records; the most of any worker."""
