"""Kafka's Java clients of any version, driven from Python: each version in a JVM of a process of its own.

The child is `java_driver.py`. Clients are kept there by number until they are closed, so that a test can have several
at once, in a transaction or in a group; what a client throws comes back as `JavaError`.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from bifrost.jars.java import find_java
from bifrost.jars.locked_jars import client_coordinates, resolve
from support.clients.endpoint import Endpoint

DRIVER = Path(__file__).with_name("java_driver.py")
SERIALIZER = "org.apache.kafka.common.serialization.StringSerializer"
DESERIALIZER = "org.apache.kafka.common.serialization.StringDeserializer"


FIRST_ON_JAVA_24 = (3, 9, 1)
"""SASL of older clients calls what Java 24 took away (Subject.getSubject, KAFKA-17078)."""


def lacks_sasl(version: str) -> bool:
    """Whether the clients of `version` cannot authenticate on the Java that would run them."""
    if tuple(map(int, version.split("."))) >= FIRST_ON_JAVA_24:
        return False
    printed = subprocess.run([find_java(), "-version"], capture_output=True, text=True, check=True).stderr
    found = re.search(r'version "(\d+)', printed)
    assert found is not None, printed
    return int(found[1]) >= 24


class JavaError(Exception):
    """What a Java client threw; `name` is the exception's class without its package."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(f"{name}: {message}")
        self.name = name


class JavaClients:
    """The clients of one version."""

    def __init__(
        self, version: str, *, driver: Path = DRIVER, coordinates: Sequence[str] | None = None
    ) -> None:
        """Describe them; the JVM is started on entering.

        Args:
            version: of the clients.
            driver: the child's script, if it is another that answers in the same form.
            coordinates: of the jars that it needs, by default the clients'.
        """
        self.version = version
        self._driver = driver
        self._coordinates = coordinates or client_coordinates(version)
        self._log = tempfile.TemporaryFile("w+")  # noqa: SIM115  # closed on leaving
        self._child: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        jars = resolve(self._coordinates)
        environment = {**os.environ, "CLASSPATH": ":".join(map(str, jars))}
        self._child = subprocess.Popen(
            [sys.executable, "-W", "ignore", str(self._driver), str(find_java())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            env=environment,
            start_new_session=True,
        )
        return self

    def __exit__(self, *_: object) -> None:
        assert self._child is not None
        self._child.kill()
        self._child.communicate()
        self._log.close()

    def kill(self) -> None:
        """End the JVM at once, in the middle of whatever its clients do."""
        assert self._child is not None
        self._child.kill()
        self._child.wait()

    def __call__(self, operation: str, *arguments: Any) -> Any:
        """Do one of the operations of `java_driver.Driver`.

        Raises:
            JavaError: the client threw.
        """
        assert self._child is not None
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._child.stdin.write(json.dumps([operation, arguments]) + "\n")
        self._child.stdin.flush()
        line = self._child.stdout.readline()
        if not line:
            raise AssertionError(f"the JVM of {self.version} ended:\n{self.log()[-4000:]}")
        kind, *answer = json.loads(line)
        if kind == "threw":
            raise JavaError(*answer)
        return answer[0]

    def log(self) -> str:
        """Return what the JVM has printed so far."""
        # Read without moving the place where the child, which has the same file, writes.
        size = os.fstat(self._log.fileno()).st_size
        return os.pread(self._log.fileno(), size, 0).decode(errors="replace")

    def producer(self, endpoint: Endpoint, **options: str) -> int:
        """Open a producer of strings; options as in Java, with `_` for `.`."""
        own = {"key.serializer": SERIALIZER, "value.serializer": SERIALIZER}
        return int(self("open", "producer", _properties(endpoint, options) | own))

    def consumer(self, endpoint: Endpoint, group: str | None = None, **options: str) -> int:
        """Open a consumer of strings, from the first record on; it commits only when told to."""
        own = {
            "key.deserializer": DESERIALIZER,
            "value.deserializer": DESERIALIZER,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": "false",
        }
        grouped = {} if group is None else {"group.id": group}
        return int(self("open", "consumer", own | grouped | _properties(endpoint, options)))

    def share_consumer(self, endpoint: Endpoint, group: str, **options: str) -> int:
        """Open a member of a share group (KIP-932, from 4.2 on).

        Polling acknowledges what was polled before, unless `share_acknowledgement_mode` is `explicit`.
        """
        own = {"key.deserializer": DESERIALIZER, "value.deserializer": DESERIALIZER, "group.id": group}
        return int(self("open", "share consumer", own | _properties(endpoint, options)))

    def admin(self, endpoint: Endpoint) -> int:
        """Open an admin client."""
        return int(self("open", "admin", _properties(endpoint, {})))

    def poll_until(self, consumer: int, count: int) -> list[list[Any]]:
        """Return `count` records as [topic, partition, offset, value], and no more if there are more at once."""
        return list(self("poll_until", consumer, count))


def _properties(endpoint: Endpoint, options: Mapping[str, str]) -> dict[str, str]:
    named = {name.replace("_", "."): value for name, value in options.items()}
    return {"bootstrap.servers": endpoint.bootstrap} | endpoint.for_java | named
