"""Transforms of the operator's own on a real Kafka: what they change, how they fail, and what clients are told."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from bifrost.embedded.kafka import EmbeddedKafka
from support.clients.confluent_reading import read
from support.clients.endpoint import Endpoint
from support.gateways import admin_port
from support.gateways.gateway_fixtures import FreshTopic
from support.gateways.gateway_process import GLOBEX, GatewayProcess
from support.physical_names import physical_name
from support.records.transforms import BY_VALUE

pytestmark = pytest.mark.timeout(300)

WAIT_S = 90.0
CLOSED, OPEN, FETCHED, RELOADED = "own-closed", "own-open", "own-fetched", "own-reloaded"
LEAVES_OUT = """
import pyarrow.compute as pc
def transform(batch, context):
    if b"error" in batch.column("value").to_pylist():
        raise ValueError
    return batch.filter(pc.not_equal(batch.column("value"), b"hidden"))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the transforms."""
    found = tmp_path_factory.mktemp("own-transforms")
    (found / "by_value.py").write_text(BY_VALUE)
    (found / "reloaded.py").write_text(BY_VALUE)
    (found / "leaves_out.py").write_text(LEAVES_OUT)
    return found


@pytest.fixture(scope="module")
def transforming(
    kafka: EmbeddedKafka, folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[GatewayProcess]:
    def of(topic: str, file: str, direction: str, **config: Any) -> dict[str, Any]:
        own = {"transform_file": str(folder / file), "timeout_ms": "5s", "max_memory_bytes": "64MiB"}
        rules = [{"topics": [topic], "direction": direction}]
        return {"name": "PythonTransform", "label": topic, "config": own | config, "rules": rules}

    def adjust(config: dict[str, Any]) -> None:
        config["tenants"][0]["filters"] = [
            of(CLOSED, "by_value.py", "produce"),
            of(OPEN, "by_value.py", "produce", fail="open"),
            of(FETCHED, "leaves_out.py", "fetch"),
            of(RELOADED, "reloaded.py", "produce"),
        ]

    options: dict[str, Any] = {"tenants": [GLOBEX], "adjust": adjust, "has_admin": True}
    with GatewayProcess(tmp_path_factory.mktemp("transforming"), kafka.bootstrap, **options) as process:
        yield process


@pytest.fixture
def endpoint(transforming: GatewayProcess, fresh_topic: FreshTopic) -> Endpoint:
    for topic in (CLOSED, OPEN, FETCHED, RELOADED):
        fresh_topic("globex", topic)
    return transforming.endpoint("globex")


def send(endpoint: Endpoint, topic: str, *values: bytes, **options: Any) -> list[KafkaError | None]:
    """Produce values in one batch, and return what became of each."""
    own = {"linger.ms": 200, "enable.idempotence": True, **options}
    producer = Producer(endpoint.for_confluent | own)
    told: list[KafkaError | None] = []
    for value in values:
        producer.produce(topic, value, b"k", callback=lambda *one: told.append(one[0]))
    producer.flush(WAIT_S)
    assert len(told) == len(values)
    return told


def stored(broker: Endpoint, topic: str, count: int) -> list[bytes]:
    return [one.value() for one in read(broker, physical_name("globex", topic), count)]


def end_offset(broker: Endpoint, topic: str) -> int:
    with closing(Consumer(broker.for_confluent | {"group.id": "own-unused"})) as consumer:
        place = TopicPartition(physical_name("globex", topic), 0)
        return int(consumer.get_watermark_offsets(place, timeout=WAIT_S)[1])


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_the_broker_gets_what_the_transform_makes(endpoint: Endpoint, broker: Endpoint, codec: str) -> None:
    told = send(
        endpoint, CLOSED, *[b"value %d" % number for number in range(300)], **{"compression.type": codec}
    )

    assert told == [None] * 300
    assert stored(broker, CLOSED, 300) == [b"MARK"] * 300


@pytest.mark.parametrize("what", [b"crash", b"loop", b"bomb", b"error", b"fewer"])
def test_a_failure_keeps_a_batch_from_the_broker_and_no_other(
    endpoint: Endpoint, broker: Endpoint, what: bytes
) -> None:
    codes = {error.code() for error in send(endpoint, CLOSED, what, b"x") if error}

    assert codes == {KafkaError.INVALID_RECORD}
    assert end_offset(broker, CLOSED) == 0
    assert send(endpoint, CLOSED, b"fine") == [None]
    assert stored(broker, CLOSED, 1) == [b"MARK"]


def test_fail_open_lets_a_batch_pass_and_counts_it(
    endpoint: Endpoint, broker: Endpoint, transforming: GatewayProcess
) -> None:
    assert send(endpoint, OPEN, b"error", b"x") == [None, None]

    assert stored(broker, OPEN, 2) == [b"error", b"x"]
    labels = {"tenant": "globex", "filter": OPEN}
    passed = admin_port.value(
        transforming, "kafka_proxy_transform_passed_batches_total", direction="produce", **labels
    )
    failed = admin_port.value(
        transforming, "kafka_proxy_python_transform_failures_total", reason="exception", **labels
    )
    assert passed >= 1
    assert failed >= 1


def test_on_fetch_records_may_be_left_out(endpoint: Endpoint) -> None:
    send(endpoint, FETCHED, b"a", b"hidden", b"b")
    send(endpoint, FETCHED, b"hidden")
    send(endpoint, FETCHED, b"c")

    found = read(endpoint, FETCHED, 3)

    assert [(one.offset(), one.value()) for one in found] == [(0, b"a"), (2, b"b"), (4, b"c")]


def test_on_fetch_a_failure_is_an_error_of_the_partition(endpoint: Endpoint) -> None:
    send(endpoint, FETCHED, b"a")
    send(endpoint, FETCHED, b"error")

    assert [one.value() for one in read(endpoint, FETCHED, 1)] == [b"a"]
    with pytest.raises(KafkaException):
        read(endpoint, FETCHED, 2)


def test_a_changed_file_is_loaded_without_a_restart(
    endpoint: Endpoint, broker: Endpoint, folder: Path, transforming: GatewayProcess
) -> None:
    assert send(endpoint, RELOADED, b"a") == [None]
    other = folder / "reloaded.new"
    other.write_text(BY_VALUE.replace("MARK", "OTHER"))
    os.replace(other, folder / "reloaded.py")
    deadline, count = time.monotonic() + WAIT_S, 1
    while stored(broker, RELOADED, count)[-1] != b"OTHER":
        assert time.monotonic() < deadline
        assert send(endpoint, RELOADED, b"a") == [None]
        count += 1

    labels = {"tenant": "globex", "filter": RELOADED}
    assert admin_port.value(transforming, "kafka_proxy_python_transform_reloads_total", **labels) == 1
    assert admin_port.value(transforming, "kafka_proxy_python_transform_runs_total", **labels) >= 2


def test_others_do_not_wait_while_a_transform_is_in_an_endless_loop(endpoint: Endpoint) -> None:
    send(endpoint, OPEN, b"fine")
    stuck = Producer(endpoint.for_confluent)
    told: list[float] = []
    stuck.produce(CLOSED, b"loop", callback=lambda *_: told.append(time.monotonic()))
    stuck.poll(0)
    free = []
    for _ in range(5):
        send(endpoint, OPEN, b"fine", **{"linger.ms": 0})
        free.append(time.monotonic())
    stuck.flush(WAIT_S)

    # At least one got through within the five seconds that the other batch has.
    assert free[0] < told[0]
