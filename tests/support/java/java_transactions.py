"""Transactions of Java's producer, committed and aborted, as consumers of Java's read them."""

from typing import Any

from support.clients.endpoint import Endpoint
from support.java.java_clients import JavaClients

RECORDS = 20
"""Of each transaction."""


def send_three_transactions(java: JavaClients, endpoint: Endpoint, topic: str, **options: Any) -> None:
    """Commit a transaction, abort one, and commit another; the values say which end was theirs.

    Args:
        java: the clients.
        endpoint: where they go.
        topic: gets RECORDS of each.
        options: of the producer, `transactional_id` among them.
    """
    producer = java.producer(endpoint, **options)
    java("transaction", producer, "init")
    for end in ("commit", "abort", "commit"):
        java("transaction", producer, "begin")
        java("send", producer, topic, [f"{end} {number}" for number in range(RECORDS)])
        java("transaction", producer, end)
    java("close", producer)


def read_committed(java: JavaClients, endpoint: Endpoint, topic: str) -> list[str]:
    """Return the values of these transactions in partition 0 that a consumer with read_committed gets."""
    consumer = java.consumer(endpoint, isolation_level="read_committed")
    java("assign", consumer, topic, 0)
    return [value for *_, value in java.poll_until(consumer, 2 * RECORDS)]


COMMITTED = [f"commit {number}" for number in range(RECORDS)] * 2
"""What that is."""
