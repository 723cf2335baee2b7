"""Transactions on three brokers, of which one after the other is killed: what was committed is there, once.

Two tenants consume, transform and produce with the same group and transactional ID; every third transaction is aborted.
`make three-brokers` kills each broker, `make test` the one that coordinates a transaction. The clients are Kafka's own:
librdkafka 2.16 now and then never comes back from `send_offsets_to_transaction` when a coordinator is killed, without a
gateway as well.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from bifrost.embedded.kafka import EmbeddedKafka
from support.brokers.broker_loss import BrokerLoss
from support.brokers.kafka_versions import brokers_under_test
from support.clients.endpoint import Endpoint
from support.clients.routed_client import TRANSACTION, RoutedClient
from support.gateways.gateway_process import GatewayProcess, TenantSpec
from support.java.java_clients import JavaClients, JavaError

TENANTS = ("aurora", "boreal")
SOURCE, TARGET = "orders", "billing"
WAIT_S = 120.0
"""A broker is missed after 6 s, and a busy machine takes its time."""
MORE = 100
"""Records committed before the next thing happens."""
AT_ONCE = 5
COMMITTED = {"isolation_level": "read_committed"}
PASSES = {"TimeoutException"}
"""What a step of a transaction throws that may be tried again."""


@pytest.fixture
def cluster(request: pytest.FixtureRequest) -> EmbeddedKafka:
    """Three brokers: those of the run if it has so many."""
    cluster = request.getfixturevalue("kafka" if brokers_under_test() > 1 else "kafka_cluster")
    assert isinstance(cluster, EmbeddedKafka)
    return cluster


@pytest.fixture
def gateway(cluster: EmbeddedKafka, tmp_path: Path) -> Iterator[GatewayProcess]:
    tenants = [TenantSpec(name) for name in TENANTS]
    brokers = len(cluster.node_ids)
    with GatewayProcess(tmp_path, cluster.bootstrap, tenants=tenants, brokers=brokers) as process:
        yield process


class Copier(threading.Thread):
    """One tenant at work: it writes numbered records, and copies them in transactions."""

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(name=f"copier of {endpoint.username}", daemon=True)
        self.endpoint = endpoint
        self.written = self.copied = self.aborted = 0
        self.doing = "nothing yet"
        self.failure: BaseException | None = None
        self._stopping = threading.Event()
        self._turn = 0

    def stop(self) -> None:
        """Write no more, and copy what was written."""
        self._stopping.set()
        self.join(2 * WAIT_S)
        assert not self.is_alive(), f"{self.name} hangs: {self.doing}"
        self.check()

    def check(self) -> None:
        """Fail if the tenant could not go on."""
        if self.failure is not None:
            raise AssertionError(f"{self.name}, {self.doing}: {self.failure!r}") from self.failure

    def run(self) -> None:
        try:
            with JavaClients("4.3.1") as java:
                self._work(java)
        except BaseException as failure:
            self.failure = failure

    def values(self) -> list[str]:
        """Return all that stands in the target for readers of what is committed."""
        with JavaClients("4.3.1") as java:
            reader = java.consumer(self.endpoint, **COMMITTED)
            java("assign", reader, TARGET, 0)
            return [value for *_, value in java.poll_until(reader, self.copied)]

    def value(self, number: int) -> str:
        return f"{self.endpoint.username} {number:06d}"

    def _work(self, java: JavaClients) -> None:
        writer = java.producer(self.endpoint)
        copier = java.producer(self.endpoint, transactional_id="copier")
        consumer = java.consumer(self.endpoint, "copiers", **COMMITTED)
        self._until_done("init", lambda: java("transaction", copier, "init"))
        java("subscribe", consumer, SOURCE)
        deadline = None
        while deadline is None or self.copied < self.written:
            if not self._stopping.is_set():
                self.doing = f"write {self.written}"
                numbers = range(self.written, self.written + AT_ONCE)
                java("send", writer, SOURCE, [self.value(number) for number in numbers])
                self.written += AT_ONCE
            elif deadline is None:
                deadline = time.monotonic() + WAIT_S
            else:
                assert time.monotonic() < deadline, (self.copied, self.written)
            self.doing = f"read after {self.copied}"
            taken = [value for *_, value in java("poll", consumer, 20)]
            if taken:
                self._copy(java, consumer, copier, taken)

    def _copy(self, java: JavaClients, consumer: int, copier: int, values: list[str]) -> None:
        self._turn += 1
        self.doing = f"transaction {self._turn}"
        java("transaction", copier, "begin")
        try:
            java("send", copier, TARGET, values)
            java("send_offsets", copier, consumer)
            if self._turn % 3:
                self._until_done("commit", lambda: java("transaction", copier, "commit"))
                self.copied += len(values)
                return
        except JavaError as failure:
            if "Fenced" in failure.name:
                raise
        self._until_done("abort", lambda: java("transaction", copier, "abort"))
        self.aborted += 1
        self._until_done("seek", lambda: java("seek_to_committed", consumer))

    def _until_done(self, step: str, call: Callable[[], object]) -> None:
        deadline = time.monotonic() + WAIT_S
        while True:
            self.doing = f"{step} of transaction {self._turn}"
            try:
                call()
            except JavaError as failure:
                if failure.name not in PASSES or time.monotonic() > deadline:
                    raise
            else:
                return
            time.sleep(0.1)


def make_topics(endpoint: Endpoint) -> None:
    admin = AdminClient(endpoint.for_confluent)
    for future in admin.create_topics([NewTopic(name, 1, 3) for name in (SOURCE, TARGET)]).values():
        future.result(WAIT_S)
    deadline = time.monotonic() + WAIT_S
    while not {SOURCE, TARGET} <= set(admin.list_topics(timeout=WAIT_S).topics):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def await_more(copiers: list[Copier]) -> None:
    """Wait until each has committed more."""
    before = [one.copied for one in copiers]
    deadline = time.monotonic() + WAIT_S
    while any(one.copied < copied + MORE for one, copied in zip(copiers, before, strict=True)):
        for one in copiers:
            one.check()
        assert time.monotonic() < deadline, [(one.name, one.copied, one.doing) for one in copiers]
        time.sleep(0.05)


def brokers_to_lose(cluster: EmbeddedKafka, endpoint: Endpoint) -> list[int]:
    if brokers_under_test() > 1:
        return list(cluster.node_ids)
    with RoutedClient(endpoint) as client:
        return [client.coordinator_of("copier", TRANSACTION)]


@pytest.mark.timeout(900)
def test_what_was_committed_is_there_once_whichever_broker_is_killed(
    cluster: EmbeddedKafka, gateway: GatewayProcess
) -> None:
    for name in TENANTS:
        make_topics(gateway.endpoint(name))
    loss = BrokerLoss(cluster, lambda: [gateway.endpoint(name) for name in TENANTS], elects_first=False)
    copiers = [Copier(gateway.endpoint(name)) for name in TENANTS]
    for one in copiers:
        one.start()

    await_more(copiers)
    for node_id in brokers_to_lose(cluster, gateway.broker_endpoint(TENANTS[0])):
        with loss.without(node_id):
            await_more(copiers)
        await_more(copiers)
    for one in copiers:
        one.stop()

    for one in copiers:
        assert one.aborted > 0
        assert one.values() == [one.value(number) for number in range(one.written)]
