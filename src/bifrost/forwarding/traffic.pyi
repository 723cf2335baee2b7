"""Counters of a tenant's messages: see traffic.pyx."""

from collections.abc import Callable

DURATION_BOUNDS_S: tuple[float, ...]
"""Upper bounds of the buckets that durations are counted in, in seconds; one more is for those above."""

TRAFFIC_CELLS: int
"""Numbers of 8 bytes that a Traffic counts in: requests, bytes_received, bytes_sent, duration_ns, and the durations."""

MAX_ERROR_CELLS: int
"""Most pairs of an error code and its source that are told apart, the two of OTHER_ERRORS among them: an API has about
ten codes that clients meet, and each is a time series of every tenant."""

OTHER_ERRORS: int
"""Stands for the codes beyond, and for those that Kafka does not have: as an error code this is NONE."""

class Traffic:
    """Counts what one tenant's clients sent and received with one API; sizes are of whole frames, in bytes.

    Args:
        memory: where to count, TRAFFIC_CELLS * 8 writable bytes that another process may read; None: its own.
        new_cell: returns 8 such bytes for an error code and whether the gateway itself gave it; None: its own.
    Raises:
        ValueError: the memory is too small.
    """

    def __init__(
        self,
        memory: memoryview | None = None,
        new_cell: Callable[[int, bool], memoryview] | None = None,
    ) -> None: ...
    @property
    def requests(self) -> int:
        """The number of requests."""

    @property
    def bytes_received(self) -> int:
        """The size of all requests together."""

    @property
    def bytes_sent(self) -> int:
        """The size of all responses together."""

    @property
    def duration_ns(self) -> int:
        """The duration of all requests that a broker answered together, in nanoseconds."""

    @property
    def durations(self) -> tuple[int, ...]:
        """How many requests a broker answered within each of DURATION_BOUNDS_S, and how many took longer."""

    @property
    def errors(self) -> list[tuple[int, bool, int]]:
        """The error codes in answers: the code, whether the gateway itself gave it, and how often."""

    def receive(self, size: int) -> None:
        """Count a request."""

    def send(self, size: int) -> None:
        """Count an answer of the gateway's own."""

    def fail(self, code: int, is_own: bool, times: int = 1) -> None:
        """Count an error code that stands in an answer so many times: one of the gateway's own, or a broker's."""
