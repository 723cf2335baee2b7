"""What is shared of fetched records when these are deleted, on a real Kafka: no consumer gets what is not there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from bifrost.embedded.kafka import EmbeddedKafka
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import await_no_topic, await_topic, records_of
from support.gateways.admin_port import value
from support.gateways.gateway_fixtures import UniqueName
from support.gateways.gateway_process import GLOBEX, GatewayProcess
from support.physical_names import physical_name
from support.virtual_topics import EACH, PHYSICAL, RULES, SIZES, WAIT_S, produce, values_of

SHARED = "kafka_proxy_virtual_partition_shared_fetches_total"


@pytest.fixture(scope="module")
def dividing(warm: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayProcess]:
    """The tenant may delete records and topics."""

    def adjust(config: dict[str, Any]) -> None:
        config["tenants"][0] |= {"virtual_partitions": RULES, "allow_topic_deletion": True}

    options: dict[str, Any] = {"tenants": [GLOBEX], "adjust": adjust, "has_admin": True}
    with GatewayProcess(tmp_path_factory.mktemp("forgetting"), warm.bootstrap, **options) as process:
        yield process


@pytest.fixture
def consumers(dividing: GatewayProcess) -> Iterator[list[RawClient]]:
    """Connections of one client to the broker."""
    with ExitStack() as stack:
        endpoint = dividing.broker_endpoint("globex")
        yield [stack.enter_context(RawClient.authenticated(endpoint)) for _ in range(3)]


def shared(gateway: GatewayProcess) -> float:
    return value(gateway, SHARED, tenant="globex")


def is_there(records: bytes, partition: int, run: str = "") -> bool:
    return all(one.encode() in records for one in values_of(partition, run))


@pytest.mark.parametrize("how", ["records", "topic"])
def test_what_was_deleted_is_not_given_any_more(
    dividing: GatewayProcess,
    endpoint: Endpoint,
    direct: RawClient,
    unique: UniqueName,
    consumers: list[RawClient],
    how: str,
) -> None:
    """Fetch at version 12 and below names a topic, so one that was made again is called as before."""
    topic = unique("even")
    admin, physical = AdminClient(endpoint.for_confluent), physical_name("globex", topic)
    admin.create_topics([NewTopic(topic, SIZES["even"], 1)])[topic].result(WAIT_S)
    await_topic(direct, physical, PHYSICAL["even"])
    produce(endpoint, topic, "a", **{"compression.type": "none"})
    before = shared(dividing)
    assert is_there(records_of(consumers[0], topic, 0), 0, "a")
    assert is_there(records_of(consumers[1], topic, 4), 4, "a")
    assert shared(dividing) == before + 1

    if how == "records":
        places = [TopicPartition(topic, one, -1) for one in range(SIZES["even"])]
        for deleted in admin.delete_records(places).values():
            deleted.result(WAIT_S)
        assert values_of(8, "a")[0].encode() not in records_of(consumers[2], topic, 8)
    else:
        admin.delete_topics([topic])[topic].result(WAIT_S)
        await_no_topic(direct, physical)
        admin.create_topics([NewTopic(topic, SIZES["even"], 1)])[topic].result(WAIT_S)
        await_topic(direct, physical, PHYSICAL["even"])
    produce(endpoint, topic, "b", **{"compression.type": "none"})

    offset = EACH * 3 if how == "records" else 0
    found = records_of(consumers[2], topic, 8, offset)
    assert is_there(found, 8, "b")
    assert values_of(8, "a")[0].encode() not in found
