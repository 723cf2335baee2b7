"""Compacted topics with virtual partitions on a real Kafka: the cleaner keeps the last record of each key for each.

One test writes with all clients and then waits for the broker's log cleaner, which works every 15 s.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.wire.error_codes import ErrorCode
from kafka import KafkaConsumer, KafkaProducer
from kafka import TopicPartition as PythonTopicPartition
from support.clients.endpoint import Endpoint
from support.clients.keyed_batches import plain_batch
from support.clients.raw_client import RawClient
from support.clients.raw_operations import await_config, create_topic, produce_request
from support.compacted_topics import (
    CLEANED_AT_ONCE,
    PHYSICAL,
    ROUNDS,
    RULE,
    VIRTUAL,
    WAIT_S,
    Kept,
    await_cleaned,
    expected,
    left_of,
    pairs_of,
    read_all,
    stored_in,
    tick,
)
from support.encryption.key_files import encryption, write_key_file
from support.gateways.gateway_fixtures import UniqueName
from support.gateways.gateway_process import GLOBEX, GatewayProcess
from support.java.java_clients import JavaClients
from support.physical_names import physical_name

_TOPIC = 2
"""ConfigResource.Type.TOPIC."""
WRITERS = (
    "plain",
    "idempotent",
    "transactional",
    "sealed",
    "python",
    "java",
    "java-plain",
    "java-transactional",
)


@pytest.fixture(scope="module")
def gateway(warm: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayProcess]:
    directory = tmp_path_factory.mktemp("compacted")
    write_key_file(directory / "keks", "payments")

    def adjust(config: dict[str, Any]) -> None:
        config["tenants"][0] |= {"virtual_partitions": [RULE], "allow_topic_deletion": True}
        sealing = encryption(directory / "keks", "compacted-sealed*", mode="values")
        config["tenants"][0]["filters"] = [sealing]

    options: dict[str, Any] = {"tenants": [GLOBEX], "adjust": adjust, "has_admin": True}
    with GatewayProcess(directory, warm.bootstrap, **options) as process:
        yield process


@pytest.fixture
def endpoint(gateway: GatewayProcess) -> Endpoint:
    return gateway.endpoint("globex")


def new_topic(direct: RawClient, name: str) -> str:
    create_topic(direct, physical_name("globex", name), PHYSICAL, CLEANED_AT_ONCE)
    return name


def by_librdkafka(endpoint: Endpoint, topic: str, **options: Any) -> None:
    told: list[KafkaError | None] = []
    producer = Producer(endpoint.for_confluent | {"linger.ms": 20, "max.in.flight": 1} | options)
    is_transactional = "transactional.id" in options
    if is_transactional:
        producer.init_transactions(WAIT_S)
    for round_ in range(ROUNDS):
        if is_transactional:
            _abort_one(producer, topic)
            producer.begin_transaction()
        for partition in range(VIRTUAL):
            for key, value in pairs_of(partition, round_):
                data = None if value is None else value.encode()
                producer.produce(
                    topic, data, key.encode(), partition, callback=lambda error, _: told.append(error)
                )
        assert producer.flush(WAIT_S) == 0
        if is_transactional:
            producer.commit_transaction(WAIT_S)
    assert set(told) == {None}


def _abort_one(producer: Producer, topic: str) -> None:
    producer.begin_transaction()
    for partition in range(VIRTUAL):
        producer.produce(topic, b"aborted", b"k", partition)
    producer.flush(WAIT_S)
    producer.abort_transaction(WAIT_S)


def by_kafka_python(endpoint: Endpoint, topic: str) -> None:
    with closing(KafkaProducer(**endpoint.for_python, acks="all", compression_type="gzip")) as producer:
        for round_ in range(ROUNDS):
            told = [
                producer.send(
                    topic, None if value is None else value.encode(), key.encode(), partition=partition
                )
                for partition in range(VIRTUAL)
                for key, value in pairs_of(partition, round_)
            ]
            producer.flush(WAIT_S)
            assert all(one.succeeded() for one in told)


def by_java(java: JavaClients, endpoint: Endpoint, topic: str, **options: str) -> None:
    producer = java.producer(endpoint, acks="all", compression_type="lz4", **options)
    is_transactional = "transactional_id" in options
    if is_transactional:
        java("transaction", producer, "init")
    for round_ in range(ROUNDS):
        if is_transactional:
            java("transaction", producer, "begin")
        for partition in range(VIRTUAL):
            java("send_pairs", producer, topic, [list(one) for one in pairs_of(partition, round_)], partition)
        if is_transactional:
            java("transaction", producer, "commit")
    java("close", producer)


def read_by_kafka_python(endpoint: Endpoint, topic: str) -> Kept:
    found: Kept = defaultdict(dict)
    places = [PythonTopicPartition(topic, one) for one in range(VIRTUAL)]
    with closing(KafkaConsumer(**endpoint.for_python, auto_offset_reset="earliest")) as consumer:
        consumer.assign(places)
        ends = consumer.end_offsets(places)
        deadline = time.monotonic() + WAIT_S
        while any(consumer.position(one) < end for one, end in ends.items()):
            assert time.monotonic() < deadline, found
            for place, records in consumer.poll(timeout_ms=200).items():
                for one in records:
                    found[place.partition][one.key.decode()] = (
                        None if one.value is None else one.value.decode()
                    )
    kept = {place: {key: one for key, one in own.items() if key != "tick"} for place, own in found.items()}
    return left_of(kept)


def read_by_java(java: JavaClients, endpoint: Endpoint, topic: str, group: str) -> tuple[Kept, Any, Any]:
    """Return also what it has committed, and the ends."""
    consumer, found = (
        java.consumer(endpoint, group, isolation_level="read_committed"),
        defaultdict[int, Any](dict),
    )
    java("subscribe", consumer, topic)
    deadline, after = time.monotonic() + WAIT_S, 0
    while after < 5 and time.monotonic() < deadline:
        records = java("poll_pairs", consumer)
        after = 0 if records or not found else after + 1
        for partition, key, value in records:
            if key != "tick":
                found[partition][key] = value
    java("commit", consumer)
    admin = java.admin(endpoint)
    committed = java("group_offsets", admin, group)
    ends = {f"{topic}-{one}": java("offsets", consumer, topic, 0, one)[1] for one in range(VIRTUAL)}
    java("close", consumer, admin)
    return left_of(dict(found)), committed, ends


@pytest.mark.timeout(300)
@pytest.mark.parametrize("java", ["4.3.1"], indirect=True)
def test_each_virtual_partition_keeps_the_last_record_of_each_key(
    java: JavaClients, endpoint: Endpoint, direct: RawClient, unique: UniqueName
) -> None:
    topics = {writer: new_topic(direct, unique(f"compacted-{writer}")) for writer in WRITERS}
    by_librdkafka(endpoint, topics["plain"], **{"enable.idempotence": False, "compression.type": "snappy"})
    by_librdkafka(endpoint, topics["idempotent"], **{"enable.idempotence": True, "compression.type": "zstd"})
    by_librdkafka(
        endpoint, topics["transactional"], **{"transactional.id": unique("t"), "compression.type": "gzip"}
    )
    by_librdkafka(endpoint, topics["sealed"], **{"enable.idempotence": True})
    by_kafka_python(endpoint, topics["python"])
    by_java(java, endpoint, topics["java"], enable_idempotence="true")
    by_java(java, endpoint, topics["java-plain"], enable_idempotence="false")
    by_java(java, endpoint, topics["java-transactional"], transactional_id=unique("t"))

    physical = [physical_name("globex", topic) for topic in topics.values()]
    await_cleaned(direct, lambda: tick(endpoint, topics.values()), physical)

    for writer, topic in topics.items():
        assert read_all(endpoint, topic) == expected(), writer
    assert read_by_kafka_python(endpoint, topics["java"]) == expected()
    # In a transaction one has to be behind the claims and the markers as well.
    for writer in ("python", "java-transactional"):
        found, committed, ends = read_by_java(java, endpoint, topics[writer], unique(f"group-{writer}"))
        assert (found, committed) == (expected(), ends), writer
    for one in stored_in(direct, physical_name("globex", topics["sealed"]), 1):
        assert (one.key or b"")[:1] in (b"\0", b"\1", b"\2")
        assert (one.value or b"").startswith(b"BFST")


def test_the_topics_are_created_and_altered_with_any_policy(
    endpoint: Endpoint, direct: RawClient, unique: UniqueName
) -> None:
    admin, name, other = AdminClient(endpoint.for_confluent), unique("compacted-a"), unique("compacted-b")
    config = {"cleanup.policy": "compact,delete"}
    told = admin.create_topics([NewTopic(name, VIRTUAL, 1, config=config), NewTopic(other, VIRTUAL, 1)])
    for one in told.values():
        one.result(WAIT_S)
    entry = ConfigEntry("cleanup.policy", "compact", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource("topic", other, incremental_configs=[entry])
    admin.incremental_alter_configs([resource])[resource].result(WAIT_S)

    await_config(direct, _TOPIC, physical_name("globex", name), "cleanup.policy", "compact,delete")
    await_config(direct, _TOPIC, physical_name("globex", other), "cleanup.policy", "compact")
    with pytest.raises(KafkaException) as caught:
        admin.delete_records([TopicPartition(other, 1, -1)])[TopicPartition(other, 1, -1)].result(WAIT_S)
    assert caught.value.args[0].code() == KafkaError.POLICY_VIOLATION


def test_records_without_a_key_are_refused_as_by_a_broker(
    gateway: GatewayProcess, direct: RawClient, unique: UniqueName
) -> None:
    topic = new_topic(direct, unique("compacted"))
    batch = plain_batch([b"a", None, b"b", None])
    with RawClient.authenticated(gateway.broker_endpoint("globex")) as client:
        own = client.request(produce_request(topic, batch), 9)
    brokers = direct.request(produce_request(physical_name("globex", topic), batch), 9)
    answers = [one.responses[0].partition_responses[0] for one in (own, brokers)]

    assert [one.error_code for one in answers] == [ErrorCode.INVALID_RECORD] * 2
    told = [[one.batch_index for one in answer.record_errors] for answer in answers]
    assert told == [[1, 3], [1, 3]]


def test_keys_that_were_written_past_the_gateway_are_no_ones(
    endpoint: Endpoint, gateway: GatewayProcess, direct: RawClient, broker: Endpoint, unique: UniqueName
) -> None:
    topic = new_topic(direct, unique("compacted"))
    producer = Producer(broker.for_confluent)
    producer.produce(physical_name("globex", topic), b"value", b"text", 0)
    assert producer.flush(WAIT_S) == 0

    with pytest.raises((KafkaException, AssertionError), match="Invalid message"):
        read_all(endpoint, topic)
