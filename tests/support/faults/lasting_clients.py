"""Clients that go on through faults: a producer of each kind, and a group of each protocol that reads all of them.

What was acknowledged is kept by its key. An error that librdkafka gives to the application, instead of trying again,
ends a client; only a transaction may have to be aborted, and the producer that never tries again goes on.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any, ClassVar, Self

import confluent_kafka

from support.clients.endpoint import Endpoint
from support.journal.records import read_committed

AT_ONCE = 5
"""Records of one bundle; a transaction has so many."""
PAUSE_S = 0.03
MOST_UNDER_WAY = 50
VALUE = bytes(1000)
WAIT_S = 90.0
"""More than any client needs to go on after a fault, on a busy machine as well."""
CLIENT_ID = "lasting"
COMMON = {
    "client.id": CLIENT_ID,
    "log_level": 0,
    "socket.timeout.ms": 4_000,
    "reconnect.backoff.max.ms": 500,
    "topic.metadata.refresh.interval.ms": 5_000,
}
"""Connections that a fault keeps are given up after seconds, not after the minute of the default."""
PRODUCING = {"linger.ms": 1, "message.timeout.ms": 120_000, "request.timeout.ms": 5_000, "acks": "all"}


class LastingClient(threading.Thread):
    """A client in a thread of its own."""

    def __init__(self, name: str, endpoint: Endpoint) -> None:
        super().__init__(name=name, daemon=True)
        self._fatal: list[Any] = []
        self._settings = endpoint.for_confluent | COMMON | {"error_cb": self._note}
        self.is_stopping = threading.Event()
        self.failure: BaseException | None = None

    def _note(self, error: Any) -> None:
        if error.fatal():
            self._fatal.append(error)

    def run(self) -> None:
        """Work until told to stop; keep what ended it."""
        try:
            self.work()
            assert self._fatal == []
        except BaseException as error:
            self.failure = error

    def work(self) -> None:
        raise NotImplementedError

    @property
    def count(self) -> int:
        """How much it has done."""
        raise NotImplementedError


class Writer(LastingClient):
    """An idempotent producer."""

    kind: ClassVar[str] = "idempotent"
    own: ClassVar[dict[str, Any]] = {"enable.idempotence": True}
    may_fail: ClassVar[bool] = False
    """Whether it goes on when a record was not acknowledged."""

    def __init__(self, endpoint: Endpoint, topic: str) -> None:
        super().__init__(self.kind, endpoint)
        self.topic = f"{topic}-{self.kind}"
        self.acknowledged: list[str] = []
        self.aborted: set[str] = set()
        self.unknown: set[str] = set()
        """Keys for which an error stands in place of an acknowledgement: they may be in the topic or not."""
        self._numbers = 0

    @property
    def count(self) -> int:
        return len(self.acknowledged)

    def work(self) -> None:
        producer = confluent_kafka.Producer(self._settings | PRODUCING | self.own)
        failed: list[Any] = []

        def delivered(error: Any, message: Any) -> None:
            if error is None:
                self.acknowledged.append(message.key().decode())
            elif self.may_fail and not error.fatal():
                self.unknown.add(message.key().decode())
            else:
                failed.append(error)

        while not self.is_stopping.is_set():
            for key in self.next_keys() if len(producer) < MOST_UNDER_WAY else ():
                producer.produce(self.topic, VALUE, key, on_delivery=delivered)
            producer.poll(PAUSE_S)
            assert failed == []
        assert producer.flush(WAIT_S) == 0
        assert failed == []

    def next_keys(self) -> list[str]:
        """Return the next keys."""
        first, self._numbers = self._numbers, self._numbers + AT_ONCE
        return [f"{self.kind} {number}" for number in range(first, self._numbers)]

    def check(self, written: Counter[str]) -> None:
        """Compare with what is in the topic: each record that was acknowledged, once, and no other."""
        assert written == Counter(self.acknowledged), self.difference(written)

    def difference(self, written: Counter[str]) -> str:
        """Return what is missing and what is too much."""
        wanted = Counter(self.acknowledged)
        return f"{self.name}: missing {list(wanted - written)[:5]}, too much {list(written - wanted)[:5]}"


class PlainWriter(Writer):
    """A producer that tries again, without idempotence: a request whose answer is lost is written twice."""

    kind = "plain"
    own: ClassVar[dict[str, Any]] = {"enable.idempotence": False}

    def check(self, written: Counter[str]) -> None:
        assert set(written) == set(self.acknowledged), self.difference(written)


class OneAttemptWriter(Writer):
    """A producer that never tries again, without idempotence: each record is in one request, which is sent once."""

    kind = "one-attempt"
    own: ClassVar[dict[str, Any]] = {"enable.idempotence": False, "retries": 0}
    may_fail = True

    def check(self, written: Counter[str]) -> None:
        """Compare with what is in the topic: each record that was acknowledged, once; of the others none twice."""
        wanted = Counter(self.acknowledged)
        assert Counter({key: written[key] for key in wanted}) == wanted, self.difference(written)
        assert written.keys() - wanted.keys() <= self.unknown, self.difference(written)
        assert set(written.values()) == {1}, self.difference(written)


class TransactionWriter(Writer):
    """A transactional producer: what was committed is acknowledged."""

    kind = "transactional"

    def work(self) -> None:
        own = {"transactional.id": self.topic, "transaction.timeout.ms": 20_000, "message.timeout.ms": 20_000}
        producer = confluent_kafka.Producer(self._settings | PRODUCING | own)
        _again(lambda: producer.init_transactions(WAIT_S))
        while not self.is_stopping.is_set():
            keys = self.next_keys()
            try:
                producer.begin_transaction()
                for key in keys:
                    producer.produce(self.topic, VALUE, key)
                _again(lambda: producer.commit_transaction(WAIT_S))
                self.acknowledged += keys
            except confluent_kafka.KafkaException as error:
                if not error.args[0].txn_requires_abort():
                    raise
                _again(lambda: producer.abort_transaction(WAIT_S))
                self.aborted.update(keys)
            time.sleep(PAUSE_S)


KINDS = (Writer, PlainWriter, OneAttemptWriter, TransactionWriter)


def _again(call: Callable[[], None]) -> None:
    """Call until it succeeds, as long as librdkafka says that it may be tried again."""
    deadline = time.monotonic() + WAIT_S
    while True:
        try:
            call()
            return
        except confluent_kafka.KafkaException as error:
            if not error.args[0].retriable() or time.monotonic() > deadline:
                raise


class Reader(LastingClient):
    """The one member of a group, which reads the topics of all producers."""

    def __init__(self, endpoint: Endpoint, protocol: str, topics: list[str]) -> None:
        super().__init__(f"{protocol} group", endpoint)
        self.read: set[str] = set()
        self._topics = topics
        self._own = {
            "group.id": f"{topics[0]}-{protocol}",
            "group.protocol": protocol,
            "auto.offset.reset": "earliest",
            "auto.commit.interval.ms": 500,
            "isolation.level": "read_committed",
        }
        if protocol == "classic":
            self._own |= {"session.timeout.ms": 6_000, "heartbeat.interval.ms": 1_000}

    @property
    def count(self) -> int:
        return len(self.read)

    def work(self) -> None:
        with closing(confluent_kafka.Consumer(self._settings | self._own)) as consumer:
            consumer.subscribe(self._topics)
            while not self.is_stopping.is_set():
                for message in consumer.consume(200, 0.05):
                    error = message.error()
                    if error is None:
                        self.read.add(message.key().decode())
                    else:
                        # Answers to commits and the like that were lost; the consumer goes on.
                        assert not error.fatal(), error


class LastingClients:
    """All of them, on fresh topics; a context manager that ends them whatever happens."""

    def __init__(
        self, endpoint: Endpoint, topic: str, protocols: Sequence[str] = ("classic", "consumer")
    ) -> None:
        """Describe them; their topics, which have to be there, begin with `topic`. A group reads by each protocol."""
        self.writers = [kind(endpoint, topic) for kind in KINDS]
        topics = [writer.topic for writer in self.writers]
        self.readers = [Reader(endpoint, protocol, topics) for protocol in protocols]

    @property
    def all(self) -> list[LastingClient]:
        return [*self.writers, *self.readers]

    def __enter__(self) -> Self:
        for client in self.all:
            client.start()
        return self

    def __exit__(self, *_: object) -> None:
        for client in self.all:
            client.is_stopping.set()
        for client in self.all:
            client.join(WAIT_S)

    def await_growth(self, by: int) -> None:
        """Wait until each has written or read that much more."""
        wanted = [client.count + by for client in self.all]
        self._await(lambda: all(one.count >= goal for one, goal in zip(self.all, wanted, strict=True)))

    def finish(self, broker: Endpoint, physical_name: Callable[[str], str]) -> None:
        """Let all write no more, wait until everything is read, and compare with the brokers' topics.

        Args:
            broker: the broker itself.
            physical_name: gives the brokers' name of a topic.
        """
        for writer in self.writers:
            writer.is_stopping.set()
        self._await(lambda: not any(writer.is_alive() for writer in self.writers))
        acknowledged = {key for writer in self.writers for key in writer.acknowledged}
        unknown = {key for writer in self.writers for key in writer.unknown}
        self._await(lambda: all(reader.read >= acknowledged for reader in self.readers))
        for reader in self.readers:
            reader.is_stopping.set()
            reader.join(WAIT_S)
            assert reader.failure is None, reader.failure
            assert not reader.is_alive()
            assert acknowledged <= reader.read <= acknowledged | unknown
        for writer in self.writers:
            assert not writer.aborted & reader.read
            records = read_committed(broker, physical_name(writer.topic))
            writer.check(Counter(key.decode() for key, _ in records))

    def _await(self, is_so: Callable[[], bool]) -> None:
        deadline = time.monotonic() + WAIT_S
        while not is_so():
            for client in self.all:
                assert client.failure is None, f"{client.name} gave up: {client.failure!r}"
            counts = [(client.name, client.count) for client in self.all]
            assert time.monotonic() < deadline, counts
            time.sleep(0.05)
