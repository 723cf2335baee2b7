"""What the HTTP tests do not show: resources/test_namespaces.py has the rest."""

import asyncio
from pathlib import Path

import pytest

from bifrost.control.backend import Unavailable
from bifrost.control.namespaces import Namespaces
from bifrost.state.state_change import Change
from bifrost.tenancy.acls.stored_acls import creation_of
from bifrost.tenancy.acls.stored_acls import key_of as key_of_acl
from bifrost.tenancy.namespaces.namespace_path import read_path
from bifrost.tenancy.namespaces.namespace_tree import NamespaceInUse, key_of
from bifrost.tenancy.quotas.quota_entity import QuotaEntity
from bifrost.tenancy.quotas.quota_record import quota_key
from support.control.table_backend import TableBackend, config_with
from support.physical_names import physical_name
from support.stage.guards import allow


def test_the_tree_follows_the_state(tmp_path: Path) -> None:
    backend = TableBackend()
    namespaces = Namespaces(config_with(tmp_path), backend)
    path = read_path("acme:a")
    assert not namespaces.tree.exists(path)

    backend.put([Change(key_of(path), 0, {})])

    assert namespaces.tree.exists(path)
    assert namespaces.tree is namespaces.tree


def test_a_namespace_is_gone_though_its_cluster_does_not_say_what_came_late(tmp_path: Path) -> None:
    backend = TableBackend()
    namespaces = Namespaces(config_with(tmp_path), backend)
    path = read_path("acme:a")
    backend.put([Change(key_of(path), 0, {})])

    async def away(_tenant: str) -> list[str]:
        raise Unavailable("no broker is known")

    backend.before_change.append(lambda: setattr(backend, "topics_of", away))
    deleted = asyncio.run(namespaces.delete(path, "Admin:alice", recursive=False))

    assert deleted.namespaces == (path,)
    assert deleted.remaining == {"?": "no broker is known"}
    assert not namespaces.tree.exists(path)


def test_while_the_cluster_is_away_nothing_is_deleted(tmp_path: Path) -> None:
    backend = TableBackend()
    namespaces = Namespaces(config_with(tmp_path), backend)
    path = read_path("acme:a")
    backend.put([Change(key_of(path), 0, {})])

    async def away(_tenant: str) -> list[str]:
        raise Unavailable("no broker is known")

    backend.topics_of = away  # type: ignore[method-assign]
    with pytest.raises(Unavailable):
        asyncio.run(namespaces.delete(path, "Admin:alice", recursive=False))

    assert namespaces.tree.exists(path)


def test_topics_of_others_are_in_no_namespace(tmp_path: Path) -> None:
    backend = TableBackend()
    namespaces = Namespaces(config_with(tmp_path), backend)
    backend.topics["acme"] = [
        physical_name("globex", "t"),
        "__consumer_offsets",
        "t",
        physical_name("acme", "t"),
    ]

    found = asyncio.run(namespaces.topics_in([read_path("acme")]))

    assert found == {physical_name("acme", "t"): "acme/t"}


def test_what_the_configuration_names_exists_and_is_not_deleted(tmp_path: Path) -> None:
    backend = TableBackend()
    config = config_with(tmp_path, tenant={"namespaces": ["a:b"], "allowed_topics": ["c:orders"]})
    namespaces = Namespaces(config, backend)

    assert [":".join(one) for one in namespaces.below(read_path("acme"))] == ["acme:a", "acme:a:b", "acme:c"]
    with pytest.raises(NamespaceInUse, match="the configuration names acme:a: remove it there"):
        asyncio.run(namespaces.delete(read_path("acme:a"), "Admin:alice", recursive=True))


def test_a_tenant_with_dotted_names_has_the_topics_of_its_namespaces(tmp_path: Path) -> None:
    backend = TableBackend()
    namespaces = Namespaces(config_with(tmp_path, tenant={"namespace_encoding": "dotted"}), backend)
    backend.topics["acme"] = [physical_name("acme", "eu.orders"), physical_name("acme", "orders")]

    found = asyncio.run(namespaces.topics_in([read_path("acme:eu")]))

    assert found == {physical_name("acme", "eu.orders"): "acme:eu/orders"}


EU, QUOTA = read_path("acme:eu"), quota_key("acme:eu", QuotaEntity("bob"))
VALUES = {"values": {"producer_byte_rate": 1.0}}


def test_quotas_and_acls_go_with_their_namespace(tmp_path: Path) -> None:
    backend = TableBackend()
    namespaces = Namespaces(config_with(tmp_path), backend)
    inside, outside = allow("READ", "eu:orders"), allow("READ", "orders")
    backend.put([Change(key_of(EU), 0, {}), Change(QUOTA, 0, VALUES)])
    backend.put([creation_of("acme", one) for one in (inside, outside)])

    deleted = asyncio.run(namespaces.delete(EU, "Admin:alice", recursive=False))

    assert (deleted.quotas, deleted.acls) == (1, 1)
    assert [one.key for one in backend.table.of_kind("quota")] == []
    assert [one.key for one in backend.table.of_kind("acl")] == [key_of_acl("acme", outside)]


def test_what_is_set_at_the_last_moment_goes_too(tmp_path: Path) -> None:
    backend = TableBackend()
    namespaces = Namespaces(config_with(tmp_path), backend)
    backend.put([Change(key_of(EU), 0, {})])
    backend.before_change.append(lambda: backend.put([Change(QUOTA, 0, VALUES)], "User:eve"))

    deleted = asyncio.run(namespaces.delete(EU, "Admin:alice", recursive=False))

    assert deleted.quotas == 1
    assert backend.table.get(QUOTA) is None


def test_a_namespace_that_is_created_again_begins_without_quotas(tmp_path: Path) -> None:
    backend = TableBackend()
    namespaces = Namespaces(config_with(tmp_path), backend)
    backend.put([Change(QUOTA, 0, VALUES)])  # As an earlier version left it.

    asyncio.run(namespaces.create(EU, "Admin:alice"))

    assert backend.table.get(QUOTA) is None


def test_quotas_of_dotted_namespaces_are_there_before_their_records(tmp_path: Path) -> None:
    backend = TableBackend()
    namespaces = Namespaces(config_with(tmp_path, tenant={"namespace_encoding": "dotted"}), backend)
    backend.put([Change(QUOTA, 0, VALUES)])

    asyncio.run(namespaces.create(EU, "Admin:alice"))

    assert backend.table.get(QUOTA) is not None
