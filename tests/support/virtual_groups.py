"""Groups of consumers of virtual partitions: how much they read, and what is read for them from the brokers."""

from __future__ import annotations

import os
import threading
import time
from collections import defaultdict
from contextlib import closing
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from prometheus_client.parser import text_string_to_metric_families

from support.clients.endpoint import Endpoint
from support.gateways.admin_port import ask
from support.gateways.gateway_process import GatewayProcess
from support.virtual_topics import WAIT_S

FETCHED = "kafka_proxy_virtual_partition_fetched_bytes_total"
SHARED = "kafka_proxy_virtual_partition_shared_bytes_total"
HELD = "kafka_proxy_virtual_partition_recent_bytes"
RECORD_BYTES = 4_000
PASSING = {KafkaError._ALL_BROKERS_DOWN, KafkaError._TRANSPORT}
"""What a consumer tells while a broker is away, and gets over."""


def counted(gateway: GatewayProcess, name: str) -> int:
    """Return a metric of the tenant, the sum of all its labels."""
    families = text_string_to_metric_families(ask(gateway, "/metrics")[1])
    return sum(int(one.value) for family in families for one in family.samples if one.name == name)


class Group:
    """Consumers of a group, each with a thread of its own."""

    def __init__(
        self,
        endpoint: Endpoint,
        topic: str,
        group: str,
        *,
        members: int,
        partitions: int,
        is_behind: bool = False,
        **options: Any,
    ) -> None:
        """Join later; `is_behind`: there are records already, and none is read before all have joined.

        What librdkafka holds when a partition is resumed it may give twice, so nothing is paused where records come.
        """
        self.topic, self.group, self._is_behind = topic, group, is_behind
        self._members, self._partitions = members, partitions
        self._options = {
            **endpoint.for_confluent,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "partition.assignment.strategy": "roundrobin",
            **options,
        }
        self.read: dict[int, list[int]] = defaultdict(list)
        self.owners: dict[int, int] = {}
        self.failures: list[Exception] = []
        self._lock, self._stop, self._starts = threading.Lock(), threading.Event(), threading.Event()
        self._threads = [threading.Thread(target=self._consume, args=(one,)) for one in range(members)]

    def start(self) -> None:
        """Let all join, and wait until each has its partition."""
        for one in self._threads:
            one.start()
        self.until(
            lambda: len(self.owners) == self._partitions and len(set(self.owners.values())) == self._members
        )
        self._starts.set()

    def stop(self) -> None:
        """Let all go."""
        self._stop.set()
        for one in self._threads:
            one.join(WAIT_S)
        assert self.failures == []

    def until(self, is_so: Any) -> None:
        """Wait."""
        deadline = time.monotonic() + WAIT_S
        while not is_so():
            assert not self.failures
            assert time.monotonic() < deadline, (
                self.owners,
                {key: len(some) for key, some in self.read.items()},
            )
            time.sleep(0.05)

    def await_records(self, count: int) -> None:
        """Wait until so many records were read, and see that no more come."""
        self.until(lambda: sum(map(len, self.read.values())) >= count)
        time.sleep(1)
        assert sum(map(len, self.read.values())) == count, dict(self.read)

    def _consume(self, number: int) -> None:
        try:
            with closing(Consumer(self._options)) as consumer:

                def assigned(one: Consumer, partitions: list[Any]) -> None:
                    self.owners.update({place.partition: number for place in partitions})
                    one.assign(partitions)
                    if self._is_behind and not self._starts.is_set():
                        one.pause(partitions)

                consumer.subscribe([self.topic], on_assign=assigned)
                is_paused = self._is_behind
                while not self._stop.is_set():
                    if is_paused and self._starts.is_set() and consumer.assignment():
                        consumer.resume(consumer.assignment())
                        is_paused = False
                    for message in consumer.consume(500, 0.1):
                        error = message.error()
                        if error is not None and error.code() not in PASSING:
                            raise KafkaException(error)
                        if error is not None:
                            continue
                        value = int(message.value()[:10])
                        with self._lock:
                            self.read[message.partition()].append(value)
        except Exception as error:
            self.failures.append(error)


def produce(
    endpoint: Endpoint,
    topic: str,
    numbers: range,
    *,
    partitions: int,
    pause_s: float = 0.0,
    size: int = RECORD_BYTES,
) -> None:
    """Write a record with each number to each partition, random bytes, in batches of some."""
    own = {"linger.ms": 5, "batch.num.messages": 20, "enable.idempotence": True}
    producer = Producer(endpoint.for_confluent | own)
    for number in numbers:
        for partition in range(partitions):
            value = b"%010d" % number + os.urandom(size // 2 - 5).hex().encode()
            producer.produce(topic, value, partition=partition)
        producer.poll(pause_s)
    assert producer.flush(WAIT_S) == 0


def check(group: Group, numbers: range, partitions: int) -> None:
    """Each record once, in order."""
    assert dict(group.read) == {partition: list(numbers) for partition in range(partitions)}
