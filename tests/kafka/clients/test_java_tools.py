"""Kafka's console tools, each in a JVM of its own as a user starts it, as two tenants with the same names.

tests/applications/ has every command of every tool, beside what it prints without a gateway.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from support.brokers import kafka_cluster as tools
from support.brokers.kafka_cluster import KafkaTools, write_client_properties
from support.clients.endpoint import Endpoint
from support.gateways.gateway_fixtures import FreshTopic, UniqueName
from support.physical_names import MARK


class Shell:
    """A shell whose tools are told who they are."""

    def __init__(self, run: KafkaTools, endpoint: Endpoint, directory: Path) -> None:
        self._run = run
        path = directory / f"{endpoint.username}.properties"
        self._config = str(write_client_properties(path, endpoint.for_java))
        self._server = ("--bootstrap-server", endpoint.bootstrap)

    def __call__(self, tool: str, *arguments: str, stdin: str = "") -> list[str]:
        """Run a tool and return the lines it prints."""
        config = ("--command-config", self._config)
        return self._run(tool, *self._server, *config, *arguments, stdin=stdin).stdout.splitlines()


@pytest.fixture
def shells(
    kafka_tool: KafkaTools, acme: Endpoint, globex: Endpoint, fresh_topic: FreshTopic, tmp_path: Path
) -> dict[str, Shell]:
    for tenant in ("acme", "globex"):
        fresh_topic(tenant, "orders", partitions=2)
    return {
        name: Shell(kafka_tool, endpoint, tmp_path) for name, endpoint in (("acme", acme), ("globex", globex))
    }


def test_two_tenants_use_the_same_names_at_the_console(shells: dict[str, Shell], unique: UniqueName) -> None:
    group = unique("console")
    for name, shell in shells.items():
        lines = "".join(f"{name} {number}\n" for number in range(7))
        shell(tools.CONSOLE_PRODUCER, "--topic", "orders", stdin=lines)

    for name, shell in shells.items():
        options = ("--topic", "orders", "--group", group, "--from-beginning", "--max-messages", "7")
        assert sorted(shell(tools.CONSOLE_CONSUMER, *options)) == [f"{name} {number}" for number in range(7)]

    for shell in shells.values():
        offsets = shell(tools.GET_OFFSETS, "--topic", "orders")
        assert sum(int(line.rpartition(":")[2]) for line in offsets) == 7
        rows = _table(shell(tools.CONSUMER_GROUPS, "--describe", "--group", group))
        assert {(row["GROUP"], row["TOPIC"]) for row in rows} == {(group, "orders")}
        assert {row["LAG"] for row in rows} <= {"0", "-"}


def test_topics_at_the_console(shells: dict[str, Shell]) -> None:
    shell = shells["acme"]

    described = shell(tools.TOPICS, "--describe", "--topic", "orders")
    listed = shell(tools.TOPICS, "--list")

    assert described[0].split("\t")[0] == "Topic: orders"
    assert len(described) == 3
    assert "orders" in listed
    assert set(listed) <= {"orders", "billing", "events", "audit.log"}
    assert not any(MARK in line for line in described)


def _table(lines: list[str]) -> list[dict[str, str]]:
    """Read what a tool prints as a table."""
    rows = [line.split() for line in lines if line.strip()]
    return [dict(zip(rows[0], row, strict=False)) for row in rows[1:]]
