"""The limits of tenants, in the forms in which a running gateway looks them up."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bifrost.config.fields.tenant_limits import TenantLimits
from bifrost.config.fields.tenants import Tenant


@dataclass(frozen=True, slots=True)
class LimitsOfTenants:
    """The limits that tenants have of their own, by the tenants' names; None: the tenant has no such limit."""

    each: Mapping[str, TenantLimits]
    max_in_flight_requests: Mapping[str, int | None]
    max_buffered_bytes: Mapping[str, int | None]

    @classmethod
    def of(cls, tenants: Iterable[Tenant]) -> "LimitsOfTenants":
        """Return the limits of these tenants. May run in any thread."""
        each = {one.name: one.limits for one in tenants}
        return cls(
            each,
            {name: one.max_in_flight_requests for name, one in each.items()},
            {name: one.max_buffered_bytes for name, one in each.items()},
        )
