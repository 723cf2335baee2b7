from __future__ import annotations

import base64

import pytest

from bifrost.embedded.properties import (
    change_properties,
    cluster_properties,
    format_properties,
    random_id,
    read_properties,
)


def test_properties_survive_being_written_and_read() -> None:
    properties = {"a": "1", "path": "C:\\data", "with.equals": "x=y"}

    assert read_properties("#comment\n" + format_properties(properties)) == properties


def test_only_named_keys_change() -> None:
    text = "#\nversion=1\nnode.id=1\ndirectory.id=abc\n"

    changed = change_properties(text, {"node.id": "2"})

    assert changed == "#\nversion=1\nnode.id=2\ndirectory.id=abc\n"


@pytest.mark.parametrize(("brokers", "replicas", "in_sync"), [(1, "1", "1"), (2, "2", "2"), (5, "3", "2")])
def test_replication_follows_the_number_of_brokers(brokers: int, replicas: str, in_sync: str) -> None:
    properties = cluster_properties(brokers)

    for topic in ("offsets.topic", "transaction.state.log", "share.coordinator.state.topic"):
        assert properties[f"{topic}.replication.factor"] == replicas
    assert properties["default.replication.factor"] == replicas
    assert properties["min.insync.replicas"] == in_sync
    assert properties["transaction.state.log.min.isr"] == in_sync


def test_single_broker_keeps_kafkas_patience() -> None:
    # No other broker could notice that it is gone; a slow machine must not fence it.
    assert "broker.session.timeout.ms" not in cluster_properties(1)
    assert "broker.session.timeout.ms" in cluster_properties(3)


def test_random_id_is_sixteen_bytes_and_no_option() -> None:
    ids = {random_id() for _ in range(500)}

    assert len(ids) == 500
    assert all(len(base64.urlsafe_b64decode(text + "==")) == 16 for text in ids)
    assert not [text for text in ids if text.startswith("-")]
