"""Virtual partitions with the clients of Go and Node.js: what is acknowledged is read once, in order, and lag is 0."""

from __future__ import annotations

from contextlib import closing

import pytest
from confluent_kafka import Consumer, TopicPartition

from support.clients.endpoint import Endpoint
from support.clients_of_other_languages import (
    BUILD_TIMEOUT_S,
    OtherClient,
)
from support.gateways.gateway_fixtures import UniqueName
from support.virtual_topics import EACH, WAIT_S, expected, size_of

pytestmark = pytest.mark.timeout(BUILD_TIMEOUT_S)
"""The first test with franz-go compiles it, with Go's own packages."""


@pytest.mark.parametrize("kind", ["plain", "idempotent", "transactional"])
def test_each_acknowledged_record_is_read_once(
    other: OtherClient, endpoint: Endpoint, topic: str, unique: UniqueName, kind: str
) -> None:
    transactional_id = unique("transaction") if kind == "transactional" else ""
    other.produce(
        endpoint, topic, expected(topic), isIdempotent=kind != "plain", transactionalID=transactional_id
    )
    group = unique("group")
    found, ends = other.consume(endpoint, topic, group, EACH * size_of(topic))

    assert found == expected(topic)
    places = [TopicPartition(topic, one) for one in range(size_of(topic))]
    with closing(Consumer(endpoint.for_confluent | {"group.id": group})) as consumer:
        assert {one.partition: one.offset for one in consumer.committed(places, WAIT_S)} == ends
        # Behind the last record of a transaction stands its marker, which is no record.
        marked = 1 if kind == "transactional" else 0
        lags = [consumer.get_watermark_offsets(one, WAIT_S)[1] - ends[one.partition] for one in places]
    assert all(0 <= one <= marked for one in lags), lags
