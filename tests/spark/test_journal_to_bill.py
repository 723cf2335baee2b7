"""The whole way: clients of two tenants, a real gateway's journal on a real Kafka, meter, bill, certify, verify.

The commands are the user's, in this process and on the one Spark of all tests; what a JVM of their own does is in
test_commands.py.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from bifrost.cli.commands import app
from bifrost.cli.jobs import job_runs
from bifrost.config.fields.journal import JOURNAL_TOPIC
from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.pipeline.metering.metered_tables import open_tables
from bifrost.pipeline.metering.sums import SCOPES
from bifrost.pipeline.money import rounded
from bifrost.wire.messages import MetadataRequest
from kafka import KafkaConsumer, KafkaProducer
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import log_bytes
from support.gateways.gateway_process import HOST, GatewayProcess, TenantSpec
from support.journal.journal_reader import Record, await_journal, read_journal, total, usage
from support.physical_names import physical_name

GATEWAY = "to-bill"
GIB = 1 << 30
SENT = {"acme": 300, "globex": 200}
BOOK = """currency: EUR
provider: Us
versions:
  - version: "1"
    valid_from: 2026-01-01
    prices: {produced_bytes: 900000, fetched_bytes: 500000, requests: 2000, stored_bytes: 1000, partition_hours: 10}
discounts: [{tenant: globex, percent: 20}]
"""
Run = Callable[..., Result]


@dataclass
class Metered:
    """What clients did, and where the pipeline's files are."""

    folder: Path
    broker: Endpoint
    records: list[Record]
    """The journal, as it stood when the gateway had ended."""
    bytes: dict[str, int]
    """What lies in each tenant's topic."""

    @property
    def tables(self) -> str:
        return str(self.folder / "tables")

    @property
    def day(self) -> str:
        newest_ms = max(one["interval_end_ms"] for one in self.records)
        return str(datetime.datetime.fromtimestamp(newest_ms / 1000, datetime.UTC).date())


