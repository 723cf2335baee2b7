"""The open connections of each tenant, and their limits."""

import asyncio
from collections import Counter
from collections.abc import Hashable, Mapping

from bifrost.config.fields.limits import Limits
from bifrost.config.fields.tenant_limits import TenantLimits
from bifrost.forwarding.in_flight_limits import InFlightLimits
from bifrost.forwarding.rooms import Rooms
from bifrost.gateway.brokers.limits_of_tenants import LimitsOfTenants
from bifrost.gateway.clients.connection_shares import shares_of
from bifrost.gateway.peers.elsewhere import Elsewhere, Nowhere
from bifrost.tenancy.recent_records.recent_records import RecentRecords
from bifrost.wire.framer import take_room

_NO_LIMITS = TenantLimits()


class OpenTenants:
    """The authenticated connections, by tenant."""

    def __init__(
        self,
        in_flight_limits: InFlightLimits,
        elsewhere: Elsewhere | None = None,
        hits: Counter[tuple[str, str]] | None = None,
    ) -> None:
        """Start without connections and limits.

        Args:
            in_flight_limits: counts the requests in flight.
            elsewhere: the connections that other processes have of the same tenants.
            hits: counts how often a connection had to wait for room.
        """
        self.rooms = Rooms(lambda call: asyncio.get_running_loop().call_soon(call), hits)
        """Bytes of frames that each tenant may hold in this process."""
        self._in_flight_limits, self._elsewhere = in_flight_limits, elsewhere or Nowhere()
        self._limits: Limits = Limits()
        self._limits_of: Mapping[str, TenantLimits] = {}
        self._open: dict[str, set[Hashable]] = {}
        self._count = 0
        self.shares = shares_of(self._limits, 0)

    def limit(self, limits: Limits, of_tenants: LimitsOfTenants, recent: RecentRecords | None = None) -> None:
        """Set or change the limits of all tenants together and of each tenant, and what is kept of fetched records."""
        self._limits, self._limits_of = limits, of_tenants.each
        self.shares = shares_of(limits, len(self._limits_of))
        self._in_flight_limits.limit(limits.max_in_flight_requests_total, of_tenants.max_in_flight_requests)
        self.rooms.limit(
            limits.max_buffered_bytes_total,
            limits.max_buffered_bytes,
            limits.max_buffered_bytes_unauthenticated,
            of_tenants.max_buffered_bytes,
        )
        if recent is not None:
            recent.limit(limits.max_shared_fetch_bytes_total, limits.max_shared_fetch_bytes)
            recent.spare = lambda: self.rooms.of_all.most - self.rooms.of_all.used
            recent.take_room = lambda tenant, size: take_room(self.rooms.room(tenant), size)

    def admit(self, tenant: str, connection: Hashable) -> bool:
        """Count a new connection, unless the tenant has too many, or the places left are for tenants that have few."""
        of_tenant, shares = self._open.setdefault(tenant, set()), self.shares
        own = self._limits_of.get(tenant, _NO_LIMITS).max_connections
        most = shares.of_tenant if own is None else own
        with self._elsewhere.admission(tenant):
            count = len(of_tenant) + self._elsewhere.count(tenant)
            of_all = shares.of_all_tenants if count < shares.few else shares.common
            if count >= most or self._count + self._elsewhere.count_all() >= of_all:
                return False
            of_tenant.add(connection)
            self._count += 1
            self._elsewhere.note(tenant, len(of_tenant), self._count)
        return True

    def forget(self, tenant: str | None, connection: Hashable) -> None:
        """Stop counting a connection, if it is counted."""
        if tenant in self._open and connection in self._open[tenant]:
            self._open[tenant].discard(connection)
            self._count -= 1
            self._elsewhere.note(tenant, len(self._open[tenant]), self._count)

    def max_request_bytes(self, tenant: str) -> int:
        """Return the size of a tenant's largest request, in bytes."""
        own, all_of = self._limits_of.get(tenant, _NO_LIMITS), self._limits
        room = min(own.max_buffered_bytes or all_of.max_buffered_bytes, all_of.max_buffered_bytes_total)
        # A request that is larger than the room could never be read to its end.
        return min(own.max_request_bytes or all_of.max_request_bytes, all_of.max_request_bytes, room)

    def count(self) -> Counter[str]:
        """Return the number of connections of each tenant."""
        return Counter({tenant: len(of_tenant) for tenant, of_tenant in tuple(self._open.items())})
