"""Share groups of topics with virtual partitions at a single address before three brokers: both divide sessions."""

from __future__ import annotations

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
from support.java.sharers import poll_all, read_again, read_from_the_start, sharers
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
    topic, size, found = unique(kind), SIZES[kind], Counter[tuple[int, str]]()
    admin = AdminClient(single.for_confluent)
    admin.create_topics([NewTopic(topic, size, 3)])[topic].result(WAIT_S)
    group = read_from_the_start(java, single, unique("sharers"))
    produce(single, topic, "a", size=size)
    members = sharers(java, single, topic, group, 2)
    poll_all(java, members, found, size * EACH)
    produce(single, topic, "b", size=size)
    poll_all(java, members, found, 2 * size * EACH)
    for one in members:
        assert java("poll", one) == []
    java("close", *members)
    again = read_again(java, single, topic, group)

    every = expected(topic, "a", "b", size=size)
    assert found == Counter((one, value) for one, some in every.items() for value in some)
    assert again == [], "what was acknowledged is delivered again"
