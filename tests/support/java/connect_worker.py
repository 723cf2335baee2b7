"""A distributed worker of Kafka Connect in a JVM of its own, with its file connectors, driven by its REST API."""

from __future__ import annotations

import json
import os
import re
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, Self

from bifrost.embedded.child import Child
from bifrost.embedded.kafka import DEFAULT_VERSION
from bifrost.jars.java import find_java
from bifrost.jars.locked_jars import resolve
from support.brokers.kafka_cluster import write_client_properties
from support.clients.endpoint import Endpoint
from support.gateways.gateway_process import HOST
from support.java.tool_server import JVM_OPTIONS

GROUP = "connect-cluster"
CONFIGS, OFFSETS, STATUS = "connect-configs", "connect-offsets", "connect-status"
"""The worker's three internal topics."""
START_S = 60.0
REQUEST_S = 10.0
_MAIN = "org.apache.kafka.connect.cli.ConnectDistributed"
_COORDINATES = [
    f"org.apache.kafka:connect-runtime:{DEFAULT_VERSION}",
    f"org.apache.kafka:connect-file:{DEFAULT_VERSION}",
    "org.slf4j:slf4j-simple:1.7.36",
]
_REST_SERVER = "org.apache.kafka.connect.runtime.rest.RestServer"
_STRINGS = "org.apache.kafka.connect.storage.StringConverter"


class ConnectWorker:
    """One worker; a context manager that stops it."""

    def __init__(self, endpoint: Endpoint, directory: Path) -> None:
        """Describe it.

        Args:
            endpoint: the cluster.
            directory: an empty one, for its properties and its log.
        """
        self._directory = directory
        self._child: Child | None = None
        self._log_before = 0
        properties = {
            "bootstrap.servers": endpoint.bootstrap,
            "group.id": GROUP,
            "config.storage.topic": CONFIGS,
            "offset.storage.topic": OFFSETS,
            "status.storage.topic": STATUS,
            "offset.storage.partitions": "3",
            "status.storage.partitions": "2",
            "config.storage.replication.factor": "1",
            "offset.storage.replication.factor": "1",
            "status.storage.replication.factor": "1",
            "key.converter": _STRINGS,
            "value.converter": _STRINGS,
            "listeners": f"http://{HOST}:0",
            "plugin.discovery": "service_load",
            "exactly.once.source.support": "enabled",
            "offset.flush.interval.ms": "200",
            # A worker that was killed is missed after this time, and so is its sink; its tasks are not kept for it.
            "session.timeout.ms": "6000",
            "heartbeat.interval.ms": "1000",
            "consumer.session.timeout.ms": "6000",
            "consumer.heartbeat.interval.ms": "1000",
            "scheduled.rebalance.max.delay.ms": "0",
        }
        clients = {
            f"{prefix}{key}": value
            for prefix in ("", "producer.", "consumer.", "admin.")
            for key, value in endpoint.for_java.items()
        }
        write_client_properties(directory / "connect.properties", properties | clients)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._child is not None:
            self._child.stop()

    def start(self) -> None:
        """Start it; `await_ready` waits."""
        level = "-Dorg.slf4j.simpleLogger."
        logger = [f"{level}defaultLogLevel=warn", f"{level}log.{_REST_SERVER}=info"]
        self._log_before = len(self.log())
        command = [find_java(), *JVM_OPTIONS, *logger, _MAIN, self._directory / "connect.properties"]
        environment = {**os.environ, "CLASSPATH": ":".join(map(str, resolve(_COORDINATES)))}
        self._child = Child(command, log_file=self._directory / "connect.log", env=environment)

    def kill(self) -> None:
        """End it at once, in the middle of whatever it does."""
        assert self._child is not None
        self._child.kill()
        self._child = None

    def stop(self) -> None:
        """Stop it in order, and check that it ends so."""
        assert self._child is not None
        assert self._child.exit_status() is None, self.log()
        assert self._child.stop(), f"it did not end by SIGTERM:\n{self.log()}"
        self._child = None

    def log(self) -> str:
        """Return what it has printed so far."""
        file = self._directory / "connect.log"
        return file.read_text(encoding="utf-8") if file.exists() else ""

    # -- its REST API

    def await_ready(self) -> None:
        """Wait until it has joined its group and read its topics."""
        self._await("/connectors", lambda answer: isinstance(answer, list))

    def configure(self, name: str, config: dict[str, str]) -> None:
        """Create a connector, or give it another configuration."""
        self._ask(f"/connectors/{name}/config", config)

    def status(self, name: str) -> Any:
        """Wait until a connector and its only task run, and return what its status is."""
        return self._await(f"/connectors/{name}/status", _runs)

    def _await(self, path: str, is_so: Any) -> Any:
        deadline = time.monotonic() + START_S
        while True:
            answer: Any = None
            try:
                answer = self._ask(path)
            except OSError as error:
                answer = error
            else:
                if is_so(answer):
                    return answer
            assert self._child is not None
            assert self._child.exit_status() is None, self.log()
            assert time.monotonic() < deadline, f"{path}: {answer}\n{self.log()}"
            time.sleep(0.2)

    def _ask(self, path: str, body: object = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        # A port that it chose itself: one chosen for it could be another's by the time it listens.
        listening = re.search(r"REST server listening at (http://[\d.:]+)/", self.log()[self._log_before :])
        if listening is None:
            raise ConnectionError("it does not listen yet")
        url = f"{listening[1]}{path}"
        request = urllib.request.Request(url, data, headers, method="GET" if data is None else "PUT")
        with urllib.request.urlopen(request, timeout=REQUEST_S) as response:
            return json.load(response)


def _runs(status: Any) -> bool:
    states = [status["connector"]["state"], *(task["state"] for task in status["tasks"])]
    return states == ["RUNNING", "RUNNING"]
