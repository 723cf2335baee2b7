from typing import Any

import pytest

from bifrost.state.state_change import Author, Change
from bifrost.state.state_key import StateKey
from bifrost.state.state_record import StateRecord
from bifrost.state.state_table import StateLimits, StateTable
from bifrost.tenancy.names import TenantNames
from bifrost.tenancy.namespaces.namespace_path import Path
from bifrost.tenancy.namespaces.topic_aliases import TenantPlace, TopicAliases
from bifrost.tenancy.topic_configs.config_records import (
    NAMESPACE_KIND,
    TOPIC_KIND,
    NamespaceConfig,
    namespace_body,
    namespace_key,
)
from bifrost.tenancy.topic_configs.namespace_configs import NamespaceConfigs
from bifrost.tenancy.topic_configs.namespace_defaults import NamespaceDefaults
from support.physical_names import physical_name
from support.state_log import decided, in_log

EU = Path(("acme", "eu"))


class Scene:
    """A namespace with configs, and the state that has them."""

    def __init__(self, **configs: str) -> None:
        self.table, self._offset = StateTable(StateLimits(100, 10_000, 1_000_000)), 0
        model = NamespaceConfigs()
        for kind in (NAMESPACE_KIND, TOPIC_KIND):
            self.table.watch(kind, lambda keys: [model.apply(key, self.table.get(key)) for key in keys])
        if configs:
            told = {name.replace("_", "."): value for name, value in configs.items()}
            self.put(Change(namespace_key(EU), 0, namespace_body(NamespaceConfig(told))))
        self.aliases = TopicAliases()
        self.aliases.configure(
            {one: TenantPlace("main", physical_name(one, "")) for one in ("acme", "globex")}
        )
        names = TenantNames("acme", namespaces={("eu",)}, aliases=self.aliases.parts, sees_shared=True)
        self.defaults = NamespaceDefaults(names, model)

    def put(self, change: Change) -> None:
        records = in_log(decided(self.table, [change], (), Author("w", None), 0, "c"), self._offset)
        self._offset += len(records)
        changed, _ = self.table.apply(records)
        for call in self.table.calls(changed):
            call()

    def remember(self, given: dict[str, str], without: list[str] | None = None) -> Any:
        """Remember it; return what is stored then, ... if nothing has to be written."""
        change = self.defaults.remember(self.table, "eu:orders", given, without)
        if change is None:
            return ...
        self.put(change)
        return change.body


@pytest.fixture
def scene() -> Scene:
    return Scene(retention_ms="1000", cleanup_policy="delete")


def test_a_topic_inherits_what_its_namespace_has(scene: Scene) -> None:
    assert scene.defaults.inherited("eu:orders") == {"retention.ms": "1000", "cleanup.policy": "delete"}
    assert scene.defaults.inherited("orders") == {}
    assert scene.defaults.inherits("eu:orders", "retention.ms", "1000")
    assert not scene.defaults.inherits("orders", "retention.ms", "1000")
    assert not scene.defaults.inherits("eu:orders", "retention.ms", None)


def test_only_what_could_be_inherited_is_remembered(scene: Scene) -> None:
    assert scene.remember({"retention.ms": "5"}, []) is ...
    assert scene.remember({"segment.ms": "1000"}, []) is ...
    assert scene.remember({"retention.ms": " +1000"}, []) == {"own": {"retention.ms": "1000"}}
    assert scene.remember({"retention.ms": "1000"}, []) is ...
    assert not scene.defaults.inherits("eu:orders", "retention.ms", "1000")
    assert scene.defaults.remembered == 1


def test_what_is_taken_back_is_forgotten(scene: Scene) -> None:
    scene.remember({"retention.ms": "1000", "cleanup.policy": "delete"}, [])

    assert scene.remember({}, ["retention.ms"]) == {"own": {"cleanup.policy": "delete"}}
    assert scene.remember({}, None) is None
    assert scene.remember({}, None) is ...
    assert scene.defaults.inherits("eu:orders", "retention.ms", "1000")


def test_what_is_set_otherwise_is_forgotten_too(scene: Scene) -> None:
    scene.remember({"retention.ms": "1000"}, [])

    assert scene.remember({"retention.ms": "no number"}, []) is None


def test_where_nothing_is_inherited_nothing_is_remembered() -> None:
    scene = Scene()

    assert scene.remember({"retention.ms": "1000"}) is ...
    assert scene.defaults.inherited("eu:orders") == {}
    assert not scene.defaults.inherits("eu:orders", "retention.ms", "1000")


def test_what_is_shared_with_a_namespace_inherits_nothing_there(scene: Scene) -> None:
    body = {"owner": "globex/orders", "shares": {"acme:eu/partner": "read-write", "acme:eu/own": "read"}}
    moved = {"owner": "acme:eu/moved", "shares": {}}
    for key, what in (("globex/orders", body), ("globex/moved", moved)):
        scene.aliases.apply(
            StateKey("alias", key), StateRecord(StateKey("alias", key), 1, 0, "c", "w", None, what)
        )

    for name in ("eu:partner", "eu:own"):
        assert scene.defaults.inherited(name) == {}
        assert not scene.defaults.inherits(name, "retention.ms", "1000")
        assert scene.defaults.remember(scene.table, name, {"retention.ms": "1000"}) is None
    assert scene.defaults.inherits("eu:moved", "retention.ms", "1000")
