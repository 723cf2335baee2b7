"""A client in a process of its own that can be killed at any moment, and what it had done until then.

It writes numbered records, by an idempotent producer or in transactions, or reads them as a member of a group. A line
of its output is a record that was acknowledged, or whose transaction was, or that was read; it is written at once, so
the last whole line of a killed process is true.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bifrost.embedded.child import Child
from bifrost.embedded.kafka import DEFAULT_VERSION
from bifrost.jars.java import find_java
from bifrost.jars.locked_jars import client_coordinates, resolve
from support.clients.endpoint import Endpoint
from support.clients_of_other_languages import other_client

FIRST_OF_NEXT = 1_000_000
"""How far the numbers of a successor are from those of the one before: more than any has written."""
KINDS = ("idempotent", "transactional", "reader")

_HERE = Path(__file__).parent
_OPERATIONS = {"idempotent": "write", "transactional": "transact", "reader": "read"}
_QUIET = 'exec "$@" 2>> "$ERRORS"'
"""What libraries print stands in a file of its own."""


def _python(program: str, settings: Callable[[Endpoint], Any]) -> Callable[[Endpoint], tuple[list[str], Any]]:
    return lambda endpoint: ([sys.executable, "-W", "ignore", str(_HERE / program)], settings(endpoint))


def _java(endpoint: Endpoint) -> tuple[list[str], Any]:
    jars = [str(one) for one in resolve(client_coordinates(DEFAULT_VERSION))]
    client = {"bootstrap.servers": endpoint.bootstrap, **endpoint.for_java}
    settings = {"properties": client, "java": str(find_java()), "classpath": jars}
    return [sys.executable, "-W", "ignore", str(_HERE / "java_life.py")], settings


LIBRARIES: dict[str, Callable[[Endpoint], tuple[list[str], Any]]] = {
    "librdkafka": _python("librdkafka_life.py", lambda one: one.for_confluent),
    "kafka-python": _python("kafka_python_life.py", lambda one: one.for_python),
    "aiokafka": _python("aiokafka_life.py", lambda one: one.for_aiokafka),
    "Java": _java,
}
"""The command and the settings of each library whose program is Python; other names are those of `other_client`."""


class MortalClient:
    """One kind of client; each that is killed has a successor."""

    def __init__(
        self,
        directory: Path,
        kind: str,
        endpoint: Endpoint,
        topic: str,
        partitions: int,
        library: str = "librdkafka",
    ) -> None:
        """Describe it.

        Args:
            directory: where its output goes.
            kind: one of `KINDS`; a `reader` is one of the group that `group_of` names.
            endpoint: where it connects.
            topic: the one that it writes to or reads.
            partitions: how many the topic has.
            library: one of `LIBRARIES` or of `clients_of_other_languages`.
        """
        self._directory, self.kind = directory, kind
        self._settings: dict[str, Any] = {
            "kind": kind,
            "topic": topic,
            "partitions": partitions,
            "group": group_of(topic),
            "transactional_id": transactional_id_of(topic),
        }
        if library in LIBRARIES:
            self._command, self._settings["client"] = LIBRARIES[library](endpoint)
        else:
            self._command = list(other_client(library).command)
            self._settings = {
                "operation": _OPERATIONS[kind],
                "kind": kind,
                "bootstrap": endpoint.bootstrap,
                "username": endpoint.username,
                "password": endpoint.password,
                "mechanism": endpoint.mechanism,
                "topic": topic,
                "partitions": partitions,
                "group": group_of(topic),
                "transactionalID": transactional_id_of(topic),
            }
        self._child: Child | None = None
        self._lives = 0

    def start(self) -> None:
        """Start it, or its successor."""
        settings = json.dumps(self._settings | {"first": self._lives * FIRST_OF_NEXT})
        self._lives += 1
        env = os.environ | {"PYTHONPATH": str(_HERE.parents[1]), "ERRORS": str(self._errors)}
        command = ["/bin/sh", "-c", _QUIET, "mortal", *self._command, settings]
        self._child = Child(command, log_file=self._log(self._lives), env=env)

    def kill(self) -> None:
        """End it at once."""
        assert self._child is not None
        self._child.kill()
        self._child = None

    def end(self) -> None:
        """End it if it runs."""
        if self._child is not None:
            self.kill()

    @property
    def done(self) -> list[str]:
        """The values of the records of all its lives, in the order in which they were told."""
        if self._child is not None:
            status = self._child.exit_status()
            assert status is None, f"{self.kind} ended with {status}:\n{self._errors.read_text()[-3000:]}"
        found: list[str] = []
        for life in range(1, self._lives + 1):
            text = self._log(life).read_text(encoding="utf-8")
            whole = text[: text.rfind("\n") + 1].splitlines()
            failed = [line for line in whole if not line.startswith(">")]
            assert failed == [], failed
            found += [line[1:] for line in whole]
        return found

    def _log(self, life: int) -> Path:
        return self._directory / f"{self.kind}-{life}.log"

    @property
    def _errors(self) -> Path:
        return self._directory / f"{self.kind}.errors"


def group_of(topic: str) -> str:
    """Return the group of those that read a topic."""
    return f"readers-of-{topic}"


def transactional_id_of(topic: str) -> str:
    """Return the transactional ID of the one that writes to a topic in transactions."""
    return f"mortal-of-{topic}"
