"""What a tenant's sessions share for each API: how its messages are treated, which names they get, and their counters.

Lanes live as long as a session has them, because the names belong to a namespace that a reload may replace. The
counters of a tenant and an API live as long as the gateway.
"""

from collections.abc import Callable, Iterator
from weakref import WeakValueDictionary

from bifrost.filters.plan import Plans
from bifrost.forwarding.gateway_time import GatewayTime
from bifrost.forwarding.in_flight_limits import InFlightLimits
from bifrost.forwarding.lane import Lane
from bifrost.forwarding.lane_names import LaneNames
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
        new_gateway_time: Callable[[str], GatewayTime] = lambda tenant: GatewayTime(),
    ) -> None:
        """Begin without lanes. There are at most tenants times served APIs counters, and one more for each tenant.

        Args:
            plans: what happens to each message.
            in_flight_limits: limits the requests of each tenant.
            new_traffic: makes the counters of a tenant and an API.
            new_gateway_time: makes the counters of how long a tenant's messages are kept.
        """
        self._plans, self._new_traffic, self._new_gateway_time = plans, new_traffic, new_gateway_time
        self.in_flight_limits = in_flight_limits
        self._tables: WeakValueDictionary[tuple[str, LaneNames], LaneTable] = WeakValueDictionary()
        self._traffic: dict[tuple[str, int | None], Traffic] = {}
        self._gateway_times: dict[str, GatewayTime] = {}

    def table(self, tenant: str, names: LaneNames) -> "LaneTable":
        """Return the lanes on which a tenant's messages get these names: one object for all sessions."""
        table = self._tables.get((tenant, names))
        if table is None:
            table = self._tables[tenant, names] = LaneTable(self, tenant, names)
        return table

    def new_lane(self, tenant: str, names: LaneNames, api_key: int, api_version: int) -> Lane | None:
        """Make the lane of an API and version; None when such requests are refused."""
        plans = self._plans if names.guard is None else self._plans.guarded
        plan = plans.plan_for(api_key, api_version)
        if plan is None:
            return None
        if names.records is not None:
            plan = names.records.plan(plan)
        if names.virtual is not None:
            plan = names.virtual.plan(plan)
        load = self.in_flight_limits.load(tenant)
        return Lane(plan, self.traffic(tenant, api_key), load, names.of_api(api_key))

    def traffic(self, tenant: str, api_key: int | None) -> Traffic:
        """Return the counters of a tenant and an API; None stands for all APIs that are not served."""
        traffic = self._traffic.get((tenant, api_key))
        if traffic is None:
            traffic = self._traffic[tenant, api_key] = self._new_traffic(tenant, api_key)
        return traffic

    def gateway_time(self, tenant: str) -> GatewayTime:
        """Return the counters of how long a tenant's messages are kept."""
        found = self._gateway_times.get(tenant)
        if found is None:
            found = self._gateway_times[tenant] = self._new_gateway_time(tenant)
        return found

    def gateway_times(self) -> Iterator[tuple[str, GatewayTime]]:
        """Yield each tenant that has connected, with how long its messages were kept."""
        yield from list(self._gateway_times.items())

    def __iter__(self) -> Iterator[tuple[str, int | None, Traffic]]:
        """Yield the tenant, API key and counters of each pair that was used."""
        for key in list(self._traffic):  # To copy the items as well would take ten times as long.
            yield *key, self._traffic[key]


class LaneTable:
    """The lanes of one tenant's messages that get the same names, made when first needed."""

    __slots__ = ("__weakref__", "_known", "_lanes", "_tenant", "names")

    def __init__(self, lanes: Lanes, tenant: str, names: LaneNames) -> None:
        """Begin without lanes; `lanes` makes them."""
        self._lanes, self._tenant, self.names = lanes, tenant, names
        self._known: dict[tuple[int, int], Lane] = {}

    def lane(self, api_key: int, api_version: int) -> Lane | None:
        """Return the lane of an API and version, or None when such requests are refused."""
        lane = self._known.get((api_key, api_version))
        if lane is None:
            lane = self._lanes.new_lane(self._tenant, self.names, api_key, api_version)
            if lane is not None:
                self._known[api_key, api_version] = lane
        return lane
