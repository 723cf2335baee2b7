"""Filters of records with the rest of a gateway: reload, workers, namespaces, ACLs, and records that are too much."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.records.codec.client_batch import read_columns, split_batches
from bifrost.records.codec.columns import ColumnRecord, Header
from bifrost.wire.error_codes import ErrorCode
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import (
    FETCH_BY_NAME,
    PRODUCE_BY_NAME,
    fetch_request,
    produce_request,
    recreate_topic,
)
from support.clients.routed_client import RoutedClient
from support.gateways import admin_port
from support.gateways.gateway_fixtures import FreshTopic, StartGateway
from support.gateways.gateway_process import GLOBEX, GatewayProcess
from support.gateways.reloadable_gateway import Reloadable
from support.physical_names import physical_name
from support.records.record_columns import MIB, batch_of, plenty

TOPIC, OTHER = "filtered-one", "filtered-other"
ADDED: Header = (b"region", b"eu")
ADDS = {
    "name": "RecordHeaders",
    "config": {"add": [{"key": "region", "value": "eu"}]},
    "rules": [{"topics": ["filtered-one"], "direction": "produce"}],
}


def globex_of(config: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = next(one for one in config["tenants"] if one["name"] == "globex")
    return found


def adds(config: dict[str, Any]) -> None:
    globex_of(config)["filters"] = [ADDS]


def send(client: RawClient, topic: str, value: bytes = b"v", codec: int = 0) -> int:
    """Produce a record and return the error code."""
    records = batch_of([ColumnRecord(0, 0, b"k", value)], codec=codec)
    response = client.request(produce_request(topic, records), PRODUCE_BY_NAME)
    return int(response.responses[0].partition_responses[0].error_code)


def stored_headers(broker: Endpoint, physical: str) -> tuple[Header, ...]:
    """Return the headers of the first record that the broker has."""
    with RawClient(broker) as direct:
        response = direct.request(fetch_request(physical), FETCH_BY_NAME)
    batch = next(split_batches(memoryview(response.responses[0].partitions[0].records), is_whole=False))
    return read_columns(batch, plenty()).headers(0)


@pytest.fixture
def reloadable(kafka: EmbeddedKafka, tmp_path: Path) -> Iterator[Reloadable]:
    """It looks at its files only when told to."""

    def adjust(config: dict[str, Any]) -> None:
        config["proxy"]["watch_files_ms"] = 0

    with Reloadable(tmp_path, kafka.bootstrap, tenants=(GLOBEX,), has_admin=True, adjust=adjust) as gateway:
        yield gateway


def test_filters_that_come_with_a_reload_hold_for_every_client(
    reloadable: Reloadable, broker: Endpoint, fresh_topic: FreshTopic
) -> None:
    fresh_topic("globex", TOPIC)
    with RawClient.authenticated(reloadable.broker_endpoint("globex")) as before:
        reloadable.apply(adds)
        assert before.receives_end()
    with RawClient.authenticated(reloadable.broker_endpoint("globex")) as client:
        assert send(client, TOPIC) == ErrorCode.NONE
        assert stored_headers(broker, physical_name("globex", TOPIC)) == (ADDED,)
        reloadable.apply(lambda config: globex_of(config).pop("filters"))
        assert client.receives_end()
    fresh_topic("globex", TOPIC)
    with RawClient.authenticated(reloadable.broker_endpoint("globex")) as client:
        assert send(client, TOPIC) == ErrorCode.NONE
        assert stored_headers(broker, physical_name("globex", TOPIC)) == ()


def test_workers_count_what_transforms_do_together(
    start_gateway: StartGateway, broker: Endpoint, fresh_topic: FreshTopic
) -> None:
    fresh_topic("globex", TOPIC)
    gateway: GatewayProcess = start_gateway(
        tenants=(GLOBEX,), adjust=adds, has_admin=True, proxy={"workers": 2}
    )
    for _ in range(6):
        with RawClient.authenticated(gateway.broker_endpoint("globex")) as client:
            assert send(client, TOPIC) == ErrorCode.NONE
    labels = {"tenant": "globex", "filter": "RecordHeaders", "direction": "produce"}

    admin_port.await_value(
        lambda: admin_port.value(gateway, "kafka_proxy_transform_records_total", **labels), 6
    )
    assert stored_headers(broker, physical_name("globex", TOPIC)) == (ADDED,)


def test_a_rule_of_a_namespace_holds_for_all_who_see_it(
    start_gateway: StartGateway, broker: Endpoint, fresh_topic: FreshTopic
) -> None:
    def adjust(config: dict[str, Any]) -> None:
        globex = globex_of(config)
        (own,) = globex["auth"]["credentials"]
        globex["auth"]["credentials"].append(own | {"username": "reader", "namespace": "eu"})
        globex["filters"] = [
            ADDS | {"rules": [{"namespace": "eu", "topics": [TOPIC], "direction": "produce"}]}
        ]

    gateway: GatewayProcess = start_gateway(tenants=(GLOBEX,), adjust=adjust)
    own, below = gateway.broker_endpoint("globex"), gateway.broker_endpoint("globex")
    for physical in (physical_name("globex", f"--eu.{TOPIC}"), physical_name("globex", TOPIC)):
        with RoutedClient(broker) as direct:
            recreate_topic(direct, physical)
    with RawClient.authenticated(own) as client:
        assert send(client, f"eu:{TOPIC}") == ErrorCode.NONE
        assert send(client, TOPIC) == ErrorCode.NONE
    with RawClient(below) as client:
        client.authenticate("reader", GLOBEX.password)
        assert send(client, TOPIC) == ErrorCode.NONE

    assert stored_headers(broker, physical_name("globex", f"--eu.{TOPIC}")) == (ADDED,)
    assert stored_headers(broker, physical_name("globex", TOPIC)) == ()


def test_acls_hold_before_any_filter(
    start_gateway: StartGateway, broker: Endpoint, fresh_topic: FreshTopic
) -> None:
    def adjust(config: dict[str, Any]) -> None:
        adds(config)
        rules = [{"principal": "User:globex", "operation": "WRITE", "resource_type": "TOPIC", "name": TOPIC}]
        globex_of(config)["acls"] = {"rules": rules}

    for topic in (TOPIC, OTHER):
        fresh_topic("globex", topic)
    gateway: GatewayProcess = start_gateway(tenants=(GLOBEX,), adjust=adjust)
    with RawClient.authenticated(gateway.broker_endpoint("globex")) as client:
        assert send(client, TOPIC) == ErrorCode.NONE
        assert send(client, OTHER) == ErrorCode.TOPIC_AUTHORIZATION_FAILED

    assert stored_headers(broker, physical_name("globex", TOPIC)) == (ADDED,)


def test_a_bomb_takes_no_more_memory_than_is_allowed(
    start_gateway: StartGateway, broker: Endpoint, fresh_topic: FreshTopic
) -> None:
    fresh_topic("globex", TOPIC)
    gateway: GatewayProcess = start_gateway(
        tenants=(GLOBEX,), adjust=adds, has_admin=True, limits={"max_unpacked_batch_bytes": 8 * MIB}
    )
    bombs = [batch_of([ColumnRecord(0, 0, b"k", bytes(120 * MIB))], codec=codec) for codec in (1, 4)]
    with RawClient.authenticated(gateway.broker_endpoint("globex")) as client:
        assert send(client, TOPIC, bytes(2 * MIB), 4) == ErrorCode.NONE
        before = psutil.Process(gateway.pid).memory_info().rss
        for bomb in bombs:
            for _ in range(3):
                response = client.request(produce_request(TOPIC, bomb), PRODUCE_BY_NAME)
                (partition,) = response.responses[0].partition_responses
                assert partition.error_code == ErrorCode.MESSAGE_TOO_LARGE
        grown = psutil.Process(gateway.pid).memory_info().rss - before

    assert grown < 40 * MIB
    labels = {"limit": "max_unpacked_batch_bytes", "tenant": "globex"}
    assert admin_port.value(gateway, "kafka_proxy_limits_hit_total", **labels) == 6
