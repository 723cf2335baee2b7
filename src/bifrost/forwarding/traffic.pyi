"""Counters of a tenant's messages: see traffic.pyx."""

DURATION_BOUNDS_S: tuple[float, ...]
"""Upper bounds of the buckets that durations are counted in, in seconds; one more is for those above."""

TRAFFIC_CELLS: int
"""Numbers of 8 bytes that a Traffic counts in: requests, bytes_received, bytes_sent, duration_ns, and the durations."""

class Traffic:
    """Counts what one tenant's clients sent and received with one API; sizes are of whole frames, in bytes.

    Args:
        memory: where to count, TRAFFIC_CELLS * 8 writable bytes that another process may read; None: its own.
    Raises:
        ValueError: the memory is too small.
    """

    def __init__(self, memory: memoryview | None = None) -> None: ...
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

    def receive(self, size: int) -> None:
        """Count a request."""

    def send(self, size: int) -> None:
        """Count an answer of the gateway's own."""
