"""What a gateway writes down of its tenants, against what clients did and what the broker has."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer

from bifrost.config.fields.journal import JOURNAL_TOPIC
from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.gateway.journaling.journal_snapshots import PAGE_PARTITIONS
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import (
    ApiVersionsRequest,
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    DescribeAclsRequest,
    FetchRequest,
    HeartbeatRequest,
    IncrementalAlterConfigsRequest,
    MetadataRequest,
)
from kafka import KafkaConsumer, KafkaProducer
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import delete_topic, log_bytes, produce, topic_id_of
from support.gateways.admin_port import await_value, value
from support.gateways.gateway_fixtures import FreshTopic, UniqueName
from support.gateways.gateway_process import HOST, GatewayProcess, TenantSpec
from support.journal.journal_reader import Record, await_journal, events, read_journal, total, usage

FAST = {"interval_ms": 300, "snapshot_interval_ms": 500, "partitions": 3}

StartJournalling = Callable[..., GatewayProcess]


@pytest.fixture
def start_journalling(kafka: EmbeddedKafka, tmp_path: Path) -> Iterator[StartJournalling]:
    """Start a gateway with a journal, `gateway_id` its name in it. Tests stop it when they want all it has to say."""
    started: list[GatewayProcess] = []

    def start(gateway_id: str, *, upstream: str = kafka.bootstrap, **options: Any) -> GatewayProcess:
        section = FAST | {"gateway_id": gateway_id} | options.pop("journal", {})
        directory = tmp_path / f"gateway-{len(started)}"
        directory.mkdir()
        process = GatewayProcess(directory, upstream, proxy={"journal": section}, **options)
        process.start()
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()


def test_totals_are_what_librdkafka_and_kafka_python_produced_and_consumed(
    start_journalling: StartJournalling, fresh_topic: FreshTopic, broker: Endpoint
) -> None:
    gateway = start_journalling("totals")
    for topic in ("orders", "billing"):
        fresh_topic("acme", topic, partitions=2)
    endpoint = gateway.endpoint("acme")
    with_confluent(endpoint, "orders", 500, "zstd")
    with_python(endpoint, "billing", 300)

    gateway.stop()
    records = read_journal(broker, "totals")

    for topic, count in (("orders", 500), ("billing", 300)):
        rows = list(usage(records, "topic", topic=topic, physical_topic=f"__vt_acme_{topic}"))
        assert {row["principal"] for row in rows} == {"User:acme"}
        produced = [row for row in rows if row["api"] == "Produce"]
        fetched = [row for row in rows if row["api"] == "Fetch"]
        assert total(produced, "records_in") == total(fetched, "records_out") == count
        assert (
            total(produced, "bytes_in")
            == total(fetched, "bytes_out")
            == log_bytes(broker, f"__vt_acme_{topic}")
        )
        assert total(produced, "batches_in") == total(fetched, "batches_out") > 0
    cells = [
        cell for row in usage(records, "topic", topic="orders", api="Produce") for cell in row["batches"]
    ]
    assert {(cell["codec"], cell["acks"]) for cell in cells} == {("zstd", -1)}
    assert total(cells, "idempotent_batches") == total(cells, "batches")
    cells = [
        cell for row in usage(records, "topic", topic="billing", api="Produce") for cell in row["batches"]
    ]
    assert {(cell["codec"], cell["acks"]) for cell in cells} == {("gzip", 1)}
    check_sequence(records)


def test_a_restart_is_a_new_epoch(start_journalling: StartJournalling, broker: Endpoint) -> None:
    for _ in range(2):
        start_journalling("again").stop()

    records = read_journal(broker, "again")

    epochs = sorted({one["epoch"] for one in records})
    assert len(epochs) == 2
    for epoch in epochs:
        of_epoch = [one for one in records if one["epoch"] == epoch]
        assert [one["outcome"] for one in events(of_epoch, "start")] == ["done"]
        assert max(of_epoch, key=lambda one: one["sequence"])["event"]["type"] == "stop"
        check_sequence(of_epoch)
        prefixes = {
            one["tenant"]: one["event"]["after"]["topic_prefix"]
            for one in of_epoch
            if one.get("event", {}).get("type") == "tenant"
        }
        assert prefixes == {name: f"__vt_{name}_" for name in ("acme", "globex", "initech")}


def test_events_tell_who_what_and_why(start_journalling: StartJournalling, broker: Endpoint) -> None:
    gateway = start_journalling("events", limits={"max_connections": 4})
    with RawClient(gateway.broker_endpoint("acme")) as stranger:
        assert (
            stranger.try_to_authenticate("acme", "guess").error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
        )
    with RawClient.authenticated(gateway.broker_endpoint("acme"), client_id="spy") as client:
        client.request(MetadataRequest(topics=[topic_named("payroll")]), 9)
        client.request(DescribeAclsRequest(resource_type_filter=1, operation=1, permission_type=1), 1)
        client.request(FetchRequest(session_id=4711, session_epoch=3), 12)
        crowd = [RawClient(gateway.broker_endpoint("acme")) for _ in range(4)]
        assert crowd[-1].receives_end()
        for one in crowd:
            one.close()
    gateway.stop()
    records = read_journal(broker, "events")

    (failure,) = events(records, "authentication", outcome="failure")
    assert failure["client_address"].startswith("127.0.0.1:")
    assert (failure["rule"], failure["mechanism"]) == ("authentication_failed", "PLAIN")
    assert "guess" not in str(records)
    (success,) = events(records, "authentication", outcome="success")
    assert (success["principal"], success["mechanism"]) == ("User:acme", "PLAIN")
    denials = {
        (one["rule"], one["resource_type"], one["resource_name"]): one for one in events(records, "denial")
    }
    assert set(denials) == {
        ("allowed_topics", "topic", "payroll"),
        ("not_for_tenants", "api", "DescribeAcls"),
        ("foreign_fetch_session", "fetch_session", "4711"),
    }
    denial = denials["allowed_topics", "topic", "payroll"]
    assert (denial["api"], denial["client_id"], denial["physical_name"]) == (
        "Metadata",
        "spy",
        "__vt_acme_/payroll",
    )
    assert {one["rule"] for one in events(records, "limit")} == {"max_connections"}
    (row,) = usage(records, "request", api="DescribeAcls")
    assert row["error_codes"] == {"SECURITY_DISABLED": 1}
    check_sequence(records)


def test_changes_are_told_with_before_and_after(
    start_journalling: StartJournalling, broker: Endpoint, unique: UniqueName
) -> None:
    gateway, name = start_journalling("changes"), unique("made")
    with RawClient.authenticated(gateway.broker_endpoint("initech")) as client:
        topic = CreateTopicsRequest.CreatableTopic(name=name, num_partitions=2, replication_factor=-1)
        client.request(CreateTopicsRequest(topics=[topic], timeout_ms=5000), 7)
        client.request(CreateTopicsRequest(topics=[topic], timeout_ms=5000), 7)
        client.request(alter(name, "retention.ms", "1000"), 1)
        client.request(alter(name, "retention.ms", "2000"), 1)
        more = CreatePartitionsRequest.CreatePartitionsTopic(name=name, count=3, assignments=None)
        client.request(CreatePartitionsRequest(topics=[more], timeout_ms=5000), 3)
        await_journal(broker, "changes", lambda records: any(is_snapshot_of(one, name, 3) for one in records))
        client.request(
            DeleteTopicsRequest(topics=[DeleteTopicsRequest.DeleteTopicState(name=name)], timeout_ms=5000), 6
        )
    gateway.stop()
    told = [
        (one["api"], one["error_code"], one.get("before"), one.get("after"))
        for one in events(read_journal(broker, "changes"), "admin")
    ]

    known = {"partitions": "2", "replication_factor": "1"}
    assert told[:5] == [
        ("CreateTopics", "NONE", None, known),
        ("CreateTopics", "TOPIC_ALREADY_EXISTS", known, known | {"replication_factor": "-1"}),
        ("IncrementalAlterConfigs", "NONE", None, {"config:retention.ms": "1000"}),
        ("IncrementalAlterConfigs", "NONE", {"config:retention.ms": "1000"}, {"config:retention.ms": "2000"}),
        ("CreatePartitions", "NONE", {"partitions": "2"}, {"partitions": "3"}),
    ]
    before = {"partitions": "3", "replication_factor": "1", "config:retention.ms": "2000"}
    assert told[5:] == [("DeleteTopics", "NONE", before, None)]


def alter(topic: str, name: str, value: str) -> IncrementalAlterConfigsRequest:
    """Set one key of a topic's configuration."""
    request = IncrementalAlterConfigsRequest
    config = request.AlterableConfig(name=name, config_operation=0, value=value)
    return request(
        resources=[request.AlterConfigsResource(resource_type=2, resource_name=topic, configs=[config])]
    )


