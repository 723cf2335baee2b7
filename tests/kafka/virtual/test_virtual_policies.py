"""Policies about records hold for topics with virtual partitions as for others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import KafkaError, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from bifrost.embedded.kafka import EmbeddedKafka
from support.clients.endpoint import Endpoint
from support.gateways.gateway_fixtures import UniqueName
from support.gateways.gateway_process import GLOBEX, GatewayProcess
from support.virtual_topics import EACH, RULES, WAIT_S, expected, produce, read, size_of


def adjust(config: dict[str, Any]) -> None:
    config["tenants"][0]["virtual_partitions"] = RULES
    config["tenants"][0]["namespace_policies"] = [{"acks": ["all"]}]


@pytest.fixture(scope="module")
def endpoint(kafka: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    options: dict[str, Any] = {"tenants": [GLOBEX], "adjust": adjust}
    with GatewayProcess(tmp_path_factory.mktemp("policies"), kafka.bootstrap, **options) as process:
        yield process.endpoint("globex")


def test_records_that_a_policy_allows_are_written_and_others_refused(
    endpoint: Endpoint, unique: UniqueName
) -> None:
    topic, group = unique("odd"), unique("group")
    admin = AdminClient(endpoint.for_confluent)
    admin.create_topics([NewTopic(topic, 7, 1)])[topic].result(WAIT_S)
    for is_idempotent in (True, False):
        produce(endpoint, topic, str(is_idempotent), **{"enable.idempotence": is_idempotent, "acks": "all"})
    told: list[KafkaError | None] = []
    producer = Producer(endpoint.for_confluent | {"enable.idempotence": False, "acks": "1"})
    producer.produce(topic, b"never", partition=5, callback=lambda error, _: told.append(error))
    producer.flush(WAIT_S)

    assert [error is not None for error in told] == [True]
    assert read(endpoint, topic, group, 2 * EACH * size_of(topic)) == expected(topic, "True", "False")
