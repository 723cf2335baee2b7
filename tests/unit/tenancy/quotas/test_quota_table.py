"""Which limits a client has."""

from itertools import combinations

import pytest

from bifrost.tenancy.quotas.quota_entity import DEFAULT, NAMESPACE, QuotaEntity, levels
from bifrost.tenancy.quotas.quota_key import QuotaKey
from bifrost.tenancy.quotas.quota_table import UNLIMITED, Bucket, QuotaTable

PRODUCE, CONSUME = QuotaKey.PRODUCER_BYTE_RATE, QuotaKey.CONSUMER_BYTE_RATE
LEVELS = levels("alice", "app")


def rates(table: QuotaTable, user: str = "alice", client_id: str = "app") -> list[float]:
    return [one.rate for one in table.limits_of(user, client_id).producer_byte_rate]


def test_without_quotas_a_client_is_unlimited() -> None:
    assert QuotaTable("acme").limits_of("alice", "app") is UNLIMITED


@pytest.mark.parametrize(("first", "second"), list(combinations(range(8), 2)))
def test_the_first_of_kafkas_levels_decides(first: int, second: int) -> None:
    table = QuotaTable("acme")
    table.put(LEVELS[second], {PRODUCE: 2.0})
    table.put(LEVELS[first], {PRODUCE: 1.0})

    assert rates(table) == [1.0]


def test_each_key_is_decided_by_itself() -> None:
    table = QuotaTable("acme")
    table.put(QuotaEntity("alice"), {CONSUME: 5.0})
    table.put(QuotaEntity(DEFAULT), {PRODUCE: 7.0})

    limits = table.limits_of("alice", "app")

    assert [one.rate for one in limits.of(CONSUME)] == [5.0]
    assert [one.rate for one in limits.of(PRODUCE)] == [7.0]
    assert limits.request_percentage == ()


@pytest.mark.parametrize(
    ("entity", "user", "client_id"),
    [
        (QuotaEntity("alice", "app"), "alice", "app"),
        (QuotaEntity(DEFAULT, DEFAULT), "alice", "app"),
        (QuotaEntity("alice"), "alice", None),
        (QuotaEntity(DEFAULT), "alice", None),
        (QuotaEntity(None, "app"), None, "app"),
        (QuotaEntity(None, DEFAULT), None, "app"),
    ],
)
def test_a_limit_names_the_clients_that_share_it(
    entity: QuotaEntity, user: str | None, client_id: str | None
) -> None:
    table = QuotaTable("acme")
    table.put(entity, {PRODUCE: 1.0})

    [limit] = table.limits_of("alice", "app").producer_byte_rate

    assert limit.bucket == Bucket("acme", False, user, client_id)


def test_a_tenants_own_limit_stands_beside_the_operators() -> None:
    table = QuotaTable("acme")
    table.give({NAMESPACE: {PRODUCE: 100.0}, QuotaEntity(DEFAULT): {PRODUCE: 10.0}})
    table.put(QuotaEntity("alice"), {PRODUCE: 50.0})

    assert rates(table) == [100.0, 10.0, 50.0]
    assert rates(table, "bob") == [100.0, 10.0]


def test_the_whole_namespace_has_limits_of_the_configuration_and_of_the_state() -> None:
    table = QuotaTable("acme")
    table.give({NAMESPACE: {PRODUCE: 100.0}})
    table.put(NAMESPACE, {PRODUCE: 50.0})

    limits = table.limits_of("alice", "app").producer_byte_rate

    assert [(one.rate, one.bucket) for one in limits] == [
        (100.0, Bucket("acme", True, None, None)),
        (50.0, Bucket("acme", False, None, None)),
    ]
    assert table.bound_of(QuotaEntity("alice"), PRODUCE) == 50.0
    assert table.bound_of(NAMESPACE, PRODUCE) == 100.0


def test_the_limits_of_the_namespaces_above_apply_as_well() -> None:
    above = QuotaTable("acme")
    table = QuotaTable("acme/eu", above)
    above.give({NAMESPACE: {PRODUCE: 100.0}})
    above.put(QuotaEntity("alice"), {PRODUCE: 20.0})
    table.put(QuotaEntity("alice"), {PRODUCE: 30.0})

    limits = table.limits_of("alice", "app").producer_byte_rate

    assert [(one.rate, one.bucket.namespace) for one in limits] == [
        (100.0, "acme"),
        (20.0, "acme"),
        (30.0, "acme/eu"),
    ]


def test_every_change_changes_the_generation_of_the_tables_below() -> None:
    above = QuotaTable("acme")
    table = QuotaTable("acme/eu", above)
    seen = [table.generation]
    above.give({NAMESPACE: {PRODUCE: 1.0}})
    seen.append(table.generation)
    for changed, values in ((above, {PRODUCE: 1.0}), (table, {PRODUCE: 1.0}), (table, {})):
        changed.put(QuotaEntity("a"), values)
        seen.append(table.generation)

    assert len(set(seen)) == len(seen)


def test_a_removed_quota_limits_no_more() -> None:
    table = QuotaTable("acme")
    table.put(QuotaEntity("alice"), {PRODUCE: 1.0})
    table.put(QuotaEntity("alice"), {})

    assert table.limits_of("alice", "app") is UNLIMITED
    assert table.own == {}


@pytest.mark.parametrize(
    ("entity", "bound"),
    [
        (QuotaEntity("alice"), 20.0),
        (QuotaEntity("bob"), 10.0),
        (QuotaEntity(DEFAULT), 10.0),
        (QuotaEntity("alice", "app"), 5.0),
        (QuotaEntity("alice", "other"), 20.0),
        (QuotaEntity(None, "app"), 60.0),
        (QuotaEntity(None, DEFAULT), 60.0),
    ],
)
def test_a_tenant_may_set_no_more_than_the_operator_gave(entity: QuotaEntity, bound: float) -> None:
    above = QuotaTable("acme")
    table = QuotaTable("acme/eu", above)
    above.give({NAMESPACE: {PRODUCE: 60.0}})
    table.give(
        {
            NAMESPACE: {PRODUCE: 80.0},
            QuotaEntity(DEFAULT): {PRODUCE: 10.0},
            QuotaEntity("alice"): {PRODUCE: 20.0},
            QuotaEntity("alice", "app"): {PRODUCE: 5.0},
        }
    )

    assert table.bound_of(entity, PRODUCE) == bound
    assert table.bound_of(entity, CONSUME) is None
