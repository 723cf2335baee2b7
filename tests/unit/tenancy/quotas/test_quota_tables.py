"""The tables of all namespaces follow the state."""

import pytest

from bifrost.state.state_key import StateKey
from bifrost.state.state_record import Body, StateRecord
from bifrost.tenancy.quotas.quota_entity import QuotaEntity
from bifrost.tenancy.quotas.quota_key import QuotaKey
from bifrost.tenancy.quotas.quota_record import quota_body, quota_key
from bifrost.tenancy.quotas.quota_tables import QuotaTables

RATE = QuotaKey.PRODUCER_BYTE_RATE


def record(key: StateKey, body: Body | None) -> StateRecord:
    return StateRecord(key, 1, 0, "c", "w", None, body)


def test_a_table_is_below_that_of_the_namespace_above() -> None:
    tables = QuotaTables()
    table = tables.table("acme:eu:fr")

    assert table.parent is tables.table("acme:eu")
    assert tables.table("acme:eu").parent is tables.table("acme")
    assert tables.table("acme").parent is None


def test_what_is_stored_for_an_entity_limits_it_until_it_is_deleted() -> None:
    tables, changes = QuotaTables(), list[int]()
    tables.on_change = lambda: changes.append(1)
    key = quota_key("acme:eu", QuotaEntity("alice"))

    tables.apply(key, record(key, quota_body({RATE: 5.0})))
    limits = tables.table("acme:eu").limits_of("alice", "app")
    assert [one.rate for one in limits.producer_byte_rate] == [5.0]
    assert not tables.table("acme").own

    tables.apply(key, None)
    assert not tables.table("acme:eu").limits_of("alice", "app").producer_byte_rate
    assert len(changes) == 2


def test_a_record_that_is_not_understood_changes_nothing() -> None:
    tables = QuotaTables()
    key = quota_key("acme", QuotaEntity("alice"))
    tables.apply(key, record(key, quota_body({RATE: 5.0})))

    with pytest.raises(ValueError, match="run the version"):
        tables.apply(key, record(key, {"future": 1}))
    assert tables.table("acme").own == {QuotaEntity("alice"): {RATE: 5.0}}


def test_only_tenants_that_the_operator_lets_may_set_quotas() -> None:
    tables = QuotaTables()
    assert not tables.may_set("acme")

    tables.let_set(["acme"])
    assert tables.may_set("acme")
    assert not tables.may_set("globex")
