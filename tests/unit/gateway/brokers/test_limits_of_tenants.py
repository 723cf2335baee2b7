"""The limits of tenants, as a gateway looks them up."""

from bifrost.config.fields.tenant_limits import TenantLimits
from bifrost.config.fields.tenants import Tenant
from bifrost.gateway.brokers.limits_of_tenants import LimitsOfTenants


def test_limits_are_those_of_the_tenants_that_have_some() -> None:
    own = TenantLimits(max_in_flight_requests=3, max_buffered_bytes=2**20)
    found = LimitsOfTenants.of([Tenant(name="acme", limits=own), Tenant(name="globex")])

    assert found.each == {"acme": own, "globex": TenantLimits()}
    assert found.max_in_flight_requests == {"acme": 3}
    assert found.max_buffered_bytes == {"acme": 2**20}