@pytest.fixture
def run(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command of the pipeline: `run("meter", "--once", ...)`."""
    monkeypatch.setattr(job_runs, "build_session", lambda _name, _options: spark)
    monkeypatch.setattr(spark, "stop", lambda: None)

    def command(*arguments: str, exit_code: int = 0) -> Result:
        result = CliRunner().invoke(app, ["pipeline", *arguments])
        assert result.exit_code == exit_code, result.output
        return result

    return command


@pytest.fixture(scope="module")
def journalled(kafka: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory) -> Metered:
    """Two tenants at work on topics of the same name, by two client libraries, until the gateway has ended."""
    folder = tmp_path_factory.mktemp("to-bill")
    broker = Endpoint(HOST, kafka.broker_port(1))
    (folder / "gateway").mkdir()
    journal = {"gateway_id": GATEWAY, "interval_ms": 300, "snapshot_interval_ms": 400, "partitions": 3}
    tenants = (TenantSpec("acme", allowed_topics=("orders",)), TenantSpec("globex"))
    with GatewayProcess(
        folder / "gateway", kafka.bootstrap, tenants=tenants, proxy={"journal": journal}
    ) as gateway:
        for tenant in SENT:
            create_topic(gateway.endpoint(tenant))
        with_confluent(gateway.endpoint("acme"), SENT["acme"])
        with_python(gateway.endpoint("globex"), SENT["globex"])
        paying = Producer(gateway.endpoint("acme").for_confluent | {"transactional.id": "pay"})
        paying.init_transactions(30)
        with RawClient.authenticated(gateway.broker_endpoint("acme")) as client:
            secret = MetadataRequest.MetadataRequestTopic(name="secret")
            client.request(MetadataRequest(topics=[secret], allow_auto_topic_creation=False), 9)
        sizes = {tenant: log_bytes(broker, physical_name(tenant, "orders")) for tenant in SENT}
        await_journal(broker, GATEWAY, lambda found: all(is_stored(found, one, sizes[one]) for one in SENT))
    return Metered(folder, broker, read_journal(broker, GATEWAY), sizes)


def is_stored(records: list[Record], tenant: str, size: int) -> bool:
    """Whether a snapshot tells what lies in a tenant's topic, for some time."""
    return any(
        one["snapshot"].get("bytes") == size and one["interval_start_ms"] < one["interval_end_ms"]
        for one in records
        if one["kind"] == "snapshot" and one["tenant"] == tenant
    )


def create_topic(endpoint: Endpoint) -> None:
    admin = AdminClient(endpoint.for_confluent)
    for created in admin.create_topics([NewTopic("orders", 2)]).values():
        created.result(20)


def with_confluent(endpoint: Endpoint, count: int) -> None:
    producer = Producer(endpoint.for_confluent | {"compression.type": "zstd", "linger.ms": 5})
    for number in range(count):
        producer.produce("orders", key=f"k{number}", value=f"order {number} " * 10)
    assert producer.flush(20) == 0
    consumer = Consumer(endpoint.for_confluent | {"group.id": "desk", "auto.offset.reset": "earliest"})
    consumer.subscribe(["orders"])
    messages = [consumer.poll(20) for _ in range(count)]
    assert all(one is not None and one.error() is None for one in messages)
    consumer.close()


def with_python(endpoint: Endpoint, count: int) -> None:
    producer = KafkaProducer(**endpoint.for_python, compression_type="gzip")
    for number in range(count):
        producer.send("orders", f"order {number} ".encode() * 10)
    producer.flush(20)
    producer.close()
    consumer = KafkaConsumer(
        "orders",
        **endpoint.for_python,
        group_id="clerk",
        auto_offset_reset="earliest",
        consumer_timeout_ms=20_000,
    )
    assert len([record for record, _ in zip(consumer, range(count), strict=False)]) == count
    consumer.close()


@pytest.fixture
def keys(tmp_path: Path) -> Iterator[tuple[Path, Path]]:
    """The files of a private and a public key."""
    key = Ed25519PrivateKey.generate()
    private, public = tmp_path / "certify.key", tmp_path / "certify.pub"
    private.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    public.write_bytes(key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    return private, public


def meter(run: Run, kafka: EmbeddedKafka, journalled: Metered) -> None:
    run("meter", "--bootstrap-servers", kafka.bootstrap, "--tables", journalled.tables, "--once")


def test_what_clients_sent_is_metered_rated_and_certified(
    journalled: Metered, kafka: EmbeddedKafka, run: Run, spark: SparkSession, keys: tuple[Path, Path]
) -> None:
    meter(run, kafka, journalled)

    check_totals(spark, journalled)
    check_bill(spark, journalled, run)
    reports = certify(journalled, run, keys, "certified", 0)
    assert {tenant: report["verdict"] for tenant, report in reports.items()} == dict.fromkeys(
        SENT, "isolated"
    )
    for report in reports.values():
        assert (report["exceptions"], report["missing_records"], report["unproven_records"]) == ([], [], 0)
        assert report["physical_entities"] > 0
        assert report["entities"]["group"]["physical_names"] == 1
    names = {tenant: one["entities"]["transactional_id"]["physical_names"] for tenant, one in reports.items()}
    assert names == {"acme": 1, "globex": 0}


def test_a_member_that_passes_by_the_gateway_is_seen_at_the_brokers(
    journalled: Metered, kafka: EmbeddedKafka, run: Run, keys: tuple[Path, Path]
) -> None:
    meter(run, kafka, journalled)
    path = journalled.folder / "inventory.json"
    past = {"group.id": physical_name("globex", "past"), "auto.offset.reset": "earliest"}
    consumer = Consumer(journalled.broker.for_confluent | past)
    try:
        consumer.subscribe([physical_name("globex", "orders")])
        assert consumer.poll(30) is not None
        config = journalled.folder / "gateway" / "proxy.yaml"
        listed = CliRunner().invoke(app, ["inventory", "--config", str(config), "--out", str(path)])
        assert listed.exit_code == 0, listed.output
    finally:
        consumer.close()

    reports = certify(journalled, run, keys, "compared", 4, "--inventory", str(path))

    assert {tenant: one["verdict"] for tenant, one in reports.items()} == {
        "acme": "isolated",
        "globex": "incomplete",
    }
    for report in reports.values():
        brokers = report["brokers"]
        assert brokers["existing"]["topic"] >= 1
        assert "topic" not in brokers["unseen"]
        assert "group" not in brokers["gone"]
    assert reports["globex"]["brokers"]["bypassed"] == {
        "group": {"count": 1, "names": [physical_name("globex", "past")]}
    }
    assert reports["acme"]["brokers"]["existing"]["transactional_id"] == 1
    whole = json.loads(
        (journalled.folder / "compared" / journalled.day / "brokers/upstream.json").read_text()
    )
    assert JOURNAL_TOPIC in whole["report"]["ownerless"]["topic"]["names"]


def check_totals(spark: SparkSession, journalled: Metered) -> None:
    """The tables' sums are what the clients sent and read, what the brokers have, and what the journal says."""
    daily = open_tables(spark, journalled.tables, "parquet").read("usage_daily")
    sums = [name for scope in SCOPES.values() for name in scope]
    found = {
        row["tenant"]: row.asDict() for row in daily.groupBy("tenant").sum(*sums).collect() if row["tenant"]
    }
    for tenant, count in SENT.items():
        mine = {name: found[tenant][f"sum({name})"] for name in sums}
        assert mine["produced_records"] == mine["fetched_records"] == count
        assert mine["produced_bytes"] == mine["fetched_bytes"] == journalled.bytes[tenant]
        own = [one for one in journalled.records if one.get("tenant") == tenant]
        for scope, counters in SCOPES.items():
            said = {name: total(usage(own, scope), counter) for name, counter in counters.items()}
            assert said == {name: mine[name] for name in counters}


def check_bill(spark: SparkSession, journalled: Metered, run: Run) -> None:
    book, out = journalled.folder / "book.yaml", journalled.folder / "bills"
    book.write_text(BOOK)
    month = journalled.day[:7]

    said = run(
        "bill",
        *("--tables", journalled.tables, "--price-book", str(book), "--month", month, "--out", str(out)),
    )

    focus = spark.read.parquet(str(out / month / "focus.parquet"))
    rows = focus.groupBy("BillingAccountId", "SkuId").agg({"BilledCost": "sum"}).collect()
    cost = {(row[0], row[1]): row[2] for row in rows}
    for tenant, share in (("acme", Decimal(1)), ("globex", Decimal("0.8"))):
        for sku, price in (("produced_bytes", 900_000), ("fetched_bytes", 500_000)):
            due = Decimal(journalled.bytes[tenant]) / GIB * price * share
            assert abs(cost[tenant, sku] - due) < Decimal("0.0001")
        assert min(cost[tenant, sku] for sku in ("requests", "stored_bytes", "partition_hours")) > 0
    # The broker may have topics of other tests' tenants, which are stored, too.
    tenants = len({tenant for tenant, _ in cost})
    # Each line of an invoice is rounded.
    total = sum(rounded(one, "EUR") for one in cost.values())
    assert f"{month}: {total:,.2f} EUR for {tenants} tenants, revision 1" in said.stdout
    assert "globex" not in (out / month / "tenants/acme.html").read_text()


def certify(
    journalled: Metered, run: Run, keys: tuple[Path, Path], folder: str, exit_code: int, *more: str
) -> dict[str, dict[str, Any]]:
    """Certify the day, verify each certificate, and return the reports by tenant."""
    private, public = keys
    out = journalled.folder / folder
    run(
        "certify",
        *("--tables", journalled.tables, "--key", str(private), "--out", str(out), *more),
        exit_code=exit_code,
    )
    files = {tenant: out / journalled.day / f"{tenant}.json" for tenant in SENT}
    verified = run("verify", "--public-key", str(public), *map(str, files.values()))
    reports = {tenant: json.loads(file.read_text())["report"] for tenant, file in files.items()}
    for tenant, report in reports.items():
        assert f"{tenant} on {journalled.day}: {report['verdict']}" in verified.stdout
    return reports


def test_a_planted_violation_is_found(
    journalled: Metered, kafka: EmbeddedKafka, run: Run, keys: tuple[Path, Path]
) -> None:
    # As a gateway with a bug would have written it: acme read what is globex's.
    of_acme = next(
        one
        for one in reversed(journalled.records)
        if one.get("tenant") == "acme" and any(usage([one], "topic", api="Fetch"))
    )
    planted = of_acme | {"gateway_id": "planted", "epoch": 1, "sequence": 0}
    planted["usage"] = of_acme["usage"] | {
        "physical_topic": physical_name("globex", "orders"),
        "bytes_out": 77,
    }
    member = next(one for one in journalled.records if any(usage([one], "group", resource_name="desk")))
    forged = member | {"gateway_id": "planted", "epoch": 1, "sequence": 1}
    forged["usage"] = member["usage"] | {"physical_name": physical_name("globex", "desk")}
    producer = Producer(journalled.broker.for_confluent)
    for one in (planted, forged):
        value, ended_ms = json.dumps(one).encode(), one["interval_end_ms"]
        producer.produce(JOURNAL_TOPIC, value, b"acme", timestamp=ended_ms)
    assert producer.flush(20) == 0
    meter(run, kafka, journalled)

    reports = certify(journalled, run, keys, "planted", 3)

    assert (reports["acme"]["verdict"], reports["globex"]["verdict"]) == ("exceptions", "isolated")
    group, found = sorted(reports["acme"]["exceptions"], key=lambda one: one["entity"])
    assert (group["entity"], group["physical"], group["reason"]) == (
        "group",
        physical_name("globex", "desk"),
        "belongs to globex",
    )
    assert (found["physical"], found["reason"], found["bytes"]) == (
        physical_name("globex", "orders"),
        "belongs to globex",
        77,
    )
    assert (found["principal"], found["samples"]) == ("User:acme", ["planted/1/0"])
