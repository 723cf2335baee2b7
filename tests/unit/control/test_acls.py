"""What the HTTP tests do not show: resources/test_acls.py has the rest."""

import asyncio
from pathlib import Path

import pytest

from bifrost.control.acls import AclRefused, Acls
from bifrost.state.state_change import Change, StateConflict
from bifrost.tenancy.acls import acl_change
from bifrost.tenancy.acls.acl_binding import AclBindingFilter
from bifrost.tenancy.acls.stored_acls import creation_of, key_of
from bifrost.tenancy.namespaces.namespace_path import read_path
from support.control.table_backend import TableBackend, config_with
from support.stage.guards import allow

ACME, EU = read_path("acme"), read_path("acme:eu")
ORDERS = allow("READ", "orders")


def test_what_was_there_before_and_what_comes_later_is_found(tmp_path: Path) -> None:
    backend = TableBackend()
    backend.put([creation_of("acme", ORDERS)], "User:ann")
    acls = Acls(backend, config_with(tmp_path).tenants)
    backend.put([creation_of("acme", allow("READ", "clicks")), creation_of("globex", ORDERS)])

    found = acls.find(ACME, AclBindingFilter())

    assert [one.binding.name for one in found] == ["clicks", "orders"]
    assert found[1].record is not None
    assert found[1].record.on_behalf_of == "User:ann"


def test_dotted_tiers_have_dots(tmp_path: Path) -> None:
    backend = TableBackend()
    acls = Acls(backend, config_with(tmp_path, tenant={"namespace_encoding": "dotted"}).tenants)

    asyncio.run(acls.create(EU, [ORDERS], "Admin:alice"))

    assert backend.table.get(key_of("acme", allow("READ", "eu.orders"))) is not None


def test_a_deletion_has_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bifrost.control.acls.MAX_CHANGED", 1)
    assert acl_change.MAX_CHANGED == 1000
    backend = TableBackend()
    acls = Acls(backend, config_with(tmp_path).tenants)
    backend.put([creation_of("acme", allow("READ", one)) for one in "ab"])

    with pytest.raises(AclRefused, match="A request changes at most"):
        asyncio.run(acls.delete(ACME, AclBindingFilter(principal="User:alice"), "Admin:alice"))

    assert len(acls.find(ACME, AclBindingFilter())) == 2


def test_a_conflict_that_does_not_end_is_told(tmp_path: Path) -> None:
    backend = TableBackend()
    acls, key = Acls(backend, config_with(tmp_path).tenants), key_of("acme", ORDERS)
    backend.put([creation_of("acme", ORDERS)])

    def interfere() -> None:
        found = backend.table.get(key)
        assert found is not None
        backend.put([Change(key, found.version, found.body)])

    backend.before_change += [interfere] * 10
    with pytest.raises(StateConflict):
        asyncio.run(acls.delete(ACME, AclBindingFilter(name="orders"), "Admin:alice"))
