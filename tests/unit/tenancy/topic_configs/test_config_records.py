from typing import Any

import pytest

from bifrost.state.state_key import StateKey
from bifrost.tenancy.namespaces.namespace_path import InvalidNamespace, Path
from bifrost.tenancy.topic_configs.config_records import (
    MAX_EARLIER,
    TOPIC_KIND,
    NamespaceConfig,
    namespace_body,
    namespace_key,
    read_namespace_body,
    read_topic_body,
    read_topic_key,
    topic_body,
    topic_key,
)

EU = Path(("acme", "eu"))


def test_what_a_namespace_had_is_remembered_the_latest_last() -> None:
    found = NamespaceConfig()
    for value in ("1", "2", "3", "1"):
        found = found.changed({"retention.ms": value})

    assert found.configs == {"retention.ms": "1"}
    assert found.earlier == {"retention.ms": ("2", "3")}
    assert found.values("retention.ms") == {"1", "2", "3"}
    gone = found.changed({"retention.ms": None})
    assert (gone.configs, gone.values("retention.ms")) == ({}, {"1", "2", "3"})


def test_only_so_many_earlier_values_are_remembered() -> None:
    found = NamespaceConfig()
    for value in range(50):
        found = found.changed({"retention.ms": str(value)})

    assert found.earlier["retention.ms"] == tuple(str(one) for one in range(49 - MAX_EARLIER, 49))


def test_what_stays_leaves_no_trace() -> None:
    assert NamespaceConfig().changed({"a": "1"}).changed({"a": "1"}).earlier == {}


def test_keys_name_the_namespace_and_the_topic() -> None:
    assert str(namespace_key(EU)) == "namespace-config:acme:eu"
    key = topic_key(EU, "orders")
    assert str(key) == "topic-config:acme:eu/orders"
    assert read_topic_key(key) == (EU, "orders")
    with pytest.raises(InvalidNamespace):
        read_topic_key(StateKey(TOPIC_KIND, "/orders"))


def test_bodies_come_back() -> None:
    configs = NamespaceConfig({"a": "1"}, {"a": ("2", "3")})

    assert read_namespace_body(namespace_body(configs)) == configs
    assert read_topic_body(topic_body({"a": "1"})) == {"a": "1"}


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"configs": {}},
        {"configs": {"a": 1}, "earlier": {}},
        {"configs": {}, "earlier": {"a": "1"}},
        {"configs": {}, "earlier": {"a": [1]}},
        {"configs": {}, "earlier": [], "more": 1},
    ],
)
def test_what_another_version_has_written_is_refused(body: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="run the version of the gateway that wrote it"):
        read_namespace_body(body)


@pytest.mark.parametrize("body", [{}, {"own": []}, {"own": {"a": None}}, {"own": {}, "more": 1}])
def test_so_is_a_topics(body: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="run the version of the gateway that wrote it"):
        read_topic_body(body)
