"""Share groups of topics with virtual partitions at a single address before three brokers: both divide sessions."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.wire.api_keys import ApiKey
from support.clients.endpoint import Endpoint
from support.gateways.gateway_fixtures import UniqueName
from support.gateways.gateway_process import GLOBEX, GatewayProcess
from support.java.java_clients import JavaClients
from support.virtual_topics import EACH, RULES, SIZES, WAIT_S, expected, produce


@pytest.fixture(scope="module")
def single(kafka_cluster: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    def adjust(config: dict[str, Any]) -> None:
        config["tenants"][0]["virtual_partitions"] = RULES

    options: dict[str, Any] = {"tenants": [GLOBEX], "adjust": adjust, "brokers": 3, "is_single_address": True}
    directory = tmp_path_factory.mktemp("single_shares")
    with GatewayProcess(directory, kafka_cluster.bootstrap, **options) as process:
        yield process.endpoint("globex")


@pytest.mark.needs_api(ApiKey.SHARE_FETCH, 1)
@pytest.mark.parametrize("java", ["4.3.1"], indirect=True, scope="module")
@pytest.mark.parametrize("kind", SIZES)
def test_everything_is_read_and_acknowledged_once(
    java: JavaClients, single: Endpoint, unique: UniqueName, kind: str
) -> None:
    topic, group, size = unique(kind), unique("sharers"), SIZES[kind]
    made = AdminClient(single.for_confluent)
    made.create_topics([NewTopic(topic, size, 3)])[topic].result(WAIT_S)
    admin = java.admin(single)
    java("read_groups_from_the_start", admin, group)
    java("close", admin)
    produce(single, topic, "a", size=size)
    members = [java.share_consumer(single, group) for _ in range(2)]
    for one in members:
        java("subscribe", one, topic)
    found: Counter[tuple[int, str]] = Counter()

    def read_until(count: int) -> None:
        deadline = time.monotonic() + WAIT_S
        while sum(found.values()) < count:
            assert time.monotonic() < deadline, sum(found.values())
            for one in members:
                found.update((partition, value) for _, partition, _, value in java("poll", one))

    read_until(size * EACH)
    produce(single, topic, "b", size=size)
    read_until(2 * size * EACH)
    for one in members:
        assert java("poll", one) == []
    java("close", *members)
    later = java.share_consumer(single, group)
    java("subscribe", later, topic)
    again = [java("poll", later, 500) for _ in range(4)]
    java("close", later)

    every = expected(topic, "a", "b", size=size)
    assert found == Counter((one, value) for one, some in every.items() for value in some)
    assert again == [[]] * 4, "what was acknowledged is delivered again"
