from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from bifrost.config.fields.limits import Limits
from bifrost.config.fields.tenant_limits import TenantLimits
from bifrost.config.fields.tenants import Tenant
from bifrost.forwarding.in_flight_limits import InFlightLimits
from bifrost.gateway.brokers.limits_of_tenants import LimitsOfTenants
from bifrost.gateway.clients.open_tenants import OpenTenants
from bifrost.tenancy.recent_records.recent_records import RecentRecords


def limited(**limits: TenantLimits) -> LimitsOfTenants:
    return LimitsOfTenants.of(Tenant(name=name, limits=one) for name, one in limits.items())


def tenants(**limits: TenantLimits) -> OpenTenants:
    opened = OpenTenants(InFlightLimits(print))
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


class Others:
    """Connections that other processes have."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.told: list[tuple[str, int, int]] = []
        self.locked: list[str] = []

    @contextmanager
    def admission(self, tenant: str) -> Iterator[None]:
        self.locked.append(tenant)
        yield

    def count(self, tenant: str) -> int:
        return self.counts[tenant]

    def count_all(self) -> int:
        return self.counts.total()

    def note(self, tenant: str, count: int, count_all: int) -> None:
        self.told.append((tenant, count, count_all))


def test_those_in_other_processes_count_as_well() -> None:
    others = Others()
    opened = OpenTenants(InFlightLimits(print), others)
    opened.limit(Limits(), limited(acme=TenantLimits(max_connections=3)))
    others.counts["acme"] = 2

    assert [opened.admit("acme", number) for number in (1, 2)] == [True, False]
    assert opened.admit("globex", 3)
    opened.forget("acme", 1)

    assert others.told == [("acme", 1, 1), ("globex", 1, 2), ("acme", 0, 1)]
    assert others.locked == ["acme", "acme", "globex"]


def divided(*names: str, others: Others | None = None, **limits: int) -> OpenTenants:
    opened = OpenTenants(InFlightLimits(print), others)
    opened.limit(
        Limits(max_connections=100, **limits), LimitsOfTenants.of(Tenant(name=name) for name in names)
    )
    return opened


def taken(opened: OpenTenants, tenant: str) -> int:
    """Take all that a tenant can have; return how many that is."""
    return sum(opened.admit(tenant, (tenant, number)) for number in range(200))


def test_one_tenant_does_not_take_all() -> None:
    opened = divided("acme", "globex")

    assert (taken(opened, "acme"), taken(opened, "globex")) == (50, 20)


def test_the_only_tenant_has_all_but_what_those_need_who_are_just_authenticating() -> None:
    assert taken(divided("acme"), "acme") == 90


def test_who_has_few_gets_some_when_others_have_taken_all_they_may() -> None:
    opened = divided(
        "acme", "globex", "initech", max_connections_per_tenant=90, reserved_connections_per_tenant=5
    )

    assert taken(opened, "acme") == 75
    assert (taken(opened, "globex"), taken(opened, "initech")) == (5, 5)
    assert opened.count().total() == 85


def test_the_reserve_stays_for_others_however_often_one_comes_back() -> None:
    opened = divided(
        "acme", "globex", "initech", max_connections_per_tenant=90, reserved_connections_per_tenant=5
    )
    assert taken(opened, "globex") == 75
    assert taken(opened, "acme") == 5
    for number in range(200):
        opened.forget("globex", ("globex", number))
    assert taken(opened, "acme") == 70

    assert taken(opened, "globex") == 5
    assert taken(opened, "initech") == 5


def test_a_limit_of_its_own_holds_in_place_of_the_share() -> None:
    opened = divided("acme", "globex")
    tenants = limited(acme=TenantLimits(max_connections=60), globex=TenantLimits(max_connections=3))
    opened.limit(Limits(max_connections=100), tenants)

    assert (taken(opened, "acme"), taken(opened, "globex")) == (60, 3)


def test_what_others_have_counts_for_the_share_and_for_the_reserve() -> None:
    others = Others()
    others.counts["acme"] = 45
    opened = divided("acme", "globex", "initech", others=others, reserved_connections_per_tenant=5)

    assert taken(opened, "acme") == 5
    assert taken(opened, "globex") == 75 - 50
    assert taken(opened, "initech") == 5


def test_answers_of_what_is_kept_count_as_what_the_tenant_holds() -> None:
    opened, recent = OpenTenants(InFlightLimits(print)), RecentRecords(lambda: 0)
    opened.limit(Limits(max_shared_fetch_bytes=1000, max_shared_fetch_bytes_total=2000), limited(), recent)
    view = recent.view("acme")
    assert (view.tenant.has_room(400), view.tenant.has_room(1000)) == (True, False)

    taken = view.take_room(100_000)
    assert taken is not None
    assert opened.rooms.room("acme").used == 100_000
    assert recent.spare() == Limits().max_buffered_bytes_total - opened.rooms.of_all.used
    del taken
    assert opened.rooms.room("acme").used == 0
