"""What `proxy.limits` leaves open of how connections are divided."""

import pytest

from bifrost.config.fields.limits import Limits
from bifrost.gateway.clients.connection_shares import ConnectionShares, shares_of


def test_by_default_no_tenant_takes_all() -> None:
    assert shares_of(Limits(), 20) == ConnectionShares(
        of_tenant=5_000,
        of_all_tenants=9_000,
        common=8_800,
        few=10,
        unauthenticated=1_000,
        unauthenticated_of_address=500,
    )


@pytest.mark.parametrize("tenants", [1_000, 100_000])
def test_the_reserve_is_a_quarter_at_most(tenants: int) -> None:
    assert shares_of(Limits(), tenants).common == 6_500


def test_one_tenant_alone_shares_with_no_other() -> None:
    shares = shares_of(Limits(), 1)

    assert (shares.of_tenant, shares.common) == (10_000, 9_000)


def test_few_connections_are_not_divided() -> None:
    assert shares_of(Limits(max_connections=99), 20) == ConnectionShares(99, 99, 99, 10, 99, 99)


def test_what_is_set_holds() -> None:
    limits = Limits(
        max_connections=1_000,
        max_connections_per_tenant=7,
        reserved_connections_per_tenant=2,
        max_unauthenticated_connections=40,
        max_unauthenticated_connections_per_address=3,
    )

    assert shares_of(limits, 20) == ConnectionShares(7, 960, 920, 2, 40, 3)


def test_tenants_have_half_whatever_those_have_who_are_just_authenticating() -> None:
    assert shares_of(Limits(max_unauthenticated_connections=20_000), 1).of_all_tenants == 5_000


def test_each_worker_has_its_part_of_those_who_are_just_authenticating() -> None:
    shares = shares_of(Limits(max_unauthenticated_connections_per_address=1), 20, workers=4)

    assert (shares.unauthenticated, shares.unauthenticated_of_address) == (250, 1)
    assert shares.of_all_tenants == 9_000
