"""Quotas of bytes count what a consumer of virtual partitions gets, not what the broker has sent for them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.wire.error_codes import ErrorCode
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import FETCH_BY_NAME, await_topic, fetch_request, produce
from support.gateways.gateway_fixtures import UniqueName
from support.gateways.gateway_process import GLOBEX, GatewayProcess
from support.virtual_topics import RULES, WAIT_S

RATE = 100_000
"""Bytes a second."""
OWN_BYTES = 200_000
SHARING = (0, 4, 8)
"""Virtual partitions of the same physical one."""


def adjust(config: dict[str, Any]) -> None:
    config["tenants"][0] |= {"virtual_partitions": RULES, "quotas": {"consumer_byte_rate": RATE}}


@pytest.fixture(scope="module")
def dividing(warm: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayProcess]:
    options: dict[str, Any] = {"tenants": [GLOBEX], "adjust": adjust}
    with GatewayProcess(tmp_path_factory.mktemp("quotas"), warm.bootstrap, **options) as process:
        yield process


def test_a_consumer_of_one_of_three_is_charged_a_third(
    endpoint: Endpoint, client: RawClient, unique: UniqueName
) -> None:
    topic = unique("even")
    admin = AdminClient(endpoint.for_confluent)
    admin.create_topics([NewTopic(topic, 12, 1)])[topic].result(WAIT_S)
    await_topic(client, topic, 12)
    for partition in SHARING:
        produce(client, topic, [bytes([partition]) * (OWN_BYTES // 4)] * 4, partition)

    told = client.request(fetch_request(topic, partition=SHARING[-1]), FETCH_BY_NAME)

    [partition] = told.responses[0].partitions
    assert partition.error_code == ErrorCode.NONE
    assert OWN_BYTES < len(partition.records) < OWN_BYTES + 1000
    # What may be used at once is a second's; all three would be 5 s.
    assert 900 < told.throttle_time_ms < 2100