def is_snapshot_of(record: Record, topic: str, partitions: int) -> bool:
    """Whether a record tells of a topic's size."""
    snapshot = record.get("snapshot", {})
    return snapshot.get("topic") == topic and snapshot["partition_count"] == partitions


def test_snapshots_tell_how_large_topics_are(
    start_journalling: StartJournalling, fresh_topic: FreshTopic, broker: Endpoint
) -> None:
    fresh_topic("acme", "orders", partitions=2)
    gateway = start_journalling("sizes")
    with RawClient.authenticated(gateway.broker_endpoint("acme")) as client:
        produce(client, "orders", [b"x" * 10_000])
    size = log_bytes(broker, "__vt_acme_orders")

    records = await_journal(
        broker,
        "sizes",
        lambda found: any(
            one["snapshot"].get("bytes") == size and one["interval_start_ms"] < one["interval_end_ms"]
            for one in found
            if is_snapshot_of(one, "orders", 2)
        ),
    )

    snapshot = [one["snapshot"] for one in records if is_snapshot_of(one, "orders", 2)][-1]
    assert (snapshot["physical_topic"], snapshot["replica_bytes"]) == ("__vt_acme_orders", size)
    assert [part["replicas"] for part in snapshot["partitions"]] == [[1], [1]]
    assert not any(one["snapshot"]["physical_topic"] == JOURNAL_TOPIC for one in records if "snapshot" in one)


