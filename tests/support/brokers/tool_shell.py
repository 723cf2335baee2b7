"""Kafka's own command-line tools as one client runs them again and again."""

from __future__ import annotations

from pathlib import Path

from support.brokers.kafka_cluster import KafkaTools, write_client_properties
from support.clients.endpoint import Endpoint


class ToolShell:
    """A shell whose tools are told who they are, and whose output is read as a table or as lines."""

    def __init__(self, run: KafkaTools, endpoint: Endpoint, directory: Path) -> None:
        self._run = run
        config = write_client_properties(directory / "client.properties", endpoint.for_java)
        self._options = ("--bootstrap-server", endpoint.bootstrap, "--command-config", str(config))

    def __call__(self, tool: str, *arguments: str) -> list[dict[str, str]]:
        """Run a tool, and return the table that it prints."""
        rows = [line.split() for line in self.lines(tool, *arguments) if line.strip()]
        return [dict(zip(rows[0], row, strict=False)) for row in rows[1:]]

    def lines(self, tool: str, *arguments: str) -> list[str]:
        """Run a tool, and return what it prints."""
        return self._run(tool, *self._options, *arguments).stdout.splitlines()
