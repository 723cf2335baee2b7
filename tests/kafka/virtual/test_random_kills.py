"""Virtual partitions while gateway, broker and clients are killed in random order: 12 on 4, 7 on 3, 1,000 on 100.

`make virtual-kills` does all of it with the clients of each library, VIRTUAL_KILLS= times each; `make test` kills
gateway and clients of 7 on 3 once, by librdkafka.
"""

from __future__ import annotations

import logging
import os
import random
import time
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, IsolationLevel, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

from bifrost.embedded.kafka import EmbeddedKafka
from support.brokers.broker_loss import BrokerLoss
from support.clients.endpoint import Endpoint
from support.clients_of_other_languages import BUILD_TIMEOUT_S, CLIENTS
from support.gateways.gateway_process import INITECH, GatewayProcess
from support.mortal.mortal_client import (
    FIRST_OF_NEXT,
    KINDS,
    LIBRARIES,
    MortalClient,
    group_of,
    transactional_id_of,
)
from support.virtual_topics import stored

_log = logging.getLogger(__name__)

ROUNDS = int(os.environ.get("BIFROST_VIRTUAL_KILLS", "0"))
SHAPES = [(12, 4), (7, 3), (1000, 100)] if ROUNDS else [(7, 3)]
USED = [*LIBRARIES, *CLIENTS] if ROUNDS else ["librdkafka"]
WAIT_S = 180.0
LAST = 1_000_000_000
"""Times the number of partitions: higher than any number that a client writes."""
GROWTH = 60
"""Records that each client does between two kills."""


@pytest.mark.timeout(3600 + BUILD_TIMEOUT_S)
@pytest.mark.parametrize(("size", "physical"), SHAPES, ids=str)
@pytest.mark.parametrize("library", USED)
def test_acknowledged_records_are_there_once_whoever_dies(
    kafka_cluster: EmbeddedKafka, tmp_path: Path, library: str, size: int, physical: int
) -> None:
    seed = int.from_bytes(os.urandom(4))
    _log.info("seed %s", seed)
    by_chance = random.Random(seed)
    topic = f"mortal-{library}-{size}-{physical}".lower()
    running = gateway(tmp_path / "gateway-0", kafka_cluster, topic, size, physical)
    running.start()
    endpoint = running.endpoint("initech")
    admin = AdminClient(endpoint.for_confluent)
    admin.create_topics([NewTopic(topic, size, 3)])[topic].result(WAIT_S)
    clients = [MortalClient(tmp_path, kind, endpoint, topic, size, library) for kind in KINDS]
    loss = BrokerLoss(kafka_cluster, elects_first=False)
    try:
        for one in clients:
            one.start()
        await_growth(clients)
        for number in range(ROUNDS or 1):
            victims = [*KINDS, "gateway", *(["broker"] if ROUNDS else [])]
            by_chance.shuffle(victims)
            for victim in victims:
                time.sleep(by_chance.random())
                _log.info("round %s: %s", number, victim)
                if victim == "gateway":
                    running.kill()
                    successor = gateway(
                        tmp_path / f"gateway-{number + 1}", kafka_cluster, topic, size, physical
                    )
                    successor.start_second(running)
                    running = successor
                elif victim == "broker":
                    with loss.without(by_chance.choice(kafka_cluster.node_ids)):
                        await_growth(clients)
                else:
                    one = clients[KINDS.index(victim)]
                    one.kill()
                    one.start()
                await_growth(clients)
        *writers, reader = clients
        for one in writers:
            one.kill()
        last = end_transaction(endpoint, topic, size)
        check(endpoint, topic, size, writers, reader, last)
        reader.kill()
    finally:
        for one in clients:
            one.end()
        running.kill()


