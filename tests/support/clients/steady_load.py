"""Clients that write numbered records and read them again, without a pause, while something happens to the gateway.

Each kind of client is a thread of its own. It keeps what was acknowledged and what it has read; an error that its
library gives to the application, instead of mending it, ends the thread and is kept as well.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from typing import Any, ClassVar

import confluent_kafka

from support.clients.endpoint import Endpoint
from support.java.java_clients import JavaClients

AT_ONCE = 10
"""Records that are under way together."""
PAUSE_S = 0.02
"""Between two such bundles: load enough that every moment is within some request, on a small machine."""
WAIT_S = 30.0
COMMIT_MS = 500


class SteadyLoad(threading.Thread):
    """One kind of client, on a topic of its own."""

    kind: ClassVar[str]
    pause_s: ClassVar[float] = PAUSE_S

    def __init__(self, endpoint: Endpoint) -> None:
        """Describe it; `start` starts it."""
        super().__init__(name=self.kind, daemon=True)
        self.endpoint = endpoint
        self.topic = f"load-{self.kind}"
        self.group = f"readers-{self.kind}"
        self.acknowledged: list[str] = []
        self.read: set[str] = set()
        self.failure: BaseException | None = None
        self._stopping = threading.Event()
        self._numbers = 0

    def run(self) -> None:
        """Load until told to stop, then read what is left."""
        try:
            self.load()
        except BaseException as error:
            self.failure = error

    def load(self) -> None:
        """Write and read until `is_over`."""
        raise NotImplementedError

    def stop(self) -> None:
        """Let it write no more, and end when it has read everything."""
        self._stopping.set()

    @property
    def writes(self) -> bool:
        """Whether more is to be written."""
        return not self._stopping.is_set()

    def next_values(self) -> list[str]:
        """Return the next numbers."""
        first, self._numbers = self._numbers, self._numbers + AT_ONCE
        return [f"{self.kind} {number}" for number in range(first, self._numbers)]

    def rounds(self) -> Iterator[bool]:
        """Yield whether to write, a round at a time, until everything that was acknowledged is read."""
        while self.writes:
            yield True
            time.sleep(self.pause_s)
        deadline = time.monotonic() + WAIT_S
        while not self.read.issuperset(self.acknowledged):
            missing = sorted(set(self.acknowledged) - self.read)
            assert time.monotonic() < deadline, f"{len(missing)} were not read, e.g. {missing[:3]}"
            yield False


class ConfluentLoad(SteadyLoad):
    """librdkafka: an idempotent producer, and a group."""

    kind = "confluent"
    producing: ClassVar[dict[str, Any]] = {"enable.idempotence": True, "linger.ms": 1}

    def load(self) -> None:
        fatal: list[Any] = []
        settings = self.endpoint.for_confluent | {
            "log_level": 0,
            "error_cb": lambda error: error.fatal() and fatal.append(error),
        }
        producer = confluent_kafka.Producer(settings | self.producing)
        own = {
            "group.id": self.group,
            "auto.offset.reset": "earliest",
            "auto.commit.interval.ms": COMMIT_MS,
            "isolation.level": "read_committed",
        }
        consumer = confluent_kafka.Consumer(settings | own)
        with closing(consumer):
            consumer.subscribe([self.topic])
            self.begin(producer)
            for writes in self.rounds():
                if writes:
                    self.write(producer)
                for message in consumer.consume(100, 0.02):
                    assert message.error() is None, message.error()
                    self.read.add(message.value().decode())
                assert fatal == []

    def begin(self, producer: confluent_kafka.Producer) -> None:
        """Do what comes before the first record."""

    def write(self, producer: confluent_kafka.Producer) -> None:
        """Write the next records."""
        failed: list[Any] = []

        def delivered(error: Any, message: Any) -> None:
            if error is None:
                self.acknowledged.append(message.value().decode())
            else:
                failed.append(error)

        for value in self.next_values():
            producer.produce(self.topic, value.encode(), on_delivery=delivered)
        assert producer.flush(WAIT_S) == 0
        assert failed == []


class PlainLoad(ConfluentLoad):
    """librdkafka without idempotence: a request whose answer is lost would be written twice.

    A request for each record and no pause, so that nearly always one is in flight.
    """

    kind = "plain"
    producing: ClassVar[dict[str, Any]] = {
        "enable.idempotence": False,
        "acks": "all",
        "batch.num.messages": 1,
        # Else librdkafka 2.16 closes the connection that it has just made again, answers awaited or not: it begins anew
        # with the bootstrap servers when its only connection is lost (KIP-899, and its pull request 5600).
        "metadata.recovery.strategy": "none",
    }
    pause_s = 0.0


class TransactionLoad(ConfluentLoad):
    """librdkafka's transactional producer: acknowledged is what was committed."""

    kind = "transactions"
    producing: ClassVar[dict[str, Any]] = {"transactional.id": "steady-load", "linger.ms": 1}

    def begin(self, producer: confluent_kafka.Producer) -> None:
        producer.init_transactions(WAIT_S)

    def write(self, producer: confluent_kafka.Producer) -> None:
        values = self.next_values()
        producer.begin_transaction()
        for value in values:
            producer.produce(self.topic, value.encode())
        producer.commit_transaction(WAIT_S)
        self.acknowledged += values


