"""Transactions of the Java clients: V2 with the newest (EndTxn v5, no AddPartitionsToTxn), V1 with older ones."""

from __future__ import annotations

import pytest

from support.clients.endpoint import Endpoint
from support.gateways.gateway_fixtures import FreshTopic, UniqueName
from support.java.java_clients import JavaClients, JavaError

pytestmark = pytest.mark.parametrize("java", ["2.8.2", "3.9.1", "4.3.1"], indirect=True, scope="module")

COMMITTED = {"isolation_level": "read_committed"}
FENCED = "ProducerFencedException|InvalidProducerEpochException"


def _values(records: list[list[object]]) -> list[object]:
    return [value for *_, value in records]


def _read(java: JavaClients, endpoint: Endpoint, count: int, **options: str) -> list[object]:
    consumer = java.consumer(endpoint, **options)
    java("assign", consumer, "orders", 0, 1)
    values = _values(java.poll_until(consumer, count))
    java("close", consumer)
    return values


def test_committed_records_are_read_and_aborted_ones_are_not(
    java: JavaClients, acme: Endpoint, fresh_topic: FreshTopic, unique: UniqueName
) -> None:
    fresh_topic("acme", "orders", partitions=2)
    producer = java.producer(acme, transactional_id=unique("transaction"))
    java("transaction", producer, "init")
    for number, end in enumerate(("commit", "abort", "commit", "abort", "commit")):
        java("transaction", producer, "begin")
        for partition in range(2):
            java("send", producer, "orders", [f"{end} {number} {partition}"], partition)
        java("transaction", producer, end)
    java("close", producer)

    committed = _read(java, acme, 6, **COMMITTED)
    everything = _read(java, acme, 10)

    assert sorted(map(str, committed)) == [
        f"commit {number} {part}" for number in (0, 2, 4) for part in (0, 1)
    ]
    assert len(everything) == 10


def test_records_of_an_open_transaction_are_not_read_yet(
    java: JavaClients, acme: Endpoint, fresh_topic: FreshTopic, unique: UniqueName
) -> None:
    fresh_topic("acme", "orders", partitions=2)
    producer = java.producer(acme, transactional_id=unique("transaction"))
    java("transaction", producer, "init", "begin")
    java("send", producer, "orders", ["later"])
    consumer = java.consumer(acme, **COMMITTED)
    java("assign", consumer, "orders", 0)

    assert java("poll", consumer, 500) == []
    java("transaction", producer, "commit")
    assert _values(java.poll_until(consumer, 1)) == ["later"]
    java("close", producer, consumer)


def test_offsets_are_committed_with_the_records(
    java: JavaClients, acme: Endpoint, fresh_topic: FreshTopic, unique: UniqueName
) -> None:
    """Consume, transform, produce: an aborted round is done again, a committed one is not."""
    fresh_topic("acme", "orders", partitions=2)
    fresh_topic("acme", "billing")
    group = unique("transformers")
    source, producer = java.producer(acme), java.producer(acme, transactional_id=unique("transaction"))
    java("send", source, "orders", ["a", "b", "c"])
    java("transaction", producer, "init")

    for end in ("abort", "commit"):
        consumer = java.consumer(acme, group, **COMMITTED)
        java("subscribe", consumer, "orders")
        read = _values(java.poll_until(consumer, 3))
        assert read == ["a", "b", "c"]
        java("transaction", producer, "begin")
        java("send", producer, "billing", [f"{value} {end}" for value in map(str, read)])
        java("send_offsets", producer, consumer)
        java("transaction", producer, end)
        java("close", consumer)

    late = java.consumer(acme, group, **COMMITTED)
    java("subscribe", late, "orders")
    assert java("committed", late, "orders") == 3
    assert java("poll", late, 1000) == []
    billing = java.consumer(acme, **COMMITTED)
    java("assign", billing, "billing", 0)
    assert _values(java.poll_until(billing, 3)) == ["a commit", "b commit", "c commit"]
    java("close", source, producer, late, billing)


def test_zombie_of_the_same_tenant_is_fenced(
    java: JavaClients, acme: Endpoint, fresh_topic: FreshTopic, unique: UniqueName
) -> None:
    fresh_topic("acme", "orders", partitions=2)
    transactional_id = unique("transaction")
    zombie = java.producer(acme, transactional_id=transactional_id)
    java("transaction", zombie, "init", "begin")
    java("send", zombie, "orders", ["of the zombie"])

    successor = java.producer(acme, transactional_id=transactional_id)
    java("transaction", successor, "init", "begin")
    java("send", successor, "orders", ["of the successor"])
    with pytest.raises(JavaError, match=FENCED):
        java("transaction", zombie, "commit")
    java("transaction", successor, "commit")
    java("close", zombie, successor)

    assert _read(java, acme, 1, **COMMITTED) == ["of the successor"]


def test_same_transactional_id_of_two_tenants_fences_no_producer(
    java: JavaClients, acme: Endpoint, globex: Endpoint, fresh_topic: FreshTopic, unique: UniqueName
) -> None:
    transactional_id = unique("transaction")
    producers = {}
    for endpoint in (acme, globex):
        fresh_topic(str(endpoint.username), "orders", partitions=2)
        producers[endpoint.username] = java.producer(endpoint, transactional_id=transactional_id)
    for round_number in range(3):
        for producer in producers.values():
            if round_number == 0:
                java("transaction", producer, "init")
            java("transaction", producer, "begin")
        for name, producer in producers.items():
            java("send", producer, "orders", [f"{name} {round_number}"])
        for producer in producers.values():
            java("transaction", producer, "commit")
    java("close", *producers.values())

    for endpoint in (acme, globex):
        expected = [f"{endpoint.username} {number}" for number in range(3)]
        assert _read(java, endpoint, 3, **COMMITTED) == expected
