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
    ("literal", "acme", "globex"),
    [
        ({}, {MARK}, {MARK}),
        ({"globex": "t1-"}, {MARK, "t1-"}, {MARK}),
        ({"acme": "t1-", "globex": "t2-"}, {MARK, "t2-"}, {MARK, "t1-"}),
    ],
)
def test_marks_are_what_stands_before_the_names_of_others(
    literal: dict[str, str], acme: set[str], globex: set[str]
) -> None:
    kinds = ("topic", "group", "transactional_id")
    config = configured(
        **{name: {"prefixes": dict.fromkeys(kinds, prefix)} for name, prefix in literal.items()}
    )

    assert TenantSettings.of(config).foreign_marks == {"acme": acme, "globex": globex}


def test_the_same_prefix_on_two_physical_clusters_is_a_mark_for_both() -> None:
    kinds = dict.fromkeys(("topic", "group", "transactional_id"), "t-")
    config = configured(
        acme={"upstream": "one", "prefixes": kinds}, globex={"upstream": "other", "prefixes": kinds}
    )

    assert TenantSettings.of(config).foreign_marks == {"acme": {MARK, "t-"}, "globex": {MARK, "t-"}}
