"""A member of a consumer group that has its partitions and keeps them while something else is looked at."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import confluent_kafka

from support.clients.endpoint import Endpoint

JOIN_S = 30.0


@contextmanager
def member_of(
    endpoint: Endpoint, group: str, topic: str, *, protocol: str = "classic", client_id: str = "member"
) -> Iterator[None]:
    """Join a group, consume and commit a record, and stay until the block ends.

    Args:
        endpoint: the cluster.
        group: the group.
        topic: what it subscribes to; there must be a record in it.
        protocol: `classic` or `consumer` (KIP-848).
        client_id: its client ID.
    """
    settings = endpoint.for_confluent | {
        "group.id": group,
        "group.protocol": protocol,
        "client.id": client_id,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
    }
    committed, leaving = threading.Event(), threading.Event()

    def consume() -> None:
        consumer = confluent_kafka.Consumer(settings)
        try:
            consumer.subscribe([topic])
            while not leaving.is_set():
                message = consumer.poll(0.05)
                if message is not None and message.error() is None:
                    consumer.commit(message, asynchronous=False)
                    committed.set()
        finally:
            consumer.close()

    member = threading.Thread(target=consume, name="group-member")
    member.start()
    try:
        assert committed.wait(JOIN_S), f"nothing consumed in {group} after {JOIN_S} s"
        yield
    finally:
        leaving.set()
        member.join()
