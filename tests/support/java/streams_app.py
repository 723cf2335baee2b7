"""Kafka Streams' own example, WordCountDemo, in a JVM of its own, as any user would run it: with a properties file."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Self

from bifrost.embedded.child import Child
from bifrost.embedded.kafka import DEFAULT_VERSION
from bifrost.jars.java import find_java
from bifrost.jars.locked_jars import resolve
from support.brokers.kafka_cluster import write_client_properties
from support.clients.endpoint import Endpoint
from support.java.tool_server import JVM_OPTIONS

INPUT, OUTPUT = "streams-plaintext-input", "streams-wordcount-output"
"""Its topics: the example gives them these names itself."""
_MAIN = "org.apache.kafka.streams.examples.wordcount.WordCountDemo"
COORDINATES = [f"org.apache.kafka:kafka-streams-examples:{DEFAULT_VERSION}", "org.slf4j:slf4j-simple:1.7.36"]


class WordCount:
    """The application at one cluster; a context manager that stops it."""

    def __init__(self, endpoint: Endpoint, application_id: str, protocol: str, directory: Path) -> None:
        """Describe it.

        Args:
            endpoint: the cluster.
            application_id: its group ID, and what the names of its internal topics and transactional IDs begin with.
            protocol: `classic` or `streams` (KIP-1071).
            directory: an empty one, for its state, its properties and its log.
        """
        self._directory = directory
        self._child: Child | None = None
        properties = {
            "bootstrap.servers": endpoint.bootstrap,
            "application.id": application_id,
            "group.protocol": protocol,
            "processing.guarantee": "exactly_once_v2",
            "state.dir": str(directory / "state"),
            "commit.interval.ms": "100",
            # A killed member is missed after this time, and its transactions are aborted.
            "session.timeout.ms": "6000",
            "heartbeat.interval.ms": "1000",
            "transaction.timeout.ms": "6000",
        }
        write_client_properties(directory / "streams.properties", properties | endpoint.for_java)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._child is not None:
            self._child.stop()

    def start(self) -> None:
        """Start it; when it has its tasks shows in what it writes."""
        logger = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
        command = [find_java(), *JVM_OPTIONS, logger, _MAIN, self._directory / "streams.properties"]
        environment = {**os.environ, "CLASSPATH": ":".join(map(str, resolve(COORDINATES)))}
        self._child = Child(command, log_file=self._directory / "streams.log", env=environment)

    def kill(self) -> None:
        """End it at once, in the middle of whatever it does."""
        assert self._child is not None
        self._child.kill()
        self._child = None

    def lose_state(self) -> None:
        """Remove what it keeps on disk, so that it must restore it from the cluster."""
        shutil.rmtree(self._directory / "state")

    def stop(self) -> None:
        """Stop it in order, and check that it ends so."""
        assert self._child is not None
        assert self._child.exit_status() is None, self.log()
        assert self._child.stop(), f"it did not end by SIGTERM:\n{self.log()}"
        self._child = None

    def log(self) -> str:
        """Return what it has printed so far."""
        return (self._directory / "streams.log").read_text(encoding="utf-8")
