"""What the HTTP tests do not show: resources/test_quotas.py has the rest."""

import asyncio

import pytest

from bifrost.control.backend import Unavailable
from bifrost.control.quotas import Alteration, QuotaRefused, Quotas
from bifrost.state.state_change import Change, StateConflict
from bifrost.tenancy.namespaces.namespace_path import InvalidNamespace, read_path
from bifrost.tenancy.namespaces.namespace_tree import key_of
from bifrost.tenancy.quotas import quota_change
from bifrost.tenancy.quotas.quota_entity import QuotaEntity
from bifrost.tenancy.quotas.quota_record import quota_key
from support.control.table_backend import TableBackend

ACME = read_path("acme")


def test_what_was_there_before_counts_for_the_most_entities(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quota_change, "MAX_ENTITIES", 2)
    backend = TableBackend()
    body = {"values": {"request_percentage": 7.0}}
    backend.put([Change(quota_key("acme", QuotaEntity(name)), 0, body) for name in "ab"])
    quotas = Quotas(backend)

    with pytest.raises(QuotaRefused, match="At most 2 entities may have quotas"):
        asyncio.run(quotas.alter(ACME, [Alteration({"user": "c"}, {"request_percentage": 1})], "Admin:alice"))

    assert [one.entity for one in quotas.of(ACME)] == [QuotaEntity("a"), QuotaEntity("b")]


def test_a_record_that_cannot_be_understood_is_told_and_hides_no_other() -> None:
    backend = TableBackend()
    quotas = Quotas(backend)
    backend.put([Change(quota_key("globex", QuotaEntity("a")), 0, {"values": {"new_key": 1.0}})])
    backend.put([Change(quota_key("acme", QuotaEntity("a")), 0, {"values": {"request_percentage": 1.0}})])

    assert [one.entity for one in quotas.of(ACME)] == [QuotaEntity("a")]
    with pytest.raises(Unavailable, match="quota:globex/users/a: Invalid configuration key new_key"):
        quotas.of(read_path("globex"))


def test_a_conflict_that_does_not_end_is_told() -> None:
    backend = TableBackend()
    quotas, key = Quotas(backend), quota_key("acme", QuotaEntity("a"))

    def interfere() -> None:
        found = backend.table.get(key)
        version = 0 if found is None else found.version
        backend.put([Change(key, version, {"values": {"request_percentage": 1.0 + version}})])

    backend.before_change += [interfere] * 10
    with pytest.raises(StateConflict):
        asyncio.run(quotas.alter(ACME, [Alteration({"user": "a"}, {"producer_byte_rate": 1})], "Admin:alice"))


def test_a_namespace_that_is_deleted_meanwhile_gets_no_quota() -> None:
    backend = TableBackend()
    quotas, path = Quotas(backend), read_path("acme:eu")
    backend.put([Change(key_of(path), 0, {})])
    backend.before_change.append(lambda: backend.put([Change(key_of(path), 1, None)]))

    with pytest.raises(InvalidNamespace, match="namespace acme:eu does not exist"):
        asyncio.run(quotas.alter(path, [Alteration({"user": "a"}, {"request_percentage": 1})], "Admin:alice"))

    assert quotas.of(path) == []


def test_a_namespace_that_is_written_anew_meanwhile_gets_its_quota() -> None:
    backend = TableBackend()
    quotas, path = Quotas(backend), read_path("acme:eu")
    backend.put([Change(key_of(path), 0, {})])
    backend.before_change.append(lambda: backend.put([Change(key_of(path), 1, {})]))

    asyncio.run(quotas.alter(path, [Alteration({"user": "a"}, {"request_percentage": 1})], "Admin:alice"))

    assert [one.entity for one in quotas.of(path)] == [QuotaEntity("a")]
