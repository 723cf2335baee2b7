"""The operator raises `virtual` while a group of the newer protocol reads: it reads the new partitions too."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from confluent_kafka import Consumer
from confluent_kafka.admin import AdminClient, NewTopic

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.wire.api_keys import ApiKey
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import await_topic
from support.gateways.gateway_fixtures import UniqueName
from support.gateways.gateway_process import GLOBEX
from support.gateways.reloadable_gateway import Reloadable
from support.java.java_clients import JavaClients
from support.physical_names import physical_name
from support.virtual_topics import EACH, WAIT_S, Read, expected, produce

pytestmark = pytest.mark.needs_api(ApiKey.CONSUMER_GROUP_HEARTBEAT, 1)  # For librdkafka and Java.

PHYSICAL, FEW, MORE = 4, 8, 12


def with_virtual(number: int) -> Any:
    def change(config: dict[str, Any]) -> None:
        rule = {"topics": ["grows-*"], "virtual": number, "physical": PHYSICAL}
        config["tenants"][0]["virtual_partitions"] = [rule]

    return change


@pytest.fixture
def growing(quick: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reloadable]:
    directory = tmp_path_factory.mktemp("raised")
    options: dict[str, Any] = {"tenants": [GLOBEX], "adjust": with_virtual(FEW), "has_admin": True}
    with Reloadable(directory, quick.bootstrap, **options) as process:
        yield process


@pytest.fixture
def topic(growing: Reloadable, direct: RawClient, unique: UniqueName) -> str:
    name = unique("grows")
    admin = AdminClient(growing.endpoint("globex").for_confluent)
    admin.create_topics([NewTopic(name, FEW, 1)])[name].result(WAIT_S)
    await_topic(direct, physical_name("globex", name), PHYSICAL)
    return name


def raised(growing: Reloadable, endpoint: Endpoint, topic: str) -> None:
    growing.apply(with_virtual(MORE))
    produce(endpoint, topic, "b", size=MORE)


def wanted(topic: str) -> Read:
    """Return what is written before and after."""
    before = expected(topic, "a", size=FEW)
    return {one: before.get(one, []) + some for one, some in expected(topic, "b", size=MORE).items()}


def test_librdkafka_reads_them(growing: Reloadable, topic: str, unique: UniqueName) -> None:
    endpoint, found, is_raised = growing.endpoint("globex"), defaultdict(list), False
    produce(endpoint, topic, "a", size=FEW)
    own = {"group.id": unique("group"), "group.protocol": "consumer", "auto.offset.reset": "earliest"}
    with closing(Consumer(endpoint.for_confluent | own)) as consumer:
        consumer.subscribe([topic])
        deadline = time.monotonic() + WAIT_S
        while dict(found) != wanted(topic):
            message = consumer.poll(0.2)
            if message is not None and message.error() is None:
                found[message.partition()].append(message.value().decode())
            if not is_raised and sum(map(len, found.values())) == FEW * EACH:
                raised(growing, endpoint, topic)
                is_raised = True
            assert time.monotonic() < deadline, {one: len(some) for one, some in found.items()}


@pytest.mark.parametrize("java", ["4.3.1"], indirect=True)
def test_java_reads_them(java: JavaClients, growing: Reloadable, topic: str, unique: UniqueName) -> None:
    endpoint, found = growing.endpoint("globex"), defaultdict(list)
    produce(endpoint, topic, "a", size=FEW)
    consumer = java.consumer(endpoint, unique("group"), group_protocol="consumer")
    java("subscribe", consumer, topic)
    records = java.poll_until(consumer, FEW * EACH)
    raised(growing, endpoint, topic)
    records += java.poll_until(consumer, MORE * EACH)
    java("close", consumer)
    for _, partition, _, value in records:
        found[partition].append(value)

    assert dict(found) == wanted(topic)
