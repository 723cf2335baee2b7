"""The outcome of a reload, for the log, the metrics, the operator's port and the journal."""

from enum import StrEnum


class Outcome(StrEnum):
    """The outcome of a reload."""

    APPLIED = "applied"
    UNCHANGED = "unchanged"
    REFUSED = "refused"
