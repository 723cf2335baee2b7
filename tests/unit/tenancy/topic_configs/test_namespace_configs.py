from typing import Any

import pytest

from bifrost.state.state_key import StateKey
from bifrost.state.state_record import StateRecord
from bifrost.tenancy.namespaces.namespace_path import Path
from bifrost.tenancy.topic_configs.config_records import (
    NamespaceConfig,
    namespace_body,
    namespace_key,
    topic_key,
)
from bifrost.tenancy.topic_configs.namespace_configs import NamespaceConfigs

ACME, EU = Path(("acme",)), Path(("acme", "eu"))


def stored(configs: NamespaceConfigs, key: StateKey, body: dict[str, Any] | None) -> None:
    configs.apply(key, StateRecord(key, 1, 0, "change", "writer", None, body))


@pytest.fixture
def configs() -> NamespaceConfigs:
    found = NamespaceConfigs()
    stored(found, namespace_key(ACME), namespace_body(NamespaceConfig({"a": "1", "b": "1"}, {"b": ("0",)})))
    stored(found, namespace_key(EU), namespace_body(NamespaceConfig({"a": "2"})))
    stored(found, topic_key(EU, "orders"), {"own": {"a": "2"}})
    return found


def test_the_nearest_namespace_counts(configs: NamespaceConfigs) -> None:
    assert configs.inherited(EU) == {"a": ("2", EU), "b": ("1", ACME)}
    assert configs.inherited(ACME) == {"a": ("1", ACME), "b": ("1", ACME)}
    assert configs.inherited(Path(("globex",))) == {}
    assert configs.names(EU) == {"a", "b"}
    assert configs.tenants() == {"acme"}


@pytest.mark.parametrize(
    ("topic", "name", "value", "does"),
    [
        ("clicks", "a", "2", True),
        ("clicks", "a", "1", True),
        ("clicks", "a", "3", False),
        ("clicks", "b", "0", True),
        ("orders", "a", "2", False),
        ("orders", "a", "1", True),
        ("orders", "c", "1", False),
    ],
)
def test_a_value_is_inherited_if_a_namespace_has_or_had_it_and_it_is_not_the_topics_own(
    configs: NamespaceConfigs, topic: str, name: str, value: str, does: bool
) -> None:
    assert configs.inherits(EU, topic, name, value) is does


def test_what_is_deleted_does_not_count_any_more(configs: NamespaceConfigs) -> None:
    assert configs.count_own("acme") == 1
    stored(configs, topic_key(EU, "orders"), {"own": {"a": "1"}})
    assert configs.count_own("acme") == 1

    stored(configs, topic_key(EU, "orders"), None)
    stored(configs, namespace_key(EU), None)
    stored(configs, namespace_key(ACME), None)

    assert (configs.count_own("acme"), bool(configs), configs.own(EU, "orders")) == (0, False, {})
    configs.apply(topic_key(EU, "orders"), None)
    assert configs.count_own("acme") == 0


def test_a_plan_changes_nothing(configs: NamespaceConfigs) -> None:
    planned = configs.planned(EU, NamespaceConfig({"a": "9"}), {(EU, "clicks"): {"a": "9"}})

    assert planned.inherited(EU)["a"] == ("9", EU)
    assert not planned.inherits(EU, "clicks", "a", "9")
    assert configs.inherited(EU)["a"] == ("2", EU)
    assert configs.own(EU, "clicks") == {}


def test_a_record_that_cannot_be_understood_changes_nothing(configs: NamespaceConfigs) -> None:
    for key in (namespace_key(EU), topic_key(EU, "orders")):
        with pytest.raises(ValueError, match="run the version"):
            stored(configs, key, {"new": 1})

    assert configs.inherited(EU)["a"] == ("2", EU)
    assert configs.own(EU, "orders") == {"a": "2"}
