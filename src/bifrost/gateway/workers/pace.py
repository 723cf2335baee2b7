"""How soon a worker is started again: at once if it had served for a while, else after longer and longer times."""

FIRST_DELAY_S, LAST_DELAY_S = 0.5, 30.0

SERVED_WELL_S = 30.0
"""Time after which an end is a new misfortune, not the last one again."""

MAX_FAILED_STARTS = 5
"""Starts in a row that end before any worker of the gateway ever served: then the gateway gives up."""


class RestartPace:
    """Of the workers in one place."""

    def __init__(self) -> None:
        """Begin without a misfortune."""
        self.failures = 0
        """How many ended soon, one after the other."""

    def delay_s(self, served_s: float) -> float:
        """Return the time to wait before the next start, in seconds.

        Args:
            served_s: time that the one that has ended served, in seconds; 0 if it never did.
        """
        if served_s >= SERVED_WELL_S:
            self.failures = 0
            return 0.0
        self.failures += 1
        # The first one that dies is replaced at once: its clients are coming back.
        if self.failures == 1 and served_s > 0:
            return 0.0
        return float(min(FIRST_DELAY_S * 2 ** min(self.failures - 1, 10), LAST_DELAY_S))
