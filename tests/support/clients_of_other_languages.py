"""franz-go (Go) and KafkaJS (Node.js) for the tests: their users must notice the gateway as little as those of Java.

Each operation is a process that reads what it is to do from its standard input, and writes what it has read from the
topic, both as JSON. `franz/main.go` and `kafkajs/client.js` are the programs; their libraries are fetched by `go` and
`npm` when a test first needs them, by the checksums in `go.sum` and `package-lock.json`.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support.clients.endpoint import Endpoint
from support.skips.optional_parts import GO, NODE, lacks

SUPPORT = Path(__file__).parent
BUILT = SUPPORT.parents[1] / "build" / "clients"
FETCH_TIMEOUT_S, BUILD_TIMEOUT_S = 120, 900
TIMEOUT_S = 60.0
CLIENTS = ("franz-go", "KafkaJS")


class ClientError(Exception):
    """An operation has failed; the text is what the library said."""


@dataclass(frozen=True)
class OtherClient:
    """A client library of another language."""

    command: tuple[str, ...]

    def produce(
        self, endpoint: Endpoint, topic: str, values: Mapping[int, Sequence[str]], **options: Any
    ) -> None:
        """Send values to partitions, in their order, until all are acknowledged.

        Args:
            endpoint: where to connect.
            topic: the topic.
            values: by partition.
            options: `isIdempotent`, and `transactionalID` to send them in a transaction.
        Raises:
            ClientError: the client has failed.
        """
        most = max(map(len, values.values()))
        records = [
            {"partition": partition, "value": own[number]}
            for number in range(most)
            for partition, own in values.items()
            if number < len(own)
        ]
        self._do(endpoint, "produce", topic, {"records": records, **options})

    def consume(
        self, endpoint: Endpoint, topic: str, group: str, count: int
    ) -> tuple[dict[int, list[str]], dict[int, int]]:
        """Read so many records as the only member of a group, and commit behind them.

        Returns:
            The values by partition, in the order in which they came, and behind which offsets they end.
        Raises:
            ClientError: the client has failed, or they did not come in time.
        """
        found: dict[int, list[str]] = defaultdict(list)
        ends: dict[int, int] = {}
        for one in self._do(endpoint, "consume", topic, {"group": group, "count": count}):
            found[one["partition"]].append(one["value"])
            ends[one["partition"]] = one["offset"] + 1
        return dict(found), ends

    def _do(self, endpoint: Endpoint, operation: str, topic: str, options: Mapping[str, Any]) -> list[Any]:
        order = {
            "operation": operation,
            "bootstrap": endpoint.bootstrap,
            "username": endpoint.username,
            "password": endpoint.password,
            "mechanism": endpoint.mechanism,
            "topic": topic,
            "group": "",
            "transactionalID": "",
            "isIdempotent": False,
            "timeoutMs": int(TIMEOUT_S * 1000),
            **options,
        }
        done = subprocess.run(
            self.command,
            input=json.dumps(order),
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S + 10,
            check=False,
        )
        if done.returncode != 0:
            raise ClientError(done.stderr[-2000:])
        found: list[Any] = json.loads(done.stdout)
        return found


def other_client(name: str) -> OtherClient:
    """Return a client library, fetched and built; the test is skipped where it cannot be had."""
    return OtherClient(_franz() if name == "franz-go" else _kafkajs())


def _franz() -> tuple[str, ...]:
    source, go = SUPPORT / "franz", shutil.which("go")
    if go is None:
        pytest.skip(lacks(GO))
    program = BUILT / f"franz-{_digest(source, 'go.mod', 'go.sum', 'main.go')}"
    with _Lock():
        if not program.exists():
            _fetch([go, "mod", "download"], source, GO)
            new = program.with_suffix(".new")
            subprocess.run(
                [go, "build", "-buildvcs=false", "-o", str(new), "."],
                cwd=source,
                timeout=BUILD_TIMEOUT_S,
                check=True,
            )
            new.rename(program)
    return (str(program),)


def _kafkajs() -> tuple[str, ...]:
    source, node, npm = SUPPORT / "kafkajs", shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        pytest.skip(lacks(NODE))
    files = ("package.json", "package-lock.json", "client.js")
    folder = BUILT / f"kafkajs-{_digest(source, *files)}"
    with _Lock():
        if not folder.exists():
            new = folder.with_suffix(".new")
            shutil.rmtree(new, ignore_errors=True)
            new.mkdir()
            for one in files:
                shutil.copy(source / one, new)
            _fetch([npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts"], new, NODE)
            new.rename(folder)
    return node, str(folder / "client.js")


def _fetch(command: list[str], folder: Path, part: str) -> None:
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=FETCH_TIMEOUT_S, check=False
    )
    if done.returncode != 0:
        pytest.skip(lacks(part, f"its library cannot be fetched: {done.stderr.strip()[-200:]}"))


def _digest(folder: Path, *names: str) -> str:
    return hashlib.sha256(b"\0".join((folder / name).read_bytes() for name in names)).hexdigest()[:16]


class _Lock:
    """Only one process of a test run fetches and builds."""

    def __enter__(self) -> None:
        BUILT.mkdir(parents=True, exist_ok=True)
        self._file = (BUILT / "lock").open("w")
        fcntl.flock(self._file, fcntl.LOCK_EX)

    def __exit__(self, *_: object) -> None:
        self._file.close()
