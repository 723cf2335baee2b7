"""Kafka Connect: a distributed worker with a file source and sink, under the same names at three clusters at once.

The source runs with Connect's exactly-once support: what the worker commits are transactions, and the worker itself
fences the producer that had its place before.
"""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

import pytest

from support.clients.endpoint import Endpoint
from support.java.connect_worker import CONFIGS, GROUP, OFFSETS, STATUS, ConnectWorker
from support.journal.records import read_committed
from support.pages.console import CONSUMER_GROUPS, GROUPS, TOPICS, TRANSACTIONS, Console, play_everywhere

TOPIC = "connect-lines"
COPIED_S = 60.0
FILES = "org.apache.kafka.connect.file"


@pytest.mark.timeout(240)
def test_files_are_copied(consoles: list[Console], endpoints: dict[str, Endpoint], tmp_path: Path) -> None:
    play_everywhere(lambda console: console(TOPICS, "--create", "--topic", TOPIC), consoles)

    with contextlib.ExitStack() as stack:
        workers = {}
        for owner, endpoint in endpoints.items():
            directory = tmp_path / owner
            directory.mkdir()
            workers[owner] = stack.enter_context(ConnectWorker(endpoint, directory))
            workers[owner].start()
        for owner, worker in workers.items():
            append(tmp_path / owner, owner, range(100))
            worker.await_ready()
            configure(worker, tmp_path / owner)
        for owner, endpoint in endpoints.items():
            await_copied(tmp_path / owner, owner, range(100))
            await_written(endpoint, owner, range(100))

        for worker in workers.values():
            worker.kill()
        for owner, worker in workers.items():
            append(tmp_path / owner, owner, range(100, 200))
            worker.start()
        for owner, endpoint in endpoints.items():
            await_copied(tmp_path / owner, owner, range(200))
            await_written(endpoint, owner, range(200))
        for worker in workers.values():
            assert [worker.status(name)["type"] for name in ("source", "sink")] == ["source", "sink"]

        play_everywhere(describe, consoles)
        for worker in workers.values():
            worker.stop()


def configure(worker: ConnectWorker, directory: Path) -> None:
    source = {"connector.class": f"{FILES}.FileStreamSourceConnector", "topic": TOPIC}
    worker.configure("source", source | {"tasks.max": "1", "file": str(directory / "source.txt")})
    sink = {"connector.class": f"{FILES}.FileStreamSinkConnector", "topics": TOPIC}
    worker.configure("sink", sink | {"tasks.max": "1", "file": str(directory / "sink.txt")})


def describe(console: Console) -> None:
    for topic in (CONFIGS, OFFSETS, STATUS):
        console(TOPICS, "--describe", "--topic", topic, prints="cleanup.policy=compact")
    console(GROUPS, "--list", prints=f"{GROUP} Classic connect")
    console(CONSUMER_GROUPS, "--describe", "--group", "connect-sink", "--state", prints="Stable 1")
    own = ["--transactional-id-pattern", f"{GROUP}-.*"]
    console(TRANSACTIONS, "list", *own, made_up=("ProducerId",), prints=f"{GROUP}-source-0")


def lines_of(owner: str, numbers: range) -> list[str]:
    return [f"{owner} line {number}" for number in numbers]


def append(directory: Path, owner: str, numbers: range) -> None:
    with (directory / "source.txt").open("a", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines_of(owner, numbers))


def await_written(endpoint: Endpoint, owner: str, numbers: range) -> None:
    """Wait until every line is in the topic, once and in order, and committed: the sink is given it before that."""
    deadline = time.monotonic() + COPIED_S
    expected = lines_of(owner, numbers)
    while (values := [value.decode() for _, value in read_committed(endpoint, TOPIC)]) != expected:
        assert values == expected[: len(values)]
        assert time.monotonic() < deadline, f"{len(values)} lines of {len(expected)}"
        time.sleep(0.2)


def await_copied(directory: Path, owner: str, numbers: range) -> None:
    """Wait until every line is in the sink's file, in order.

    A sink that was killed writes again what it had written and not committed: such repetitions are left out.
    """
    file = directory / "sink.txt"
    expected = lines_of(owner, numbers)
    deadline = time.monotonic() + COPIED_S
    while True:
        # A killed one may leave half a line behind.
        copied = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
        if list(dict.fromkeys(line for line in copied if line in expected)) == expected:
            break
        assert time.monotonic() < deadline, f"{len(copied)} lines of {len(expected)}: {copied[-3:]}"
        time.sleep(0.2)
    strange = [line for line in copied if not any(whole.startswith(line) for whole in expected)]
    assert strange == []
