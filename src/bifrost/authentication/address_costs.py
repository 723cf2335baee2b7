"""What the clients of one address have cost before they authenticated: a bucket of tokens for each kind of cost.

Every connection has budgets of its own (unauthenticated_budget.py); this bounds many connections of one address. When a
bucket is empty, no connection is refused: the next connections from the address wait, so that honest clients behind the
same address can still connect (failed_authentications.py).
"""

from dataclasses import dataclass

from bifrost.tenancy.bounded_map import BoundedMap

MAX_ADDRESSES = 10_000
"""Addresses remembered, some 3 MB; one more replaces the one whose last cost is the oldest."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What a connection has cost: requests, bytes, CPU time."""

    requests: int = 0
    nbytes: int = 0
    cpu_ns: int = 0

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(self.requests + other.requests, self.nbytes + other.nbytes, self.cpu_ns + other.cpu_ns)

    def __neg__(self) -> "Cost":
        return Cost(-self.requests, -self.nbytes, -self.cpu_ns)


NO_COST = Cost()

BURST = Cost(requests=5_000, nbytes=8 * 1024 * 1024, cpu_ns=1_000_000_000)
"""What an address may cost at once: a thousand clients that come back after a restart, each with five requests, some
KiB and a millisecond of CPU."""

EACH_S = Cost(requests=500, nbytes=1024 * 1024, cpu_ns=100_000_000)
"""What an address may cost each second without end: a hundred logins, a tenth of a CPU."""


class AddressCosts:
    """The costs of all addresses, in one process."""

    def __init__(self) -> None:
        """Start without costs."""
        self._spent: BoundedMap[str, tuple[Cost, int]] = BoundedMap(MAX_ADDRESSES)

    def charge(self, address: str, cost: Cost, now_ms: int) -> None:
        """Count what an address cost, or by a negative cost take it back; `now_ms` is a monotonic time."""
        total = self._left_of(address, now_ms) + cost
        total = Cost(max(0, total.requests), max(0, total.nbytes), max(0, total.cpu_ns))
        self._spent.put(address, (total, now_ms))

    def delay_ms(self, address: str, now_ms: int) -> int:
        """Return the time after which no bucket of the address is empty any more."""
        spent = self._left_of(address, now_ms)
        return max(
            0,
            (spent.requests - BURST.requests) * 1000 // EACH_S.requests,
            (spent.nbytes - BURST.nbytes) * 1000 // EACH_S.nbytes,
            (spent.cpu_ns - BURST.cpu_ns) * 1000 // EACH_S.cpu_ns,
        )

    def _left_of(self, address: str, now_ms: int) -> Cost:
        """Return the part of the address's costs that its buckets have not made up for yet."""
        spent, then_ms = self._spent.get(address) or (Cost(), now_ms)
        past_ms = now_ms - then_ms
        return Cost(
            max(0, spent.requests - past_ms * EACH_S.requests // 1000),
            max(0, spent.nbytes - past_ms * EACH_S.nbytes // 1000),
            max(0, spent.cpu_ns - past_ms * EACH_S.cpu_ns // 1000),
        )