def test_a_topic_that_goes_over_the_edge_of_a_page_is_told_whole(
    start_journalling: StartJournalling, fresh_topic: FreshTopic, broker: Endpoint
) -> None:
    fresh_topic("globex", "wide", partitions=PAGE_PARTITIONS + 30)
    try:
        start_journalling("pages")
        await_journal(
            broker,
            "pages",
            lambda found: any(is_snapshot_of(one, "wide", PAGE_PARTITIONS + 30) for one in found),
        )
        records = read_journal(broker, "pages")
    finally:
        with RawClient(broker) as direct:
            delete_topic(direct, "__vt_globex_wide")

    snapshots = [one["snapshot"] for one in records if one.get("snapshot", {}).get("topic") == "wide"]
    for one in snapshots:
        assert [part["partition"] for part in one["partitions"]] == list(range(PAGE_PARTITIONS + 30))
        assert one["bytes"] == 0


def test_made_up_client_ids_take_a_bounded_number_of_rows(
    start_journalling: StartJournalling, broker: Endpoint
) -> None:
    gateway = start_journalling(
        "folded", has_admin=True, journal={"max_usage_rows_per_tenant": 100, "interval_ms": 60_000}
    )
    with RawClient.authenticated(gateway.broker_endpoint("globex")) as client:
        for number in range(400):
            client.client_id = f"forged-{number}"
            client.request(HeartbeatRequest(group_id="g", member_id="m"), 4)
        assert 100 <= value(gateway, "kafka_proxy_journal_usage_rows") < 120
        # A connection whose client was folded once stays with it: it does not pay for each new ID. The group found no
        # room in the last client with a row, and none in the folded one.
        assert value(gateway, "kafka_proxy_journal_folded_total", tenant="globex") <= 3
    gateway.stop()
    records = read_journal(broker, "folded")

    rows = list(usage(records, "request", api="Heartbeat"))
    assert total(rows, "requests") == total(rows, "responses") == 400
    (folded,) = (row for row in rows if row.get("is_folded"))
    assert "client_id" not in folded
    assert folded["requests"] > 300
    assert total(usage(records, "connection"), "connections_opened") == 1


