"""`bifrost state`: a state is exported, restored on another cluster, and verified."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.state.state_change import Author, Change
from bifrost.state.state_key import StateKey
from bifrost.state.state_record import StateRecord, encode
from support.gateways.gateway_process import HOST
from support.state_clients import reading, write_raw

pytestmark = pytest.mark.timeout(300)

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run `bifrost state` against a cluster and a topic; return exit status, output and errors."""

    def command(bootstrap: str, topic: str, *arguments: str) -> tuple[int, str, str]:
        ports = {"advertised_host": HOST, "bootstrap_port": 9092}
        listener = {"name": "only", "security_protocol": "PLAINTEXT", "tenant": "acme", "port_range": ports}
        config = {
            "proxy": {"listener_sets": [listener], "state": {"topic": topic}},
            "upstream": {"bootstrap": bootstrap.split(",")},
            "tenants": [{"name": "acme"}],
        }
        (tmp_path / "proxy.yaml").write_text(yaml.safe_dump(config))
        done = subprocess.run(
            [sys.executable, "-m", "bifrost.cli.main", "state", *arguments, "--config", "proxy.yaml"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=150,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    return command


async def fill(bootstrap: str, topic: str) -> None:
    author = Author("test/1", "User:operator")
    async with reading(bootstrap, topic) as one:
        keys = [StateKey("alias", name) for name in "abc"]
        await one.writer.change([Change(key, 0, {"text": "ü"}) for key in keys], author)
        await one.writer.change([Change(keys[0], 1, {"n": 2}), Change(keys[1], 1, None)], author)


async def add(bootstrap: str, topic: str, record: StateRecord) -> None:
    async with reading(bootstrap, topic) as one:
        await write_raw(one, record.key.to_bytes(), encode(record))


def test_a_state_is_restored_on_another_cluster_and_equal_there(
    kafka: EmbeddedKafka, kafka_cluster: EmbeddedKafka, run: Run, tmp_path: Path
) -> None:
    topic = f"__state-{time.time_ns()}"
    asyncio.run(fill(kafka.bootstrap, topic))

    assert run(kafka.bootstrap, topic, "export", "state.jsonl") == (
        0,
        "3 records written to state.jsonl\n",
        "",
    )
    status, output, errors = run(kafka_cluster.bootstrap, topic, "import", "state.jsonl")
    assert (status, output, errors) == (0, "3 records restored from state.jsonl\n", "")
    status, output, errors = run(kafka_cluster.bootstrap, topic, "verify", "--against", "state.jsonl")
    assert (status, errors) == (0, "")
    assert output.startswith("ok: 3 records, 1 of them deleted, ")
    assert output.endswith(" bytes, equal to state.jsonl\n")
    assert run(kafka_cluster.bootstrap, topic, "export", "again.jsonl")[0] == 0
    assert (tmp_path / "again.jsonl").read_bytes() == (tmp_path / "state.jsonl").read_bytes()

    status, _, errors = run(kafka_cluster.bootstrap, topic, "import", "state.jsonl")
    assert status == 1
    assert "error: the state has 3 records already, and only an empty one can be restored" in errors


def test_verify_finds_what_a_foreign_writer_has_done(kafka: EmbeddedKafka, run: Run) -> None:
    topic = f"__state-{time.time_ns()}"
    asyncio.run(fill(kafka.bootstrap, topic))
    assert run(kafka.bootstrap, topic, "export", "state.jsonl")[0] == 0

    asyncio.run(add(kafka.bootstrap, topic, StateRecord(StateKey("alias", "d"), 1, 0, "x", "w", None, {})))
    status, _, errors = run(kafka.bootstrap, topic, "verify", "--against", "state.jsonl")
    assert (status, errors) == (1, "error: alias:d: not in the export\nerror: 1 mistakes in 4 records\n")

    asyncio.run(
        add(kafka.bootstrap, topic, StateRecord(StateKey("alias", "a"), 2, 0, "d", "rogue", None, {}))
    )
    status, _, errors = run(kafka.bootstrap, topic, "verify")
    assert status == 1
    assert "version 2 by rogue is not newer than 2, and counts for nothing" in errors


def test_a_state_that_is_not_there_is_neither_exported_nor_created(kafka: EmbeddedKafka, run: Run) -> None:
    topic = f"__state-{time.time_ns()}"

    for command in (["export", "state.jsonl"], ["verify"]):
        status, _, errors = run(kafka.bootstrap, topic, *command)
        assert (status, errors) == (1, f"error: topic {topic}: UNKNOWN_TOPIC_OR_PARTITION\n")
