"""What the HTTP tests do not show: resources/test_configs.py has the rest."""

import asyncio
from pathlib import Path

import pytest

from bifrost.config.model import Config
from bifrost.control.backend import Unavailable
from bifrost.control.clusters.topic_state import TopicState
from bifrost.control.configs.configs import KEPT_MS, ConfigRefused, Configs
from bifrost.control.namespaces import Namespaces
from bifrost.state.state_change import Change, StateConflict
from bifrost.state.state_key import StateKey
from bifrost.tenancy.namespaces.alias_table import Place
from bifrost.tenancy.namespaces.namespace_path import read_path
from bifrost.tenancy.topic_configs.config_records import (
    NamespaceConfig,
    namespace_body,
    namespace_key,
    topic_key,
)
from support.control.table_backend import TableBackend, config_with
from support.physical_names import physical_name

ACME = read_path("acme")
ORDERS = physical_name("acme", "orders")
WRITTEN_MS = 1_000
"""When the backend writes records."""


@pytest.fixture
def backend() -> TableBackend:
    found = TableBackend()
    found.topics["acme"] = [ORDERS]
    return found


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return config_with(tmp_path)


@pytest.fixture
def namespaces(backend: TableBackend, config: Config) -> Namespaces:
    return Namespaces(config, backend)


@pytest.fixture
def configs(backend: TableBackend, config: Config, namespaces: Namespaces) -> Configs:
    return Configs(config, backend, namespaces)


def stored(version: int, **values: str) -> Change:
    told = {name.replace("_", "."): value for name, value in values.items()}
    return Change(namespace_key(ACME), version, namespace_body(NamespaceConfig(told)))


def test_what_another_process_has_begun_is_ended(backend: TableBackend, configs: Configs) -> None:
    backend.put([stored(0, retention_ms="5")])

    found = asyncio.run(configs.settle("control", WRITTEN_MS))

    assert [one.is_changed for one in found["acme"].standings] == [True]
    assert backend.states[ORDERS].configs == {"retention.ms": "5"}
    assert [one.is_changed for one in asyncio.run(configs.settle("control", 0))["acme"].standings] == [False]


def test_what_is_remembered_of_a_topic_that_is_gone_is_forgotten_after_a_while(
    backend: TableBackend, configs: Configs
) -> None:
    backend.put([stored(0, retention_ms="5")])
    gone, there = topic_key(ACME, "gone"), topic_key(ACME, "orders")
    backend.put([Change(key, 0, {"own": {"retention.ms": "5"}}) for key in (gone, there)])

    asyncio.run(configs.settle("control", WRITTEN_MS + KEPT_MS))
    assert backend.table.get(gone) is not None
    asyncio.run(configs.settle("control", WRITTEN_MS + KEPT_MS + 1))

    assert backend.table.get(gone) is None
    assert backend.table.get(there) is not None


def test_another_writer_that_was_first_keeps_its_own(backend: TableBackend, configs: Configs) -> None:
    backend.before_change.append(lambda: backend.put([stored(0, cleanup_policy="compact")]))

    asyncio.run(configs.alter(ACME, {"retention.ms": "5"}, "Admin:alice"))

    assert configs.of(ACME)[0].configs == {"cleanup.policy": "compact", "retention.ms": "5"}


@pytest.mark.parametrize("owner", ["acme:eu/eu-orders", "globex/orders"])
def test_a_moved_topic_inherits_from_its_owner(
    backend: TableBackend, namespaces: Namespaces, configs: Configs, owner: str
) -> None:
    backend.topics["globex"] = backend.topics["acme"]
    backend.put(namespaces.tree.create(read_path("acme:eu")))
    place = Place.read(owner)
    backend.put(namespaces.aliases.table.move(Place.read("acme/orders"), place))
    backend.put([stored(0, preallocate="true")])
    mine = Change(namespace_key(place.namespace), 0, namespace_body(NamespaceConfig({"retention.ms": "5"})))
    kept = Change(topic_key(place.namespace, place.topic), 0, {"own": {"segment.bytes": "33554432"}})
    backend.put([mine, kept])

    found = asyncio.run(configs.settle("control", WRITTEN_MS + KEPT_MS + 1))

    inherited = {"preallocate": "true"} if place.namespace[0] == "acme" else {}
    assert backend.states[ORDERS].configs == {"retention.ms": "5", **inherited}
    assert {(one.topic.path, one.topic.name) for report in found.values() for one in report.standings} == {
        (place.namespace, place.topic)
    }
    assert backend.table.get(kept.key) is not None


def test_a_record_of_a_moved_topic_that_cannot_be_understood_is_told(
    backend: TableBackend, configs: Configs
) -> None:
    backend.put([Change(StateKey("alias", "acme/orders"), 0, {"new": 1})])

    with pytest.raises(Unavailable, match="moved topics: a record of an alias"):
        asyncio.run(configs.report(ACME))


def test_a_conflict_that_does_not_end_is_told(backend: TableBackend, configs: Configs) -> None:
    def interfere() -> None:
        record = backend.table.get(namespace_key(ACME))
        backend.put([stored(0 if record is None else record.version, retention_ms="1")])

    backend.before_change += [interfere] * 5

    with pytest.raises(StateConflict):
        asyncio.run(configs.alter(ACME, {"segment.bytes": "33554432"}, "Admin:alice"))


def test_a_record_that_cannot_be_understood_is_told(backend: TableBackend, configs: Configs) -> None:
    backend.put([Change(namespace_key(ACME), 0, {"new": 1})])

    with pytest.raises(Unavailable, match="namespace-config:acme: no body"):
        configs.of(ACME)


def test_a_namespace_has_a_bound_of_configs(
    configs: Configs, monkeypatch: pytest.MonkeyPatch, backend: TableBackend
) -> None:
    monkeypatch.setattr("bifrost.control.configs.configs.MAX_CONFIGS", 1)
    backend.states[ORDERS] = TopicState(1, 1, {})

    with pytest.raises(ConfigRefused, match="at most 1 configs"):
        asyncio.run(configs.alter(ACME, {"retention.ms": "5", "preallocate": "false"}, "Admin:alice"))
