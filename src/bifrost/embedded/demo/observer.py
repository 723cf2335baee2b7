"""Looks at the broker directly, past the gateway, and at what each tenant sees."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Sequence

from kafka.admin import OffsetSpec
from kafka.errors import KafkaError

from bifrost.embedded.demo.state import Observation, Sight, TopicOnBroker
from bifrost.embedded.demo.tenant import TenantClients
from kafka import KafkaAdminClient, TopicPartition

PERIOD_S = 1.0
"""Between two looks, in seconds."""


class Observer:
    """Looks once a second, in a thread of its own; `latest` is the last look that succeeded."""

    def __init__(self, upstream: str, tenants: Sequence[TenantClients]) -> None:
        self.latest = Observation()
        self._tenants = tenants
        self._admin = KafkaAdminClient(bootstrap_servers=upstream, client_id="demo-observer")
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="observer", daemon=True)

    def start(self) -> None:
        """Start to look."""
        self._thread.start()

    def stop(self, deadline: float) -> None:
        """Stop looking and close the connection to the broker; after `deadline` leave that to the process's end."""
        self._stopping.set()
        self._thread.join(max(deadline - time.monotonic(), 0))
        if not self._thread.is_alive():
            self._admin.close()

    def look(self) -> Observation:
        """Look once.

        Raises:
            KafkaError: a broker or the gateway did not answer.
        """
        sights = {
            clients.tenant.name: Sight(tuple(sorted(clients.admin.list_topics())), list_groups(clients.admin))
            for clients in self._tenants
            if clients.admin is not None
        }
        return Observation(list_topics(self._admin), list_groups(self._admin), sights)

    def _watch(self) -> None:
        while not self._stopping.is_set():
            # While processes start or stop a request may fail; the next look is soon.
            with contextlib.suppress(KafkaError):
                self.latest = self.look()
            self._stopping.wait(PERIOD_S)


def list_topics(admin: KafkaAdminClient) -> tuple[TopicOnBroker, ...]:
    """Return every topic of the cluster with the number of its records, Kafka's own topics last."""
    described = admin.describe_topics()
    partitions = [
        TopicPartition(topic["name"], partition["partition_index"])
        for topic in described
        for partition in topic["partitions"]
    ]
    latest = admin.list_partition_offsets(dict.fromkeys(partitions, OffsetSpec.LATEST))
    earliest = admin.list_partition_offsets(dict.fromkeys(partitions, OffsetSpec.EARLIEST))
    topics = [
        TopicOnBroker(
            topic["name"],
            len(topic["partitions"]),
            sum(
                latest[p].offset - earliest[p].offset
                for p in partitions
                if p.topic == topic["name"] and p in latest
            ),
            bool(topic["is_internal"]),
        )
        for topic in described
    ]
    return tuple(sorted(topics, key=lambda topic: (topic.is_internal, topic.name)))


def list_groups(admin: KafkaAdminClient) -> tuple[str, ...]:
    """Return the IDs of all groups that the client sees."""
    return tuple(sorted(group["group_id"] for group in admin.list_groups()))
