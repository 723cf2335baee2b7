"""Topics of quarantine on a real Kafka: bad records are there with their reason, and their producer is told."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.records.codec.columns import ColumnRecord
from bifrost.wire.error_codes import ErrorCode
from support.clients.confluent_reading import read
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import PRODUCE_BY_NAME, create_topic, delete_topic, produce_request
from support.clients.routed_client import RoutedClient
from support.gateways import admin_port
from support.gateways.gateway_fixtures import FreshTopic
from support.gateways.gateway_process import GLOBEX, GatewayProcess
from support.physical_names import physical_name
from support.records.record_columns import batch_of
from support.records.transforms import BY_VALUE
from support.registry_server import RegistryServer

WAIT_S = 60.0
CHECKED, AWAY, OWN, BAD = "aside-checked", "aside-away", "aside-own", "aside-bad"
MARK = "bifrost.quarantine."
LABELS = {"tenant": "globex"}


@pytest.fixture(scope="module")
def registry() -> Iterator[RegistryServer]:
    with closing(RegistryServer()) as server:
        yield server


@pytest.fixture(scope="module")
def gateway_with_quarantine(
    kafka: EmbeddedKafka, registry: RegistryServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[GatewayProcess]:
    folder: Path = tmp_path_factory.mktemp("quarantine")
    (folder / "own.py").write_text(BY_VALUE)

    def of(name: str, topic: str, **config: Any) -> dict[str, Any]:
        rules = [{"topics": [topic], "direction": "produce"}]
        return {"name": name, "label": topic, "config": {"quarantine_topic": BAD} | config, "rules": rules}

    def adjust(config: dict[str, Any]) -> None:
        url = {"registry_url": registry.url, "unknown_schema_cache_ms": 1}
        own = {"transform_file": str(folder / "own.py"), "timeout_ms": "5s", "max_memory_bytes": "64MiB"}
        config["tenants"][0]["filters"] = [
            of("SchemaValidator", CHECKED, **url),
            of("SchemaValidator", AWAY, fail="quarantine", **url),
            of("PythonTransform", OWN, **own),
        ]

    options: dict[str, Any] = {"tenants": [GLOBEX], "adjust": adjust, "has_admin": True}
    with GatewayProcess(folder, kafka.bootstrap, **options) as process:
        yield process


@pytest.fixture
def topics(fresh_topic: FreshTopic) -> None:
    for topic in (CHECKED, AWAY, OWN, BAD):
        fresh_topic("globex", topic)


def sent(gateway: GatewayProcess, topic: str, *records: ColumnRecord, codec: int = 0) -> Any:
    """Produce a batch and return the answer of its partition."""
    placed = [one._replace(offset_delta=place) for place, one in enumerate(records)]
    with RawClient.authenticated(gateway.broker_endpoint("globex")) as client:
        request = produce_request(topic, batch_of(placed, codec=codec))
        response = client.request(request, PRODUCE_BY_NAME)
    [partition] = response.responses[0].partition_responses
    return partition


def record(value: bytes | None, key: bytes = b"k", **more: Any) -> ColumnRecord:
    return ColumnRecord(0, more.pop("timestamp_delta", 0), key, value, **more)


def put_aside(broker: Endpoint, count: int) -> list[tuple[bytes, bytes, int, dict[str, bytes]]]:
    found = read(broker, physical_name("globex", BAD), count)
    return [(one.key(), one.value(), one.timestamp()[1], dict(one.headers())) for one in found]


def is_empty(broker: Endpoint, topic: str) -> bool:
    from confluent_kafka import Consumer, TopicPartition

    with closing(Consumer(broker.for_confluent | {"group.id": "unused"})) as consumer:
        place = TopicPartition(physical_name("globex", topic), 0)
        return consumer.get_watermark_offsets(place, timeout=WAIT_S) == (0, 0)


@pytest.mark.usefixtures("topics")
def test_bad_records_are_put_aside_and_their_batch_is_refused(
    gateway_with_quarantine: GatewayProcess, registry: RegistryServer, broker: Endpoint
) -> None:
    good = b"\0" + registry.add(f"{CHECKED}-value", "string").to_bytes(4, "big") + b"\x02a"
    forged = ((f"{MARK}reason".encode(), b"none"), (b"trace", b"7"))

    answer = sent(
        gateway_with_quarantine,
        CHECKED,
        record(good),
        record(b"bad 1", b"k1", timestamp_delta=5, headers=forged),
        record(b"bad 2", b"k2"),
        codec=4,
    )

    reason = (
        f"{CHECKED}: value: it names no schema: there is neither an ID in front of it nor one in a header"
    )
    assert answer.error_code == ErrorCode.INVALID_RECORD
    assert [(one.batch_index, one.batch_index_error_message) for one in answer.record_errors] == [
        (1, reason),
        (2, reason),
    ]
    told = {
        f"{MARK}topic": CHECKED.encode(),
        f"{MARK}partition": b"0",
        f"{MARK}filter": CHECKED.encode(),
        f"{MARK}reason": reason.encode(),
    }
    assert put_aside(broker, 2) == [
        (b"k1", b"bad 1", 1_700_000_000_005, {"trace": b"7"} | told),
        (b"k2", b"bad 2", 1_700_000_000_000, told),
    ]
    assert is_empty(broker, CHECKED)
    metric = "kafka_proxy_quarantined_records_total"
    admin_port.await_value(
        lambda: admin_port.value(gateway_with_quarantine, metric, filter=CHECKED, **LABELS), 2
    )


@pytest.mark.usefixtures("topics")
def test_a_filter_that_cannot_tell_puts_records_aside_where_it_is_told_to(
    gateway_with_quarantine: GatewayProcess, registry: RegistryServer, broker: Endpoint
) -> None:
    unknown = b"\0" + (5_000_000).to_bytes(4, "big") + b"x"
    registry.status = 503
    try:
        kept = sent(gateway_with_quarantine, AWAY, record(unknown))
        closed = sent(gateway_with_quarantine, CHECKED, record(unknown))
    finally:
        registry.status = None
    failed = sent(gateway_with_quarantine, OWN, record(b"error"))

    assert (kept.error_code, kept.error_message) == (
        ErrorCode.INVALID_RECORD,
        f"{AWAY}: the schema registry cannot be asked now",
    )
    assert closed.error_code == ErrorCode.REQUEST_TIMED_OUT
    assert failed.error_code == ErrorCode.INVALID_RECORD
    assert [(value, headers[f"{MARK}filter"]) for _, value, _, headers in put_aside(broker, 2)] == [
        (unknown, AWAY.encode()),
        (b"error", OWN.encode()),
    ]
    assert is_empty(broker, AWAY)
    assert is_empty(broker, OWN)


@pytest.mark.usefixtures("topics")
def test_records_that_cannot_be_put_aside_are_refused(
    gateway_with_quarantine: GatewayProcess, broker: Endpoint
) -> None:
    physical = physical_name("globex", BAD)
    with RoutedClient(broker) as client:
        delete_topic(client, physical)
    missing = sent(gateway_with_quarantine, CHECKED, record(b"bad"))
    with RoutedClient(broker) as client:
        create_topic(client, physical, configs={"max.message.bytes": "1000"})
    again = sent(gateway_with_quarantine, CHECKED, record(b"bad"))
    large = sent(gateway_with_quarantine, CHECKED, record(b"bad" * 1_000))

    text = f"bad records cannot be written to {BAD}"
    assert missing.error_code == ErrorCode.REQUEST_TIMED_OUT
    assert missing.error_message == f"{CHECKED}: {text}"
    assert again.error_code == large.error_code == ErrorCode.INVALID_RECORD
    assert large.error_message == f"records are not valid; {text}"
    assert [value for _, value, _, _ in put_aside(broker, 1)] == [b"bad"]
    assert is_empty(broker, CHECKED)
    metric = "kafka_proxy_quarantine_failures_total"
    admin_port.await_value(
        lambda: admin_port.value(gateway_with_quarantine, metric, filter=CHECKED, **LABELS), 2
    )
