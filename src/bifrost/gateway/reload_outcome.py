"""What came of a reload: told by the log, the metrics, the operator's port and the journal."""

from enum import StrEnum


class Outcome(StrEnum):
    """What came of a reload."""

    APPLIED = "applied"
    UNCHANGED = "unchanged"
    REFUSED = "refused"
