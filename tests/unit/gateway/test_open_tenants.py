from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from bifrost.config.limits import Limits
from bifrost.config.tenant_limits import TenantLimits
from bifrost.config.tenants import Tenant
from bifrost.gateway.open_tenants import OpenTenants, limit_of
from bifrost.session.close_reason import CloseReason
from bifrost.session.loads import Loads


def limited(**limits: TenantLimits) -> list[Tenant]:
    return [Tenant(name=name, limits=one) for name, one in limits.items()]


def tenants(**limits: TenantLimits) -> OpenTenants:
    opened = OpenTenants(Loads(print))
    opened.limit(Limits(max_request_bytes=5000), limited(**limits))
    return opened


def test_a_tenant_has_as_many_as_it_may_and_another_is_not_concerned() -> None:
    opened = tenants(acme=TenantLimits(max_connections=2))

    assert [opened.admit("acme", number) for number in range(3)] == [True, True, False]
    assert all(opened.admit("globex", number) for number in range(10, 30))
    assert opened.count() == {"acme": 2, "globex": 20}


def test_who_goes_makes_room_and_who_was_refused_does_not() -> None:
    opened = tenants(acme=TenantLimits(max_connections=1))
    assert [opened.admit("acme", number) for number in (1, 2)] == [True, False]

    opened.forget("acme", 2)
    opened.forget(None, 3)
    opened.forget("globex", 4)
    assert not opened.admit("acme", 2)
    opened.forget("acme", 1)

    assert opened.admit("acme", 2)


def test_limits_may_change() -> None:
    opened = tenants(acme=TenantLimits(max_connections=1))
    assert opened.admit("acme", 1)

    opened.limit(Limits(), limited(acme=TenantLimits(max_connections=2)))

    assert [opened.admit("acme", number) for number in (2, 3)] == [True, False]


@pytest.mark.parametrize(("own", "most"), [(None, 5000), (2000, 2000), (9000, 5000)])
def test_the_smaller_size_holds(own: int | None, most: int) -> None:
    opened = tenants(acme=TenantLimits(max_request_bytes=own))

    assert opened.max_request_bytes("acme") == most
    assert opened.max_request_bytes("globex") == 5000


@pytest.mark.parametrize(
    ("reason", "tenant", "limit"),
    [
        (CloseReason.TOO_MANY_CONNECTIONS, None, "max_connections"),
        (CloseReason.TENANT_CONNECTIONS, "acme", "max_connections"),
        (CloseReason.FRAME_TOO_LARGE, "acme", "max_request_bytes"),
        (CloseReason.FRAME_TOO_LARGE, None, "max_unauthenticated_frame_bytes"),
        (CloseReason.UNAUTHENTICATED_REQUESTS, None, "max_unauthenticated_requests"),
        (CloseReason.UNAUTHENTICATED_BYTES, None, "max_unauthenticated_bytes"),
        (CloseReason.UNAUTHENTICATED_CPU, None, "max_unauthenticated_cpu_ms"),
        (CloseReason.CLIENT_CLOSED, "acme", None),
    ],
)
def test_a_limit_goes_by_its_setting(reason: CloseReason, tenant: str | None, limit: str | None) -> None:
    assert limit_of(reason, tenant) == limit


class Others:
    """Connections that other processes have."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.told: list[tuple[str, int]] = []
        self.locked: list[str] = []

    @contextmanager
    def admission(self, tenant: str) -> Iterator[None]:
        self.locked.append(tenant)
        yield

    def count(self, tenant: str) -> int:
        return self.counts[tenant]

    def note(self, tenant: str, count: int) -> None:
        self.told.append((tenant, count))


def test_those_in_other_processes_count_as_well() -> None:
    others = Others()
    opened = OpenTenants(Loads(print), others)
    opened.limit(Limits(), limited(acme=TenantLimits(max_connections=3)))
    others.counts["acme"] = 2

    assert [opened.admit("acme", number) for number in (1, 2)] == [True, False]
    assert opened.admit("globex", 3)
    opened.forget("acme", 1)

    assert others.told == [("acme", 1), ("globex", 1), ("acme", 0)]
    assert others.locked == ["acme", "acme"], "without a limit nobody waits for anybody"
