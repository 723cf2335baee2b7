"""What a configuration says of its tenants."""

import pytest

from bifrost.gateway.brokers.tenant_settings import TenantSettings
from support.physical_names import MARK
from unit.gateway.brokers.test_virtual_clusters import configured


def test_every_tenant_has_its_cluster_and_its_shares() -> None:
    config = configured(
        acme={"upstream": "one", "limits": {"gateway_time_percent": 7, "broker_time_percent": 9}},
        globex={"upstream": "other"},
    )
    settings, usual = TenantSettings.of(config), config.proxy.limits

    assert settings.upstreams == {"acme": "one", "globex": "other"}
    assert set(settings.tenants) == {"acme", "globex"}
    assert [settings.gateway_time.of(one) for one in settings.tenants] == [7, usual.gateway_time_percent]
    assert [settings.broker_time.of(one) for one in settings.tenants] == [9, usual.broker_time_percent]


@pytest.mark.parametrize(
    ("prefixes", "expected"),
    [
        ({}, {MARK}),
        ({"globex": {"topic": "t1-"}}, {MARK, "t1-"}),
        ({"acme": {"topic": "t1-", "group": "g1-"}, "globex": {"group": "t2-"}}, {MARK, "t1-", "g1-", "t2-"}),
    ],
)
def test_marks_are_the_prefixes_of_all_tenants(
    prefixes: dict[str, dict[str, str]], expected: set[str]
) -> None:
    config = configured(**{name: {"prefixes": own} for name, own in prefixes.items()})

    assert TenantSettings.of(config).foreign_marks == expected
