"""Quotas of bytes count what clients of virtual partitions send and get, not what passes between gateway and broker."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.wire.error_codes import ErrorCode
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import (
    FETCH_BY_NAME,
    PRODUCE_BY_NAME,
    await_topic,
    fetch_request,
    produce,
    produce_request,
)
from support.clients.record_batches import build_batch
from support.gateways.gateway_fixtures import UniqueName
from support.gateways.gateway_process import GLOBEX, GatewayProcess
from support.virtual_topics import RULES, WAIT_S

RATE = 100_000
"""Bytes a second."""
OWN_BYTES = 200_000
SHARING = (0, 4, 8)
"""Virtual partitions of the same physical one."""


@pytest.fixture(params=["consumer_byte_rate"])
def dividing(request: pytest.FixtureRequest, warm: EmbeddedKafka, tmp_path: Path) -> Iterator[GatewayProcess]:
    def adjust(config: dict[str, Any]) -> None:
        config["tenants"][0] |= {"virtual_partitions": RULES, "quotas": {request.param: RATE}}

    options: dict[str, Any] = {"tenants": [GLOBEX], "adjust": adjust}
    with GatewayProcess(tmp_path, warm.bootstrap, **options) as process:
        yield process


@pytest.fixture
def topic(endpoint: Endpoint, client: RawClient, unique: UniqueName) -> str:
    name = unique("even")
    admin = AdminClient(endpoint.for_confluent)
    admin.create_topics([NewTopic(name, 12, 1)])[name].result(WAIT_S)
    await_topic(client, name, 12)
    return name


def test_a_consumer_of_one_of_three_is_charged_a_third(client: RawClient, topic: str) -> None:
    for partition in SHARING:
        produce(client, topic, [bytes([partition]) * (OWN_BYTES // 4)] * 4, partition)

    told = client.request(fetch_request(topic, partition=SHARING[-1]), FETCH_BY_NAME)

    [partition] = told.responses[0].partitions
    assert partition.error_code == ErrorCode.NONE
    assert OWN_BYTES < len(partition.records) < OWN_BYTES + 1000
    # What may be used at once is a second's; all three would be 5 s.
    assert 900 < told.throttle_time_ms < 2100


@pytest.mark.parametrize("dividing", ["producer_byte_rate"], indirect=True)
def test_a_producer_to_all_three_is_charged_once_for_each(client: RawClient, topic: str) -> None:
    """The broker gets three requests in place of this one."""
    requests = [
        produce_request(topic, build_batch([bytes([one]) * (OWN_BYTES // 3)]), partition=one)
        for one in SHARING
    ]
    request = requests[0]
    for other in requests[1:]:
        request.topic_data[0].partition_data += other.topic_data[0].partition_data

    told = client.request(request, PRODUCE_BY_NAME)

    codes = {one.index: one.error_code for one in told.responses[0].partition_responses}
    assert codes == dict.fromkeys(SHARING, ErrorCode.NONE)
    assert 900 < told.throttle_time_ms < 2100
