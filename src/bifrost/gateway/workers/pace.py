"""How soon a worker is started again: at once if it had served for a while, otherwise after growing delays."""

FIRST_DELAY_S, LAST_DELAY_S = 0.5, 30.0

SERVED_WELL_S = 30.0
"""Time of service after which an end counts as a new failure, not as a repeated one."""

MAX_FAILED_STARTS = 5
"""The gateway gives up after this many starts in a row, if no worker has ever served."""


class RestartPace:
    """The pace of restarts of the workers in one place."""

    def __init__(self) -> None:
        """Start without failures."""
        self.failures = 0
        """Number of workers in a row that ended soon."""

    def delay_s(self, served_s: float) -> float:
        """Return the time to wait before the next start, in seconds.

        Args:
            served_s: time that the ended worker served, in seconds; 0 if it never did.
        """
        if served_s >= SERVED_WELL_S:
            self.failures = 0
            return 0.0
        self.failures += 1
        # The first one that dies is replaced at once, because its clients reconnect.
        if self.failures == 1 and served_s > 0:
            return 0.0
        return float(min(FIRST_DELAY_S * 2 ** min(self.failures - 1, 10), LAST_DELAY_S))
