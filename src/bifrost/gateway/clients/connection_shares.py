"""How the connections of a gateway are divided: a limit that `proxy.limits` leaves out is a part of `max_connections`.

    max_connections ──┬── for clients that are just authenticating
                      └── for tenants ──┬── common: in order of origin, each tenant up to its share
                                        └── reserve: only for tenants that have few

A tenant that has fewer than `reserved_connections_per_tenant` may use the reserve as well. So no other tenant keeps it
out, as long as the reserve has that many for each tenant.
"""

from dataclasses import dataclass

from bifrost.config.fields.limits import Limits

FEWEST_TO_DIVIDE = 100
"""Fewer connections than this in all are not divided: the parts would be too small to be of use."""

_LARGEST_RESERVE = 4
"""The reserve is a quarter of all connections at most: with thousands of tenants it would be all of them."""


@dataclass(frozen=True, slots=True)
class ConnectionShares:
    """Numbers of connections."""

    of_tenant: int
    """Connections of one tenant without a limit of its own."""
    of_all_tenants: int
    common: int
    """Connections of all tenants together up to which a tenant that already has `few` may get another."""
    few: int
    unauthenticated: int
    unauthenticated_of_address: int


def shares_of(limits: Limits, tenants: int, workers: int = 1) -> ConnectionShares:
    """Divide the connections of a gateway.

    Args:
        limits: the gateway's limits.
        tenants: number of tenants.
        workers: number of worker processes; each gets its part of the places for unauthenticated clients.
    """
    most, few = limits.max_connections, limits.reserved_connections_per_tenant
    is_divided = most >= FEWEST_TO_DIVIDE
    unauthenticated = limits.max_unauthenticated_connections or (most // 10 if is_divided else most)
    of_address = limits.max_unauthenticated_connections_per_address or (
        unauthenticated // 2 if is_divided else unauthenticated
    )
    of_all_tenants = max(most - unauthenticated, most // 2) if is_divided else most
    reserve = min(tenants * few, most // _LARGEST_RESERVE) if is_divided and tenants > 1 else 0
    of_tenant = limits.max_connections_per_tenant or (most // 2 if is_divided and tenants > 1 else most)
    return ConnectionShares(
        of_tenant,
        of_all_tenants,
        of_all_tenants - reserve,
        few,
        max(unauthenticated // workers, 1),
        max(of_address // workers, 1),
    )
