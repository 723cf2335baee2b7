"""franz-go and KafkaJS, which see three brokers as one: what is acknowledged is read once, in order."""

from __future__ import annotations

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

from support.clients.endpoint import Endpoint
from support.clients_of_other_languages import BUILD_TIMEOUT_S, OtherClient
from support.gateways.gateway_fixtures import UniqueName
from support.gateways.worker_gateway import await_true

pytestmark = pytest.mark.timeout(BUILD_TIMEOUT_S)
"""The first test with franz-go compiles it, with Go's own packages."""

WAIT_S = 40.0
PARTITIONS = 9
"""Three for each broker."""


def test_each_acknowledged_record_is_read_once(
    other: OtherClient, endpoint: Endpoint, admin: AdminClient, unique: UniqueName
) -> None:
    topic = unique("languages")
    admin.create_topics([NewTopic(topic, PARTITIONS, 3)])[topic].result(WAIT_S)
    places = {TopicPartition(topic, one): OffsetSpec.latest() for one in range(PARTITIONS)}
    await_true(
        lambda: not any(one.exception(WAIT_S) for one in admin.list_offsets(places).values()), "leaders"
    )
    written = {one: [f"{one}-{number}" for number in range(100)] for one in range(PARTITIONS)}
    other.produce(endpoint, topic, written, isIdempotent=True)

    found, _ = other.consume(endpoint, topic, unique("group"), 100 * PARTITIONS)
    assert found == written
