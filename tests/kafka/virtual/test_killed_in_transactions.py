"""A gateway is killed in the middle of a transaction, and the client goes on through another one in its place.

The transaction is done again, by a new producer if this one is fenced; consumers see each record once and in order.
The clients are librdkafka, kafka-python, and Kafka's own with transactions V1 (3.9.1) and V2 (4.3.1).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest
from confluent_kafka import KafkaException, Producer
from kafka.errors import KafkaError

from bifrost.embedded.kafka import EmbeddedKafka
from kafka import KafkaProducer
from support.clients.endpoint import Endpoint
from support.gateways.gateway_fixtures import UniqueName
from support.gateways.gateway_process import GLOBEX, GatewayProcess
from support.java.java_clients import JavaClients, JavaError
from support.virtual_topics import RULES, WAIT_S, read, size_of

ROUNDS, EACH_ROUND = 3, 4


class Transactions(Protocol):
    """A producer of transactions."""

    errors: tuple[type[Exception], ...]

    def begin(self) -> None: ...
    def send(self, topic: str, value: str) -> None:
        """Send a record to each partition, and wait until all are stored."""

    def commit(self) -> None: ...
    def abort(self) -> None: ...
    def close(self) -> None: ...


class OfConfluent:
    """librdkafka's."""

    errors: tuple[type[Exception], ...] = (KafkaException,)

    def __init__(self, endpoint: Endpoint, transactional_id: str) -> None:
        self._producer = Producer(
            endpoint.for_confluent | {"transactional.id": transactional_id, "linger.ms": 0}
        )
        self._producer.init_transactions(WAIT_S)

    def begin(self) -> None:
        self._producer.begin_transaction()

    def send(self, topic: str, value: str) -> None:
        for partition in range(size_of(topic)):
            self._producer.produce(topic, value.encode(), partition=partition)
        self._producer.flush(WAIT_S)

    def commit(self) -> None:
        self._producer.commit_transaction(WAIT_S)

    def abort(self) -> None:
        self._producer.abort_transaction(WAIT_S)

    def close(self) -> None:
        """It has none."""


class OfPython:
    """kafka-python's."""

    errors: tuple[type[Exception], ...] = (KafkaError,)

    def __init__(self, endpoint: Endpoint, transactional_id: str) -> None:
        self._producer = KafkaProducer(**endpoint.for_python, transactional_id=transactional_id)
        self._producer.init_transactions()

    def begin(self) -> None:
        self._producer.begin_transaction()

    def send(self, topic: str, value: str) -> None:
        sent = [self._producer.send(topic, value.encode(), partition=one) for one in range(size_of(topic))]
        for future in sent:
            future.get(WAIT_S)

    def commit(self) -> None:
        self._producer.commit_transaction()

    def abort(self) -> None:
        self._producer.abort_transaction()

    def close(self) -> None:
        self._producer.close(1)


class OfJava:
    """Kafka's own."""

    errors: tuple[type[Exception], ...] = (JavaError,)

    def __init__(self, java: JavaClients, endpoint: Endpoint, transactional_id: str) -> None:
        self._java, self._number = java, java.producer(endpoint, transactional_id=transactional_id)
        java("transaction", self._number, "init")

    def begin(self) -> None:
        self._java("transaction", self._number, "begin")

    def send(self, topic: str, value: str) -> None:
        for partition in range(size_of(topic)):
            self._java("send", self._number, topic, [value], partition)

    def commit(self) -> None:
        self._java("transaction", self._number, "commit")

    def abort(self) -> None:
        self._java("transaction", self._number, "abort")

    def close(self) -> None:
        self._java("close", self._number)


Open = Callable[[Endpoint, str], Transactions]


@pytest.fixture(params=["librdkafka", "kafka-python", "Java 3.9.1", "Java 4.3.1"])
def opened(request: pytest.FixtureRequest) -> Iterator[Open]:
    """What opens a producer of a client."""
    name, _, version = request.param.partition(" ")
    if not version:
        yield OfConfluent if name == "librdkafka" else OfPython
        return
    with JavaClients(version) as java:
        yield lambda endpoint, transactional_id: OfJava(java, endpoint, transactional_id)


@pytest.fixture
def gateways(kafka: EmbeddedKafka, tmp_path: Path) -> Iterator[tuple[GatewayProcess, GatewayProcess]]:
    """One that runs, and one that can be started in its place."""

    def adjust(config: dict[str, Any]) -> None:
        config["tenants"][0]["virtual_partitions"] = RULES

    options: dict[str, Any] = {"tenants": [GLOBEX], "adjust": adjust}
    first, second = (GatewayProcess(tmp_path / name, kafka.bootstrap, **options) for name in ("1", "2"))
    for process in (first, second):
        process.directory.mkdir()
    first.start()
    yield first, second
    first.kill()
    second.kill()


@pytest.mark.timeout(240)
def test_each_record_is_read_once(
    opened: Open,
    gateways: tuple[GatewayProcess, GatewayProcess],
    topic: str,
    endpoint: Endpoint,
    unique: UniqueName,
) -> None:
    first, second = gateways
    transactional_id, is_killed, tries = unique("txn"), False, 0
    producer = opened(first.endpoint("globex"), transactional_id)
    for round_number in range(ROUNDS):
        is_done = False
        while not is_done:
            tries += 1
            assert tries < 20
            try:
                producer.begin()
                for number in range(EACH_ROUND):
                    producer.send(topic, f"{round_number} {number}")
                    if (round_number, number, is_killed) == (1, 2, False):
                        first.kill()
                        second.start_second(first)
                        is_killed = True
                producer.commit()
                is_done = True
            except producer.errors:
                try:
                    producer.abort()
                except producer.errors:
                    with contextlib.suppress(*producer.errors):
                        producer.close()
                    producer = opened(second.endpoint("globex"), transactional_id)
    producer.close()
    assert tries > ROUNDS, "one was aborted"
    wanted = [f"{number} {value}" for number in range(ROUNDS) for value in range(EACH_ROUND)]
    found = read(endpoint, topic, unique("group"), len(wanted) * size_of(topic))
    assert found == dict.fromkeys(range(size_of(topic)), wanted)
