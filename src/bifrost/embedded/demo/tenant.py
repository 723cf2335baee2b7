"""One tenant's clients: a producer and a consumer group, which know nothing of a gateway.

They use kafka-python: it is pure Python, so it installs wherever Bifrost does; it is slow, which keeps a demo fair.
"""

from __future__ import annotations

import contextlib
import logging
import random
import threading
import time
from collections.abc import Callable

from kafka.errors import KafkaError, TopicAlreadyExistsError

from bifrost.embedded.demo.files import GROUP, TOPIC, DemoTenant
from bifrost.embedded.demo.ledger import Ledger, Order
from bifrost.embedded.errors import EmbeddedError
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer

PARTITIONS = 2
PAUSE_S = 0.5
"""Time between two orders of a tenant, on average: short enough to look busy, long enough to read along."""
CLIENT_TIMEOUT_S = 20
"""Time for a client to find the cluster, and for a record to be acknowledged, in seconds."""

POLL_TIMEOUT_MS = 200
JOIN_TIMEOUT_MS = 5000
"""Time for one poll while nothing is assigned. kafka-python 3.0.12 never uses an assignment that arrives just after a
poll gave up on a rejoin for new metadata (`join_group_async` asks `need_rejoin` again): it must not give up early."""
CLOSE_TIMEOUT_S = 3
"""Time for a client to close, in seconds."""

_log = logging.getLogger("kafka.demo")


def first_line(error: BaseException, limit: int = 200) -> str:
    """Return the text of a client's error, without the request and response that kafka-python adds to it."""
    text = str(error).partition("\n")[0] or type(error).__name__
    return text if len(text) <= limit else f"{text[:limit]}..."


class TenantClients:
    """Produces to and consumes from `orders` in threads of its own until it is stopped."""

    def __init__(self, tenant: DemoTenant, bootstrap: str) -> None:
        self.tenant = tenant
        self.ledger = Ledger(tenant.name)
        self._settings = {
            "bootstrap_servers": bootstrap,
            "client_id": f"{tenant.name}-shop",
            "security_protocol": "SASL_PLAINTEXT",
            "sasl_mechanism": "PLAIN",
            "sasl_plain_username": tenant.name,
            "sasl_plain_password": tenant.password,
            "bootstrap_timeout_ms": CLIENT_TIMEOUT_S * 1000,
        }
        self._random = random.Random(tenant.name)
        self._producing = threading.Event()
        self._consuming = threading.Event()
        self._threads: list[threading.Thread] = []
        self.admin: KafkaAdminClient | None = None
        self._producer: KafkaProducer | None = None

    def start(self) -> None:
        """Create the topic and start to produce and to consume.

        Raises:
            EmbeddedError: the gateway does not let the tenant in, or does not answer.
        """
        try:
            self.admin = KafkaAdminClient(**self._settings)
            self.admin.create_topics({TOPIC: {"num_partitions": PARTITIONS, "replication_factor": 1}})
        except TopicAlreadyExistsError:
            pass
        except KafkaError as error:
            raise EmbeddedError(f"{self.tenant.name} cannot create {TOPIC}: {first_line(error)}") from error
        self._producing.set()
        self._consuming.set()
        self._run("consumer", self._consume)
        self._run("producer", self._produce)

    def stop_producing(self) -> None:
        """Send no more orders; return when the last one is acknowledged or has failed."""
        self._producing.clear()
        self._join("producer", CLIENT_TIMEOUT_S)

    def wait_until_read(self, timeout_s: float) -> None:
        """Wait until everything that was sent has been read, at most `timeout_s` seconds."""
        deadline = time.monotonic() + timeout_s
        while self.ledger.counts().lost and time.monotonic() < deadline:
            time.sleep(0.05)

    def request_stop(self) -> None:
        """Tell every thread to end, without waiting."""
        self._producing.clear()
        self._consuming.clear()

    def stop(self, deadline: float) -> None:
        """End every thread and close every connection.

        Args:
            deadline: on the monotonic clock; threads that have not ended by then end with the process.
        """
        self.request_stop()
        for thread in self._threads:
            thread.join(max(deadline - time.monotonic(), 0))
        if not any(thread.is_alive() for thread in self._threads):
            if self.admin is not None:
                self.admin.close()
        elif self._producer is not None:
            # Otherwise the producer would try once more to send its records when the process ends, and log errors.
            with contextlib.suppress(KafkaError):
                self._producer.close(timeout=0)

    def _run(self, role: str, work: Callable[[], None]) -> None:
        def guarded() -> None:
            try:
                work()
            except Exception as error:
                _log.exception("%s of %s", role, self.tenant.name)
                # While its connections are being closed, the client may raise any exception.
                if self._consuming.is_set():
                    self.ledger.note_failed(f"{role}: {first_line(error)}")

        # The thread is a daemon, so that a client that hangs does not keep the demo from ending.
        thread = threading.Thread(target=guarded, name=f"{self.tenant.name}-{role}", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _join(self, role: str, timeout_s: float) -> None:
        for thread in self._threads:
            if thread.name.endswith(role):
                thread.join(timeout_s)

    def _produce(self) -> None:
        producer = self._producer = KafkaProducer(**self._settings)
        try:
            number = 0
            while self._producing.is_set():
                number += 1
                order = self._order(number)
                self._send(producer, order)
                self._pause()
        finally:
            producer.close(timeout=CLOSE_TIMEOUT_S)

    def _order(self, number: int) -> Order:
        return Order(
            self.tenant.name, number, self._random.choice(self.tenant.goods), self._random.randint(1, 9)
        )

    def _send(self, producer: KafkaProducer, order: Order) -> None:
        try:
            future = producer.send(TOPIC, key=str(order.number).encode(), value=order.to_bytes())
            future.get(timeout=CLIENT_TIMEOUT_S)
        except KafkaError as error:
            self.ledger.note_failed(f"{order}: {first_line(error)}")
        else:
            self.ledger.note_sent(order)

    def _pause(self) -> None:
        until = time.monotonic() + PAUSE_S * self._random.uniform(0.5, 1.5)
        while self._producing.is_set() and (left := until - time.monotonic()) > 0:
            time.sleep(min(left, 0.05))

    def _consume(self) -> None:
        consumer = KafkaConsumer(
            TOPIC,
            group_id=GROUP,
            auto_offset_reset="earliest",
            auto_commit_interval_ms=1000,
            **self._settings,
        )
        try:
            while self._consuming.is_set():
                timeout_ms = POLL_TIMEOUT_MS if consumer.assignment() else JOIN_TIMEOUT_MS
                for records in consumer.poll(timeout_ms=timeout_ms).values():
                    for record in records:
                        self.ledger.note_read(record.value)
        finally:
            consumer.close(timeout_ms=CLOSE_TIMEOUT_S * 1000)
