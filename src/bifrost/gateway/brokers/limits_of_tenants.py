"""The limits of tenants, in the forms in which a running gateway looks them up."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bifrost.config.fields.tenant_limits import TenantLimits
from bifrost.config.fields.tenants import Tenant


@dataclass(frozen=True, slots=True)
class LimitsOfTenants:
    """The limits that tenants have of their own, by the tenants' names."""

    each: Mapping[str, TenantLimits]
    max_in_flight_requests: Mapping[str, int]
    """Of the tenants that have such a limit."""
    max_buffered_bytes: Mapping[str, int]
    """Likewise."""

    @classmethod
    def of(cls, tenants: Iterable[Tenant]) -> "LimitsOfTenants":
        """Return the limits of these tenants. May run in any thread."""
        each = {one.name: one.limits for one in tenants}
        return cls(
            each,
            {name: found for name, one in each.items() if (found := one.max_in_flight_requests) is not None},
            {name: found for name, one in each.items() if (found := one.max_buffered_bytes) is not None},
        )