class PythonLoad(SteadyLoad):
    """kafka-python."""

    kind = "kafka-python"

    def load(self) -> None:
        from kafka import KafkaConsumer, KafkaProducer
        from support.clients.python_consumer import poll

        with ExitStack() as stack:
            producer = KafkaProducer(enable_idempotence=True, **self.endpoint.for_python)
            stack.enter_context(closing(producer))
            consumer = KafkaConsumer(
                self.topic,
                group_id=self.group,
                auto_offset_reset="earliest",
                auto_commit_interval_ms=COMMIT_MS,
                **self.endpoint.for_python,
            )
            stack.enter_context(closing(consumer))
            for writes in self.rounds():
                if writes:
                    values = self.next_values()
                    sent = [producer.send(self.topic, value.encode()) for value in values]
                    for one in sent:
                        one.get(WAIT_S)
                    self.acknowledged += values
                for batch in poll(consumer, timeout_ms=20).values():
                    self.read.update(record.value.decode() for record in batch)


class AioLoad(SteadyLoad):
    """aiokafka."""

    kind = "aiokafka"

    def load(self) -> None:
        asyncio.run(self._load())

    async def _load(self) -> None:
        from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

        async with contextlib.AsyncExitStack() as stack:
            producer = AIOKafkaProducer(enable_idempotence=True, **self.endpoint.for_aiokafka)
            consumer = AIOKafkaConsumer(
                self.topic,
                group_id=self.group,
                auto_offset_reset="earliest",
                auto_commit_interval_ms=COMMIT_MS,
                **self.endpoint.for_aiokafka,
            )
            for client in (producer, consumer):
                await client.start()
                stack.push_async_callback(client.stop)
            for writes in self.rounds():
                if writes:
                    values = self.next_values()
                    async with asyncio.timeout(WAIT_S):
                        await asyncio.gather(
                            *(producer.send_and_wait(self.topic, value.encode()) for value in values)
                        )
                    self.acknowledged += values
                for batch in (await consumer.getmany(timeout_ms=20)).values():
                    self.read.update(record.value.decode() for record in batch)


class JavaLoad(SteadyLoad):
    """Kafka's own clients, of one version."""

    kind = "java"

    def __init__(self, endpoint: Endpoint, version: str) -> None:
        self.kind = f"java-{version}"  # type: ignore[misc]
        self.version = version
        super().__init__(endpoint)

    def load(self) -> None:
        with JavaClients(self.version) as java:
            producer = java.producer(self.endpoint, enable_idempotence="true", acks="all")
            consumer = java.consumer(
                self.endpoint,
                self.group,
                enable_auto_commit="true",
                auto_commit_interval_ms=str(COMMIT_MS),
            )
            java("subscribe", consumer, self.topic)
            for writes in self.rounds():
                if writes:
                    values = self.next_values()
                    assert len(java("send", producer, self.topic, values)) == len(values)
                    self.acknowledged += values
                self.read.update(record[3] for record in java("poll", consumer, 20))
            java("close", producer, consumer)


def await_growth(loads: list[SteadyLoad], by: int, timeout_s: float = WAIT_S) -> None:
    """Wait until each has written and read that much more.

    Raises:
        AssertionError: one gave up, or does not get on.
    """

    def reached() -> list[tuple[int, int]]:
        return [(len(load.acknowledged), len(load.read)) for load in loads]

    wanted = [(written + by, read + 1) for written, read in reached()]
    await_all(
        lambda: all(now >= then for now, then in _pairs(reached(), wanted)),
        lambda: [(load.name, now) for load, now in zip(loads, reached(), strict=True)],
        loads,
        timeout_s,
    )


def await_all(
    is_true: Callable[[], bool], what: Callable[[], object], loads: list[SteadyLoad], timeout_s: float
) -> None:
    """Wait for a condition while no client gives up."""
    deadline = time.monotonic() + timeout_s
    while not is_true():
        for load in loads:
            assert load.failure is None, f"{load.name} gave up: {load.failure!r}"
        assert time.monotonic() < deadline, what()
        time.sleep(0.05)


def _pairs(now: list[tuple[int, int]], then: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    for one, other in zip(now, then, strict=True):
        yield from zip(one, other, strict=True)