def gateway(directory: Path, kafka: EmbeddedKafka, topic: str, size: int, physical: int) -> GatewayProcess:
    def adjust(config: dict[str, Any]) -> None:
        # No other topic of the cluster fits these numbers, and KafkaJS takes no answer with an error of any topic.
        rule = {"topics": [topic], "virtual": size, "physical": physical}
        config["tenants"][0]["virtual_partitions"] = [rule]

    directory.mkdir()
    return GatewayProcess(directory, kafka.bootstrap, brokers=3, tenants=[INITECH], adjust=adjust)


def await_growth(clients: list[MortalClient]) -> None:
    before = [len(one.done) for one in clients]
    deadline = time.monotonic() + WAIT_S
    while any(len(one.done) < number + GROWTH for one, number in zip(clients, before, strict=True)):
        assert time.monotonic() < deadline, [
            len(one.done) - was for one, was in zip(clients, before, strict=True)
        ]
        time.sleep(0.1)


def end_transaction(endpoint: Endpoint, topic: str, size: int) -> list[str]:
    """Abort the transaction of the writer that was killed, which would hide what lies behind it for a minute.

    Then write a record to each partition, and return them. librdkafka commits behind the last record that it gives to
    the application, so aborted ones at the end of a partition would stay in the lag, as they do at a broker.
    """
    producer = Producer(endpoint.for_confluent | {"transactional.id": transactional_id_of(topic)})
    producer.init_transactions(WAIT_S)
    producer.begin_transaction()
    values = [f"transactional {LAST * size + partition}" for partition in range(size)]
    for partition, value in enumerate(values):
        producer.produce(topic, value.encode(), partition=partition)
    producer.commit_transaction(WAIT_S)
    return values


def check(
    endpoint: Endpoint,
    topic: str,
    size: int,
    writers: list[MortalClient],
    reader: MortalClient,
    last: list[str],
) -> None:
    by_partition = stored(endpoint, topic, size, **{"isolation.level": "read_committed"})
    values = [value for found in by_partition.values() for value in found]
    assert {value for value, count in Counter(values).items() if count > 1} == set()
    assert set(last) <= set(values)
    for one in writers:
        missing = set(one.done) - set(values)
        assert missing == set(), one.kind
        for partition, found in by_partition.items():
            numbers = [int(value.split()[1]) for value in found if value.startswith(one.kind)]
            # What a killed producer has sent last may be stored behind what its successor has sent first.
            for life in {number // FIRST_OF_NEXT for number in numbers}:
                of_life = [number for number in numbers if number // FIRST_OF_NEXT == life]
                assert of_life == sorted(of_life), (one.kind, partition)
            assert {number % size for number in numbers} <= {partition}, "a record of another partition"
    deadline = time.monotonic() + WAIT_S
    while set(reader.done) != set(values) or lag(endpoint, topic, size):
        assert time.monotonic() < deadline, (len(set(values) - set(reader.done)), lag(endpoint, topic, size))
        time.sleep(0.5)


def lag(endpoint: Endpoint, topic: str, size: int) -> int:
    """Return how far the group is behind in all partitions together, as tools count it."""
    places = [TopicPartition(topic, one) for one in range(size)]
    with closing(Consumer(endpoint.for_confluent | {"group.id": group_of(topic)})) as consumer:
        committed = {one.partition: one.offset for one in consumer.committed(places, WAIT_S)}
    latest = {one: OffsetSpec.latest() for one in places}
    admin = AdminClient(endpoint.for_confluent)
    asked = admin.list_offsets(latest, isolation_level=IsolationLevel.READ_COMMITTED, request_timeout=WAIT_S)
    ends = {place.partition: future.result(WAIT_S).offset for place, future in asked.items()}
    starts = {
        place.partition: future.result(WAIT_S).offset
        for place, future in admin.list_offsets({one: OffsetSpec.earliest() for one in places}).items()
    }
    lags = {one: end - max(committed[one], starts[one]) for one, end in ends.items()}
    assert min(lags.values()) >= 0, "the group is behind the end of a partition"
    return sum(lags.values())
