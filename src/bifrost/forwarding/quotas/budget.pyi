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
            40 bytes: several gateways have the budget, and this one a share.
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

    @property
    def stretch(self) -> float:
        """How many times as long what is charged takes to pay for, because other gateways have the rest of the rate."""

    def stretch_to(self, stretch: float, now_ns: int) -> None:
        """Have another share: what is owed, or may be used at once, remains the same in bytes or requests.

        Args:
            stretch: what part of the rate this gateway has, as a divisor: at least 1.
            now_ns: the engine's monotonic clock.
        Raises:
            ValueError: the stretch is less than 1.
        """

    def is_full(self, now_ns: int) -> bool:
        """Whether nothing that was charged matters any more: a new budget would be the same."""

def take_used(
    memory: memoryview, first: int, count: int, places: int, width: int, now_ns: int
) -> list[tuple[int, int, int, int]]:
    """Return what was used of the budgets of a table since the last call, without those of which nothing was.

    Args:
        memory: the table of `shared_budgets.py`, numbers of 8 bytes: `count` numbers of places from `first` on, behind
            the room for `places` of them the places themselves.
        first: where the numbers of places begin.
        count: how many there are.
        places: how many there may be.
        width: numbers of each place.
        now_ns: the engine's monotonic clock.
    Returns:
        Number of the place, tag of the budget in the fleet, what was used (nanoseconds of the whole rate; below 0:
        given back), and how long it takes until all is paid, in nanoseconds; 0 or less: there is no debt.
    Raises:
        ValueError: the memory is smaller than that.
    """
