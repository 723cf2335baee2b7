"""Topics that are moved and shared under load: nothing is lost or doubled, and nothing is seen after a revocation."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer

from bifrost.embedded.kafka import EmbeddedKafka
from support.clients.endpoint import Endpoint
from support.clients.raw_operations import recreate_topic
from support.clients.routed_client import RoutedClient
from support.gateways.gateway_process import GatewayProcess, TenantSpec
from support.moved_topics import WITHIN_S, MovedTopics, bound_users
from support.physical_names import physical_name

pytestmark = pytest.mark.timeout(400)

OWNER, GUEST, BOUND = "mover", "viewer", "mover.billing"
STEP = 40
"""How much of each kind has to be done between two changes."""


class Worker:
    """A client that works in a thread until it is stopped."""

    def __init__(self) -> None:
        self._is_stopped = False
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._guarded, daemon=True)

    def _guarded(self) -> None:
        try:
            self.run()
        except BaseException as error:
            self._error = error

    def run(self) -> None:
        raise NotImplementedError

    def start(self) -> Any:
        self._thread.start()
        return self

    @property
    def goes_on(self) -> bool:
        return not self._is_stopped

    def stop(self) -> None:
        self._is_stopped = True
        self._thread.join(WITHIN_S * 2)
        assert not self._thread.is_alive()
        if self._error is not None:
            raise self._error

    def until(self, is_true: Callable[[], bool]) -> None:
        ends = time.monotonic() + WITHIN_S * 2
        while not is_true():
            assert time.monotonic() < ends, "it takes too long"
            if self._error is not None:
                raise self._error
            time.sleep(0.02)


class Idempotent(Worker):
    """Writes numbers, and notes which of them were acknowledged."""

    def __init__(self, endpoint: Endpoint, topic: str, prefix: str) -> None:
        super().__init__()
        settings = endpoint.for_confluent | {"enable.idempotence": True, "message.timeout.ms": 20_000}
        self._producer, self._topic, self._prefix = Producer(settings), topic, prefix
        self.acknowledged: set[str] = set()
        self.failed: set[str] = set()
        self.sent = 0

    def run(self) -> None:
        while self.goes_on:
            value = f"{self._prefix}-{self.sent}"
            self.sent += 1
            with contextlib.suppress(KafkaException, BufferError):
                self._producer.produce(self._topic, value, on_delivery=self._note)
            self._producer.poll(0.005)
        self._producer.flush(WITHIN_S)

    def _note(self, error: KafkaError | None, message: Any) -> None:
        (self.acknowledged if error is None else self.failed).add(message.value().decode())


class Transactional(Worker):
    """Writes transactions of three records, and aborts each fourth; notes what was committed."""

    def __init__(self, endpoint: Endpoint, topic: str, transactional_id: str) -> None:
        super().__init__()
        settings = {"transactional.id": transactional_id, "message.timeout.ms": 20_000}
        settings["transaction.timeout.ms"] = 40_000
        self._producer, self._topic, self._id = (
            Producer(endpoint.for_confluent | settings),
            topic,
            transactional_id,
        )
        self.committed: set[str] = set()
        self.aborted: set[str] = set()

    def run(self) -> None:
        self._producer.init_transactions(WITHIN_S)
        number = 0
        while self.goes_on:
            values = {f"{self._id}-{number}-{one}" for one in range(3)}
            self._producer.begin_transaction()
            try:
                for value in values:
                    self._producer.produce(self._topic, value)
                if number % 4 == 3:
                    self._abort(values)
                else:
                    self._producer.commit_transaction(WITHIN_S)
                    self.committed |= values
            except KafkaException:
                self._give_up(values)
                return
            number += 1

    def _give_up(self, values: set[str]) -> None:
        """Abort the transaction that was open when the name ended.

        If none of its partitions was added before, librdkafka ends a transaction that the broker never had, and fails;
        so it does where a topic is deleted.
        """
        try:
            self._abort(values)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.INVALID_TXN_STATE:
                raise
            self.aborted |= values

    def _abort(self, values: set[str]) -> None:
        self._producer.abort_transaction(WITHIN_S)
        self.aborted |= values


class Reader(Worker):
    """Reads what was committed; a record counts when its offset is committed."""

    def __init__(self, endpoint: Endpoint, topic: str, group: str) -> None:
        super().__init__()
        settings = {
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "topic.metadata.refresh.interval.ms": 1000,
        }
        self._consumer = Consumer(endpoint.for_confluent | settings)
        self._consumer.subscribe([topic])
        self.values: Counter[str] = Counter()
        self.seen: set[str] = set()
        """All that was read, also without a commit."""

    def run(self) -> None:
        while self.goes_on:
            messages = [one for one in self._consumer.consume(100, 0.2) if one.error() is None]
            found = [one.value().decode() for one in messages]
            self.seen |= set(found)
            if not messages:
                continue
            try:
                self._consumer.commit(asynchronous=False)
            except KafkaException:
                break  # The name is gone: what was not committed is read again by the new one.
            self.values.update(found)
        self._consumer.close()


@pytest.fixture(scope="module")
def world(kafka: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MovedTopics]:
    topic, directory = f"__state-{time.time_ns()}", tmp_path_factory.mktemp("gateway")
    with GatewayProcess(
        directory,
        kafka.bootstrap,
        tenants=(TenantSpec(OWNER), TenantSpec(GUEST)),
        adjust=bound_users(directory, billing="billing:eu"),
        proxy={"state": {"topic": topic}},
    ) as gateway:
        yield MovedTopics(kafka.bootstrap, topic, gateway)


def test_nothing_is_lost_or_doubled_and_nothing_seen_after_a_revocation(
    world: MovedTopics, broker: Endpoint
) -> None:
    with RoutedClient(broker) as client:
        recreate_topic(client, physical_name(OWNER, "orders"), partitions=3)
    owner = world.endpoint(OWNER)
    writer = Idempotent(owner, "orders", "i").start()
    transactions = Transactional(owner, "orders", "t").start()
    reader = Reader(owner, "orders", "readers").start()

    def go_on() -> None:
        """Let everyone that uses the old name do some more."""
        done = len(writer.acknowledged), len(transactions.committed), reader.values.total()
        writer.until(lambda: len(writer.acknowledged) >= done[0] + STEP)
        transactions.until(lambda: len(transactions.committed) >= done[1] + STEP)
        reader.until(lambda: reader.values.total() >= done[2] + STEP)

    go_on()
    world.share(f"{OWNER}/orders", f"{GUEST}/view")
    world.await_topics(GUEST, has="view")
    guest = Reader(world.endpoint(GUEST), "view", "guests").start()
    guest.until(lambda: guest.values.total() >= STEP)

    world.move(f"{OWNER}/orders", f"{OWNER}:billing:eu/orders", keeps_name=True)
    world.await_topics(BOUND, has="orders")
    go_on()
    moved = Idempotent(world.endpoint(BOUND), "orders", "m").start()
    moved.until(lambda: len(moved.acknowledged) >= STEP)
    assert not writer.failed

    world.unshare(f"{OWNER}:billing:eu/orders", f"{GUEST}/view")
    world.await_topics(GUEST, lacks="view")
    time.sleep(1)  # what was read before may still be on its way to the guest's own code
    first_secret = {"i": writer.sent, "m": moved.sent}
    go_on()
    guest.stop()
    later = {
        one
        for one in guest.seen
        if (kind := one.partition("-")[0]) in first_secret and int(one.partition("-")[2]) > first_secret[kind]
    }
    assert not later, "the guest has seen what was written after the revocation"

    world.unshare(f"{OWNER}:billing:eu/orders", f"{OWNER}/orders")
    world.await_topics(OWNER, has="billing:eu:orders", lacks="orders")
    successor = Reader(owner, "billing:eu:orders", "readers")
    for one in (writer, transactions, reader, moved):
        one.stop()
    successor.start()

    stored = all_of(broker, physical_name(OWNER, "orders"))
    expected = writer.acknowledged | transactions.committed | moved.acknowledged
    assert not expected - stored.keys(), "lost"
    assert [one for one, times in stored.items() if times > 1] == [], "doubled"
    assert not stored.keys() & transactions.aborted
    both = reader.values
    # Copied, for its thread goes on counting.
    successor.until(lambda: (both + successor.values.copy()).keys() >= stored.keys())
    successor.stop()
    assert both + successor.values == stored, "the group has read something twice"


def all_of(broker: Endpoint, topic: str) -> Counter[str]:
    """Return what was committed to a topic, by the broker itself."""
    settings = {"group.id": "check", "auto.offset.reset": "earliest", "isolation.level": "read_committed"}
    consumer = Consumer(broker.for_confluent | settings | {"enable.partition.eof": True})
    consumer.subscribe([topic])
    found: Counter[str] = Counter()
    ended: set[int] = set()
    ends = time.monotonic() + WITHIN_S
    while len(ended) < 3:
        assert time.monotonic() < ends
        message = consumer.poll(1)
        if message is None:
            continue
        error = message.error()
        if error is None:
            found[message.value().decode()] += 1
        elif error.code() == KafkaError._PARTITION_EOF:
            ended.add(message.partition())
    consumer.close()
    return found
