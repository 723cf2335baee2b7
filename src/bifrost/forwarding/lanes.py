"""What a tenant's sessions share for each API: how its messages are treated, and their counters."""

from collections.abc import Callable, Iterator

from bifrost.filters.plan import Plans
from bifrost.forwarding.in_flight_limits import InFlightLimits
from bifrost.forwarding.lane import Lane
from bifrost.forwarding.traffic import Traffic

NO_TENANT = ""
"""Stands for clients that have not authenticated yet."""


class Lanes:
    """The lanes of a gateway, made when first needed."""

    def __init__(
        self,
        plans: Plans,
        in_flight_limits: InFlightLimits,
        new_traffic: Callable[[str, int | None], Traffic] = lambda tenant, api_key: Traffic(),
    ) -> None:
        """Begin without lanes. There are at most tenants times served APIs counters, and one more for each tenant.

        Args:
            plans: what happens to each message.
            in_flight_limits: limits the requests of each tenant.
            new_traffic: makes the counters of a tenant and an API.
        """
        self._plans, self._new_traffic = plans, new_traffic
        self.in_flight_limits = in_flight_limits
        self._lanes: dict[tuple[str, int, int], Lane] = {}
        self._traffic: dict[tuple[str, int | None], Traffic] = {}

    def lane(self, tenant: str, api_key: int, api_version: int) -> Lane | None:
        """Return the lane of an API and version, or None when such requests are refused."""
        key = (tenant, api_key, api_version)
        lane = self._lanes.get(key)
        if lane is None:
            plan = self._plans.plan_for(api_key, api_version)
            if plan is None:
                return None
            lane = self._lanes[key] = Lane(
                plan, self.traffic(tenant, api_key), self.in_flight_limits.load(tenant)
            )
        return lane

    def traffic(self, tenant: str, api_key: int | None) -> Traffic:
        """Return the counters of a tenant and an API; None stands for all APIs that are not served."""
        traffic = self._traffic.get((tenant, api_key))
        if traffic is None:
            traffic = self._traffic[tenant, api_key] = self._new_traffic(tenant, api_key)
        return traffic

    def __iter__(self) -> Iterator[tuple[str, int | None, Traffic]]:
        """Yield the tenant, API key and counters of each pair that was used."""
        for (tenant, api_key), traffic in list(self._traffic.items()):
            yield tenant, api_key, traffic
