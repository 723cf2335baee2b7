"""The journal's counts for the metrics."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class JournalCounts:
    """The counts and the state of the journal."""

    dropped: Mapping[tuple[str, str, str], int]
    """Records that were not written, by tenant, kind and reason."""
    folded: Mapping[str, int]
    """How often usage found no row of its own, by tenant."""
    written: int
    buffer_bytes: int
    usage_rows: int
    is_up: bool
    """Whether the brokers accept the records of all workers."""
