"""A Kafka Streams application with all kinds of internal topics, in as many instances as a test wants.

The topology is in `streams_driver.py`, the child, whose JVM can have all the instances: at any cluster, of any
application. An instance that is to be killed has a JVM of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bifrost.embedded.kafka import DEFAULT_VERSION
from support.clients.endpoint import Endpoint
from support.java.java_clients import JavaClients
from support.java.streams_app import COORDINATES
from support.journal.records import read_committed

CUSTOMERS, TOTALS = "shop-customers", "shop-totals"
PARTITIONS = 2
_STRINGS = "org.apache.kafka.common.serialization.Serdes$StringSerde"
_IN_MEMORY = "org.apache.kafka.streams.state.BuiltInDslStoreSuppliers$InMemoryDslStoreSuppliers"
_DRIVER = Path(__file__).with_name("streams_driver.py")


def shop_jvm() -> JavaClients:
    """Return the JVM of instances, a context manager."""
    return JavaClients(DEFAULT_VERSION, driver=_DRIVER, coordinates=COORDINATES)


@dataclass
class Shop:
    """The application at one cluster."""

    jvm: JavaClients
    endpoint: Endpoint
    application_id: str
    protocol: str
    """`classic` or `streams` (KIP-1071)."""
    directory: Path
    """An empty one, for the instances' state."""
    by_order: int = 3
    """Partitions of the repartition topic of the orders, which the topology says."""
    guarantee: str = "exactly_once_v2"
    purges_ms: int = 30_000
    """How often it deletes from repartition topics what it has read; Kafka Streams' default."""
    more: Mapping[str, str] = field(default_factory=dict)
    """Further properties."""
    instances: list[Instance] = field(default_factory=list)
    started: int = 0
    """How many instances there were so far."""

    def start(self, orders: str, *, pattern: str | None = None, jvm: JavaClients | None = None) -> None:
        """Start another instance.

        Args:
            orders: the topic of the orders.
            pattern: of the topics of the orders, instead.
            jvm: of this instance, if it is not that of the application.
        Raises:
            JavaError: Kafka Streams refuses.
        """
        number, jvm = self.started, jvm or self.jvm
        self.started += 1
        properties = {
            "bootstrap.servers": self.endpoint.bootstrap,
            "application.id": self.application_id,
            "client.id": f"{self.application_id}-{number}",
            "group.protocol": self.protocol,
            "processing.guarantee": self.guarantee,
            "state.dir": str(self.directory / str(number)),
            "default.key.serde": _STRINGS,
            "default.value.serde": _STRINGS,
            "dsl.store.suppliers.class": _IN_MEMORY,
            "commit.interval.ms": "100",
            "repartition.purge.interval.ms": str(self.purges_ms),
            # How soon a pattern finds a new topic, which is the client's affair.
            "metadata.max.age.ms": "1000",
            **({"num.standby.replicas": "1"} if self.protocol == "classic" else {}),
            **self.more,
            **self.endpoint.for_java,
        }
        topics = {"orders": orders, "customers": CUSTOMERS, "totals": TOTALS}
        self.instances.append(Instance(jvm, jvm("start", properties, topics, pattern, self.by_order)))

    def close(self, place: int = 0) -> None:
        """Close one of the instances, which leaves the group."""
        one = self.instances.pop(place)
        assert one.jvm("close", one.number) is True

    def kill(self, place: int = 0) -> None:
        """Kill the JVM of one of the instances, in the middle of whatever it does."""
        self.instances.pop(place).jvm.kill()

    def tasks(self) -> list[Tasks]:
        """Return what each instance does."""
        return [Tasks(*one.jvm("tasks", one.number)) for one in self.instances]

    def positions(self) -> list[dict[tuple[str, int], int]]:
        """Return how far each instance has read changelogs, also for its standbys: by store and partition."""
        return [
            {(store, partition): offset for store, partition, offset in one.jvm("positions", one.number)}
            for one in self.instances
        ]

    @property
    def is_running(self) -> bool:
        """Whether every instance has what it should do, and does it.

        Raises:
            AssertionError: one has given up; with what it printed.
        """
        states = [one.jvm("state", one.number) for one in self.instances]
        for one, state in zip(self.instances, states, strict=True):
            assert state not in ("PENDING_ERROR", "ERROR"), one.jvm.log()[-8000:]
        return set(states) == {"RUNNING"}

    def totals(self) -> dict[str, int]:
        """Return the last total of each region."""
        return {key.decode(): int(value) for key, value in read_committed(self.endpoint, TOTALS)}


@dataclass(frozen=True)
class Instance:
    """An instance of the application."""

    jvm: JavaClients
    number: int
    """In its JVM."""


@dataclass(frozen=True)
class Tasks:
    """What an instance does: the partitions of each task."""

    active: Sequence[Any]
    standby: Sequence[Any]
