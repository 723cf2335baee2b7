"""Which budgets a client is charged to, and how long they live."""

import gc
from collections import Counter

import pytest

from bifrost.forwarding.quotas import quotas as module
from bifrost.forwarding.quotas.quotas import Quotas
from bifrost.tenancy.quotas.quota_entity import DEFAULT, NAMESPACE, QuotaEntity
from bifrost.tenancy.quotas.quota_key import QuotaKey
from bifrost.tenancy.quotas.quota_tables import QuotaTables

S = 1_000_000_000
RATE, REQUESTS = QuotaKey.PRODUCER_BYTE_RATE, QuotaKey.REQUEST_RATE
EACH_USER, EACH_CLIENT = QuotaEntity(DEFAULT), QuotaEntity(None, DEFAULT)


def test_a_tenant_without_quotas_has_one_quota_that_is_off() -> None:
    quotas = Quotas()

    one, other = quotas.quota("acme", "alice", b"app"), quotas.quota("acme:eu", "bob", None)

    assert one is other
    assert not one.is_on


def test_a_client_is_charged_to_its_tenant_its_namespaces_and_itself() -> None:
    quotas = Quotas()
    quotas.give(
        {
            "acme": {NAMESPACE: {RATE: 1000.0}, EACH_USER: {RATE: 100.0}},
            "acme:eu": {NAMESPACE: {RATE: 500.0}},
        }
    )

    in_eu = quotas.quota("acme:eu:berlin", "alice", b"app").produced
    above = quotas.quota("acme", "alice", b"app").produced

    assert sorted(round(S / one.ns_per_unit) for one in in_eu) == [100, 500, 1000]
    assert set(above) < set(in_eu), "alice's own budget and the tenant's are the same in every namespace"


def test_each_user_has_a_budget_of_its_own_and_all_connections_of_it_the_same() -> None:
    quotas = Quotas()
    quotas.give({"acme": {EACH_USER: {RATE: 100.0}}})

    alice, again, bob = (quotas.quota("acme", user, b"app") for user in ("alice", "alice", "bob"))

    assert alice is again
    assert alice.produced != bob.produced


def test_client_ids_are_told_apart_only_where_a_quota_names_them() -> None:
    quotas = Quotas()
    quotas.give({"acme": {EACH_USER: {RATE: 100.0}}, "globex": {EACH_CLIENT: {RATE: 100.0}}})

    one = quotas.quota("acme", "alice", b"app")
    assert one is quotas.quota("acme", "alice", b"tool")
    app, tool = quotas.quota("globex", "alice", b"app"), quotas.quota("globex", "alice", b"tool")
    assert app.produced != tool.produced
    assert app.produced == quotas.quota("globex", "bob", b"app").produced
    assert not app.is_client(b"tool")
    assert quotas.quota("globex", "alice", None).is_client(None)


def test_the_same_quotas_again_change_nothing() -> None:
    quotas, given = Quotas(), {"acme": {NAMESPACE: {RATE: 1000.0}}}
    assert quotas.give(given)
    one = quotas.quota("acme", "alice", b"app")

    assert not quotas.give({**given, "globex": {}})

    assert quotas.quota("acme", "alice", b"app") is one


def test_changed_quotas_expire_what_was_looked_up_and_keep_debts() -> None:
    quotas = Quotas()
    idle = quotas.quota("acme", "alice", b"app")
    quotas.give({"acme": {NAMESPACE: {RATE: 1000.0}}})
    assert not idle.is_client(b"app")
    before = quotas.quota("acme", "alice", b"app")

    quotas.give({"acme": {NAMESPACE: {RATE: 2000.0}}})
    after = quotas.quota("acme", "alice", b"app")

    assert not before.is_client(b"app")
    assert after.produced == before.produced
    assert after.produced[0].ns_per_unit == S / 2000

    quotas.give({})
    assert not quotas.quota("acme", "alice", b"app").is_on


def test_percent_are_of_the_time_that_passes() -> None:
    quotas = Quotas()
    quotas.give({"acme": {NAMESPACE: {QuotaKey.REQUEST_PERCENTAGE: 50.0, REQUESTS: 5.0}}})
    quota = quotas.quota("acme", "alice", b"app")

    assert quota.worked[0].ns_per_unit == 2
    assert quota.requested[0].ns_per_unit == S / 5


def test_a_budget_outlives_its_client_while_it_owes_something(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SWEPT_FROM", 10)
    now_ns = 100 * S
    quotas = Quotas(now_ns=lambda: now_ns)
    quotas._sweep_at = 10
    quotas.give({"acme": {EACH_USER: {REQUESTS: 1.0}}})
    debtor = quotas.quota("acme", "debtor", b"")
    debtor.requested[0].charge(5, now_ns)
    del debtor
    for number in range(1000):
        quotas.quota("acme", f"user-{number}", b"")
    gc.collect()

    assert quotas.quota("acme", "debtor", b"").requested[0].debt_ns(now_ns) > 0
    assert len(quotas._budgets) < 100, "those that owe nothing are forgotten"


def test_what_clients_are_told_is_counted() -> None:
    told: Counter[tuple[str, str]] = Counter()
    quotas = Quotas(throttled_ms=told)
    quotas.give({"acme": {NAMESPACE: {REQUESTS: 1.0}}})
    quota = quotas.quota("acme", "alice", b"app")

    quotas._note_throttle(quota.requested[0], 250)

    assert told == {("request_rate", "acme"): 250}


def test_what_a_tenant_sets_applies_beside_what_the_operator_gives() -> None:
    quotas, tables = Quotas(), QuotaTables()
    quotas.use(tables)
    quotas.give({"acme": {NAMESPACE: {RATE: 1000.0}}})
    before = quotas.quota("acme", "alice", b"app")

    tables.table("acme").put(QuotaEntity("alice"), {RATE: 10.0})
    tables.on_change()

    assert not before.is_client(b"app")
    rates = [round(S / one.ns_per_unit) for one in quotas.quota("acme", "alice", b"app").produced]
    assert rates == [1000, 10]