def test_a_broker_that_is_down_drops_events_and_delays_no_client(
    start_journalling: StartJournalling, tmp_path: Path
) -> None:
    with EmbeddedKafka() as kafka:
        gateway = start_journalling(
            "outage", upstream=kafka.bootstrap, has_admin=True, journal={"buffer_bytes": 65_536}
        )
        direct = Endpoint(HOST, kafka.broker_port(1))
        await_journal(direct, "outage", lambda records: len(events(records, "start")) == 1)
        kafka.kill_broker(1)
        for _ in range(300):
            began_s = time.monotonic()
            with RawClient.authenticated(gateway.broker_endpoint("acme")) as client:
                client.request(ApiVersionsRequest(client_software_name="a", client_software_version="1"), 3)
            assert time.monotonic() - began_s < 2
        await_value(lambda: value(gateway, "kafka_proxy_journal_up"), 0)
        labels = {"tenant": "acme", "kind": "event", "reason": "buffer_full"}
        dropped = value(gateway, "kafka_proxy_journal_dropped_total", **labels)
        assert 100 < dropped < 300
        kafka.start_broker(1)
        records = await_journal(
            direct, "outage", lambda found: any(one["kind"] == "drop" for one in found), 60
        )
        gateway.stop()
        records = read_journal(direct, "outage")

    drops = [
        one["drop"] for one in records if one["kind"] == "drop" and one["drop"]["dropped_kind"] == "event"
    ]
    assert total(drops, "count") == dropped
    assert not any(one["drop"]["dropped_kind"] == "usage" for one in records if one["kind"] == "drop")
    assert len(events(records, "authentication", outcome="success")) == 300 - dropped
    assert total(usage(records, "connection"), "connections_opened") == 300
    assert total(usage(records, "request", api="ApiVersions"), "requests") == 300
    missing = set(range(max(one["sequence"] for one in records))) - {one["sequence"] for one in records}
    told = {number for one in drops for number in range(one["first_sequence"], one["last_sequence"] + 1)}
    assert missing <= told


def test_the_journal_is_no_tenant_s_by_its_topic_id_either(
    start_journalling: StartJournalling, broker: Endpoint
) -> None:
    gateway = start_journalling("hidden", tenants=[TenantSpec("sly", allow_topic_deletion=True)])
    await_journal(broker, "hidden", lambda found: bool(events(found, "start")))
    with RawClient(broker) as direct:
        topic_id = topic_id_of(direct, JOURNAL_TOPIC)

    with RawClient.authenticated(gateway.broker_endpoint("sly")) as client:
        everything = client.request(MetadataRequest(topics=None), 12)
        assert all(one.topic_id != topic_id for one in everything.topics)
        asked = [MetadataRequest.MetadataRequestTopic(topic_id=topic_id, name=None)]
        (by_id,) = client.request(MetadataRequest(topics=asked), 12).topics
        assert by_id.error_code == ErrorCode.UNKNOWN_TOPIC_ID
        gone = [DeleteTopicsRequest.DeleteTopicState(topic_id=topic_id)]
        (deleted,) = client.request(DeleteTopicsRequest(topics=gone, timeout_ms=5000), 6).responses
        assert deleted.error_code == ErrorCode.UNKNOWN_TOPIC_ID


def topic_named(name: str) -> Any:
    """A topic in a Metadata request."""
    return MetadataRequest.MetadataRequestTopic(name=name)


def with_confluent(endpoint: Endpoint, topic: str, count: int, codec: str) -> None:
    """Produce and consume by librdkafka."""
    settings = {"compression.type": codec, "enable.idempotence": True, "linger.ms": 5, "client.id": "shop"}
    producer = Producer(endpoint.for_confluent | settings)
    for number in range(count):
        producer.produce(topic, key=f"k{number}", value=f"value {number}" * 10)
    assert producer.flush(20) == 0
    settings = {"group.id": "shop", "auto.offset.reset": "earliest", "client.id": "desk"}
    consumer = Consumer(endpoint.for_confluent | settings)
    consumer.subscribe([topic])
    read = 0
    while read < count:
        message = consumer.poll(10)
        assert message is not None
        assert message.error() is None
        read += 1
    consumer.close()


def with_python(endpoint: Endpoint, topic: str, count: int) -> None:
    """Produce and consume by kafka-python."""
    producer = KafkaProducer(
        **endpoint.for_python, acks=1, compression_type="gzip", client_id="till", enable_idempotence=False
    )
    for number in range(count):
        producer.send(topic, f"value {number}".encode() * 10)
    producer.flush(20)
    producer.close()
    consumer = KafkaConsumer(
        topic,
        **endpoint.for_python,
        group_id="till",
        auto_offset_reset="earliest",
        client_id="clerk",
        consumer_timeout_ms=20_000,
    )
    for number, _ in enumerate(consumer, 1):
        if number == count:
            break
    consumer.close()


def check_sequence(records: list[Record]) -> None:
    """The numbers of one gateway and epoch begin at 0 and have no gaps."""
    assert len({one["epoch"] for one in records}) == 1
    assert sorted(one["sequence"] for one in records) == list(range(len(records)))
