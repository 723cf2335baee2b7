"""Token buckets: see budget.pyx."""

class Budget:
    """What the clients that share a limit have used, and may use.

    Args:
        limit: the name of the limit in the configuration and the metrics (`producer_byte_rate`).
        tenant: whose limit it is.
        ns_per_unit: the time in which the rate allows one unit (a byte, a request), in nanoseconds.
        burst_ns: how much of the rate may be used at once after a pause, in nanoseconds.
        most_ns: the longest debt; what exceeds it is forgiven.
        memory: 8 writable bytes that other processes map which charge the same budget; None: this process alone does.
    Raises:
        ValueError: the rate is not above 0, a bound is negative, or the memory is too small.
    """

    limit: str
    tenant: str
    ns_per_unit: float
    burst_ns: int
    most_ns: int
    waiting: int
    """How many connections wait until a debt here is paid; while there are any, further ones wait behind them."""

    def __init__(
        self,
        limit: str,
        tenant: str,
        ns_per_unit: float,
        burst_ns: int,
        most_ns: int,
        memory: memoryview | bytearray | None = None,
    ) -> None: ...
    def charge(self, units: float, now_ns: int) -> None:
        """Charge so much; below 0 it is given back."""

    def debt_ns(self, now_ns: int) -> int:
        """Return how long it takes until all is paid, in nanoseconds; 0 or less: there is no debt."""

    def is_full(self, now_ns: int) -> bool:
        """Whether nothing that was charged matters any more: a new budget would be the same."""
