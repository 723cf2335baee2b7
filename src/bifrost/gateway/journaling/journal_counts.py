"""What the metrics tell of the journal."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class JournalCounts:
    """What is known of the journal."""

    dropped: Mapping[tuple[str, str, str], int]
    """Records that were not written, by tenant, kind and reason."""
    folded: Mapping[str, int]
    """How often something found no row of its own, by tenant."""
    written: int
    buffer_bytes: int
    usage_rows: int
    is_up: bool
    """Whether its records are taken, of all workers."""
