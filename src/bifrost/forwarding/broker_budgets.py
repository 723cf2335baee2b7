"""Limits how much of the brokers' time each tenant's requests take while other tenants are active.

Requests that are small for the gateway may be costly for a broker, and a broker that is busy with one tenant's requests
keeps all others waiting. The engine charges each request that it sends on what it costs a broker, about
(`broker_costs.py`), to what the tenant has left (`Load.broker_left_ns`). Here that is filled again, from time to time:

    fills with    `percent` of the time that passes, for each broker of the tenant's cluster
    holds         at most what BURST_NS bring
    at zero       the next request waits until some is there again, like one that finds too many in flight

A tenant that is alone has no such limit.
"""

from collections.abc import Callable, Iterable

from bifrost.forwarding.in_flight_limits import InFlightLimits
from bifrost.forwarding.load import UNLIMITED_NS, Load
from bifrost.forwarding.shares import Shares

BURST_NS = 20_000_000
"""A tenant may use its share of this time at once, 20 ms: longer, and another tenant's requests would feel it. It is as
long as the time between two looks (`time_budgets.LOOK_EVERY_NS`), so that none of a share is lost."""

MOST_OWED_NS = 1_000_000_000
"""However much one request costs, no tenant waits longer than its share takes to bring this, 1 s of a broker."""


class BrokerBudgets:
    """What each tenant has left of the brokers' time."""

    def __init__(self, in_flight_limits: InFlightLimits, brokers_of: Callable[[str], int]) -> None:
        """Begin without limits.

        Args:
            in_flight_limits: of the tenants; a tenant that has nothing left waits there.
            brokers_of: returns the number of brokers in a tenant's cluster.
        """
        self._in_flight_limits, self._brokers_of = in_flight_limits, brokers_of
        self._shares = Shares()
        self._short: dict[Load, None] = {}
        """Who waits to be filled."""

    @property
    def is_short(self) -> bool:
        """Whether a tenant still has nothing left, so that it has to be filled again soon."""
        return bool(self._short)

    def limit(self, shares: Shares) -> None:
        """Set the shares, or change them: percent of one core of each broker; 0 stands for no limit.

        They hold from the next time on that tenants' time is filled."""
        self._shares = shares

    def note_short(self, load: Load) -> None:
        """Fill what a tenant has left also if it spends nothing before: all its connections may be waiting."""
        self._short[load] = None

    def fill(self, spenders: Iterable[Load], elapsed_ns: int, *, is_shared: bool) -> None:
        """Fill what tenants have left after `elapsed_ns`.

        Args:
            spenders: tenants that were active in that time.
            elapsed_ns: the time since the last call.
            is_shared: whether more than one tenant is active.
        """
        short, self._short = self._short, {}
        for load in {**dict.fromkeys(spenders), **short}:
            was_short = load.broker_left_ns <= 0
            rate = self._rate(load) if is_shared else 0.0
            load.broker_left_ns = _filled(load.broker_left_ns, rate, elapsed_ns) if rate else UNLIMITED_NS
            if load.broker_left_ns <= 0:
                self._short[load] = None
            elif was_short:
                self._in_flight_limits.have_turns(load)

    def _rate(self, load: Load) -> float:
        """Return how much of the brokers' time a tenant may use, in cores."""
        tenant = self._in_flight_limits.tenant_of(load)
        return self._shares.of(tenant) * self._brokers_of(tenant) / 100


def _filled(left_ns: int, rate: float, elapsed_ns: int) -> int:
    return min(max(left_ns, -int(MOST_OWED_NS * rate)) + int(rate * elapsed_ns), int(rate * BURST_NS))
