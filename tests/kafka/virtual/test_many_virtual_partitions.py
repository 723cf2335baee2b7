"""50,000 virtual partitions on 100, of a partition remapper's file: 500 share a physical one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

from bifrost.embedded.kafka import EmbeddedKafka
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.gateways.gateway_fixtures import UniqueName
from support.gateways.gateway_process import HOST
from support.gateways.reloadable_gateway import Reloadable
from support.physical_names import physical_name
from support.stage import messages
from support.virtual_topics import WAIT_S

VIRTUAL, PHYSICAL, SHARING, EACH = 50_000, 100, 500, 4
ALL_OF_ONE = [group * PHYSICAL + 7 for group in range(SHARING)]
"""All virtual partitions of a physical one."""
SOME = [*ALL_OF_ONE, 0, 1, 99, 100, 25_599, 25_600, 49_998, 49_999]


class Remapping(Reloadable):
    """A gateway with such a file."""

    advertised = ""

    def _write_configuration(self) -> None:
        servers = ", ".join(f'"{one}"' for one in self._upstream)
        (self.directory / "proxy.yaml").write_text(
            f"listen: {{ address: '{HOST}:{self.bootstrap_port}'{self.advertised} }}\n"
            f"kafka: {{ bootstrap_servers: [{servers}] }}\n"
            f"mapping: {{ virtual_partitions: {VIRTUAL}, physical_partitions: {PHYSICAL} }}\n"
            f"metrics: {{ address: '{HOST}:{self.admin_port}' }}\n",
            encoding="utf-8",
        )


@pytest.fixture(scope="module")
def remapping(kafka: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Remapping]:
    directory = tmp_path_factory.mktemp("many")
    with Remapping(directory, kafka.bootstrap, tenants=()) as process:
        yield process


@pytest.fixture(scope="module")
def client(remapping: Remapping) -> dict[str, Any]:
    return {"bootstrap.servers": f"{HOST}:{remapping.bootstrap_port}"}


@pytest.fixture
def topic(client: dict[str, Any], kafka: EmbeddedKafka, unique: UniqueName) -> str:
    name, admin = unique("sensors"), AdminClient(client)
    admin.create_topics([NewTopic(name, VIRTUAL, 1)])[name].result(WAIT_S)
    direct = AdminClient({"bootstrap.servers": kafka.bootstrap})
    physical = direct.list_topics(physical_name("remapper", name), WAIT_S)
    assert len(physical.topics[physical_name("remapper", name)].partitions) == PHYSICAL
    assert len(admin.list_topics(name, WAIT_S).topics[name].partitions) == VIRTUAL
    return name


@pytest.mark.parametrize(
    "options", [{"enable.idempotence": True}, {"acks": 1}, {"transactional.id": "many"}], ids=str
)
def test_each_record_is_read_in_its_virtual_partition(
    client: dict[str, Any], topic: str, options: dict[str, Any]
) -> None:
    write(client | options, topic)

    assert read(client, topic) == {one: values_of(one) for one in SOME}
    admin = AdminClient(client)
    ends = offsets(admin, topic, [*SOME, 8, 49_997], OffsetSpec.latest())
    starts = offsets(admin, topic, [*SOME, 8, 49_997], OffsetSpec.earliest())
    assert all(ends[one] - starts[one] >= EACH for one in SOME)
    assert ends[8] == starts[8], "nothing was written there"
    assert ends[49_997] == starts[49_997]
    assert len({ends[one] for one in ALL_OF_ONE}) == SHARING, "each has an end of its own"


def test_offsets_are_committed_for_each(client: dict[str, Any], topic: str, unique: UniqueName) -> None:
    wanted = {one: 1000 + one for one in SOME}
    consumer = Consumer(client | {"group.id": unique("many"), "enable.auto.commit": False})
    consumer.commit(
        offsets=[TopicPartition(topic, one, offset) for one, offset in wanted.items()], asynchronous=False
    )
    found = consumer.committed([TopicPartition(topic, one) for one in SOME], WAIT_S)
    consumer.close()

    assert {one.partition: one.offset for one in found} == wanted


def test_clients_are_told_another_port_than_the_one_that_is_bound(remapping: Remapping) -> None:
    remapping.advertised = ", advertised_address: 'kafka.example.com:19092'"
    remapping._write_configuration()
    assert remapping.reload().returncode == 0

    with RawClient(Endpoint(HOST, remapping.bootstrap_port)) as client:
        answer = client.request(messages.build("MetadataRequest", {"topics": []}), 12)

    assert [(one.host, one.port) for one in answer.brokers] == [("kafka.example.com", 19092)]


def values_of(partition: int) -> list[str]:
    return [f"{partition}-{number}" for number in range(EACH)]


def write(options: dict[str, Any], topic: str) -> None:
    told: list[str] = []
    producer = Producer(options | {"linger.ms": 50})
    if "transactional.id" in options:
        producer.init_transactions(WAIT_S)
        producer.begin_transaction()
    for number in range(EACH):
        for one in SOME:
            producer.produce(
                topic,
                values_of(one)[number].encode(),
                partition=one,
                callback=lambda error, _: told.append(str(error)),
            )
        producer.poll(0)
    assert producer.flush(2 * WAIT_S) == 0
    if "transactional.id" in options:
        producer.commit_transaction(WAIT_S)
    assert set(told) == {"None"}
    assert len(told) == EACH * len(SOME)


def read(client: dict[str, Any], topic: str) -> dict[int, list[str]]:
    own = {"group.id": "no group", "enable.auto.commit": False, "isolation.level": "read_committed"}
    consumer, found = Consumer(client | own), defaultdict[int, list[str]](list)
    consumer.assign([TopicPartition(topic, one, 0) for one in SOME])
    for _ in range(600):
        for message in consumer.consume(1000, 0.2):
            if message.error() is not None:
                raise KafkaException(message.error())
            found[message.partition()].append(message.value().decode())
        if sum(map(len, found.values())) >= EACH * len(SOME):
            break
    assert consumer.poll(1) is None
    consumer.close()
    return dict(found)


def offsets(admin: AdminClient, topic: str, partitions: list[int], spec: OffsetSpec) -> dict[int, int]:
    asked = admin.list_offsets(
        {TopicPartition(topic, one): spec for one in partitions}, request_timeout=WAIT_S
    )
    return {place.partition: future.result(WAIT_S).offset for place, future in asked.items()}
