"""`pack`: what it proposes from a journal, and from that of clients at work on a real Kafka."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from typer.testing import CliRunner

from bifrost.cli.commands import app
from bifrost.cli.jobs import job_runs
from bifrost.config.fields.tenants import Tenant
from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.pipeline.errors import PipelineError
from bifrost.pipeline.jobs.pack import Packed, PackOptions, run_pack
from bifrost.pipeline.packing.proposals import Bounds
from bifrost.pipeline.stored.configured_topics import ConfiguredTenants
from bifrost.tenancy.namespaces.alias_table import Access, Place
from bifrost.tenancy.namespaces.topic_aliases import Standing, TenantAliases
from support.clients.endpoint import Endpoint
from support.gateways.gateway_process import HOST, GatewayProcess, TenantSpec
from support.journal.journal_reader import await_journal
from support.journal.journal_records import NOON_MS, Journal
from support.physical_names import physical_name
from support.records.configured_tenants import tenant_of
from support.records.stored_batches import rows
from support.virtual_topics import WAIT_S, read

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MB = 1_000_000
MINUTE = 60


def told(_text: str) -> None:
    """Nothing listens to a job's progress here."""


def parts(count: int, size: int = 7) -> list[dict[str, Any]]:
    return [{"partition": number, "leader": 1, "replicas": [1], "bytes": size} for number in range(count)]


def journal_of_a_minute() -> list[dict[str, Any]]:
    """Two topics of 12 partitions, which a group reads and a client without one; what cannot be; another tenant."""
    journal, at_ms = Journal(), NOON_MS
    fetch = {"api": "Fetch", "api_key": 1, "api_version": 17}
    names = ("orders", "bills", "idle", "virtual", "deleted", "shared", "kept")
    return [
        *(journal.snapshot("acme", name, at_ms, partitions=parts(12)) for name in names),
        journal.snapshot("sealed", "orders", at_ms, partitions=parts(6)),
        journal.snapshot("unknown", "orders", at_ms, partitions=parts(6)),
        journal.topic("acme", "orders", at_ms, bytes_in=4 * MB * MINUTE, client_id="p"),
        journal.topic("acme", "orders", at_ms, bytes_out=4 * MB * MINUTE, client_id="app", **fetch),
        journal.topic("acme", "bills", at_ms, bytes_out=1 * MB * MINUTE, client_id="app", **fetch),
        journal.topic("acme", "bills", at_ms, bytes_out=1 * MB * MINUTE, client_id="alone", **fetch),
        journal.access("acme", "group", "app", at_ms, client_id="app"),
        journal.connections("acme", at_ms, client_id="app", connections=2),
        journal.topic("acme", "deleted", at_ms, api="DeleteRecords"),
    ]


def configured() -> ConfiguredTenants:
    rules = [{"topics": ["virtual"], "virtual": 24, "physical": 12}]
    sealing = {"name": "RecordHeaders", "config": {"remove": ["debug"]}, "rules": [{"direction": "fetch"}]}
    tenants = [
        tenant_of([], virtual_partitions=rules),
        tenant_of([sealing], name="sealed"),
        tenant_of([], name="globex"),
    ]
    shown = (Standing(Place(("globex",), "theirs"), next(iter(Access))),)
    shared = TenantAliases(standings={physical_name("acme", "shared").encode(): shown})
    return ConfiguredTenants(tenants, {"globex": shared})


def pack(spark: SparkSession, tmp_path: Path, **more: Any) -> Packed:
    named = {"bounds": Bounds(4.001 * MB, 4.0), "price": Decimal("0.0015"), "currency": "EUR"} | more
    options = PackOptions(
        str(tmp_path / "t"),
        str(tmp_path / "out"),
        configured(),
        excluded=(physical_name("acme", "kept"),),
        **named,
    )
    return run_pack(spark, options, "parquet", told)


def test_topics_get_as_few_partitions_as_keep_the_bounds_and_others_stay_with_a_reason(
    spark: SparkSession, metered: Callable[..., None], tmp_path: Path
) -> None:
    metered(*journal_of_a_minute())

    done = pack(spark, tmp_path)

    # orders: two members read twice at the most, so 4 MB/s in and 8 out, on 3; bills: 4 times with the lone client.
    found = {(row["tenant"], row["topic"]): row for row in rows(tmp_path / "out" / "pack.csv")}
    proposed = {
        key: (int(row["virtual"]), int(row["physical"]), float(row["read_amplification"]), row["reason"])
        for key, row in found.items()
    }
    assert proposed == {
        ("acme", "orders"): (12, 3, 2.0, ""),
        ("acme", "bills"): (12, 2, 4.0, ""),
        ("acme", "idle"): (12, 3, 4.0, ""),
        ("acme", "virtual"): (12, 12, 1.0, "it has virtual partitions"),
        ("acme", "deleted"): (12, 12, 1.0, "DeleteRecords"),
        ("acme", "shared"): (12, 12, 1.0, "it is shared with globex"),
        ("acme", "kept"): (12, 12, 1.0, "it is excluded"),
        ("sealed", "orders"): (6, 2, 3.0, ""),
    }
    orders, bills = found["acme", "orders"], found["acme", "bills"]
    assert (float(orders["produced_mb_s"]), float(orders["fetched_mb_s"])) == (4.0, 4.0)
    assert float(orders["largest_mb_s"]) == pytest.approx(4.0)
    assert (orders["consumers"], orders["consumer_groups"]) == ("1", physical_name("acme", "app"))
    assert (orders["together"], bills["together"]) == (
        physical_name("acme", "bills"),
        physical_name("acme", "orders"),
    )
    assert bills["consumers"] == "2"
    assert done == Packed(8, 4, 7 * 12 + 6, 9 + 10 + 9 + 4, 32 * Decimal("0.0015") * 720)
    assert sum(Decimal(row["money_a_month"]) for row in found.values()) == done.money


def test_the_rules_are_a_piece_of_the_configuration(
    spark: SparkSession, metered: Callable[..., None], tmp_path: Path
) -> None:
    metered(*journal_of_a_minute())

    pack(spark, tmp_path)

    text = (tmp_path / "out" / "virtual-partitions.yaml").read_text()
    tenant, sealed = yaml.safe_load(text)["tenants"]
    assert (sealed["name"], len(sealed["virtual_partitions"])) == ("sealed", 1)
    assert tenant == {
        "name": "acme",
        "virtual_partitions": [
            {"topics": ["bills"], "virtual": 12, "physical": 2},
            {"topics": ["idle", "orders"], "virtual": 12, "physical": 3},
        ],
    }
    assert Tenant.model_validate(tenant)
    assert "INVALID_PARTITIONS" in text
    page = (tmp_path / "out" / "index.html").read_text()
    assert "it is shared with globex" in page
    assert "EUR a month" in page


def test_without_snapshots_it_says_what_is_missing(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match="no snapshots of topics"):
        pack(spark, tmp_path)


def test_what_clients_did_on_a_real_kafka_becomes_a_rule_that_a_gateway_takes(
    spark: SparkSession, kafka: EmbeddedKafka, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_runs, "build_session", lambda _name, _options: spark)
    monkeypatch.setattr(spark, "stop", lambda: None)
    journal = {"gateway_id": "packer", "interval_ms": 300, "snapshot_interval_ms": 400}
    tenants, before = [TenantSpec("packer")], tmp_path / "before"
    before.mkdir()
    with GatewayProcess(before, kafka.bootstrap, tenants=tenants, proxy={"journal": journal}) as gateway:
        endpoint = gateway.endpoint("packer")
        create(endpoint, "orders")
        send(endpoint, "orders")
        assert sum(map(len, read(endpoint, "orders", "desk", 120).values())) == 120
        broker = Endpoint(HOST, kafka.broker_port(1))
        await_journal(broker, "packer", is_told)

    tables, out = str(tmp_path / "tables"), str(tmp_path / "out")
    run("meter", "--bootstrap-servers", kafka.bootstrap, "--tables", tables, "--once")
    config = ["--config", str(before / "proxy.yaml")]
    said = run("pack", "--tables", tables, "--out", out, *config, "--partition-hour-price", "0.0015")

    assert said.splitlines()[-1].startswith("1 of 1 topics need ")
    (row,) = rows(tmp_path / "out" / "pack.csv")
    assert (row["topic"], row["virtual"], row["consumer_groups"]) == (
        "orders",
        "12",
        physical_name("packer", "desk"),
    )
    physical = int(row["physical"])
    assert physical in (1, 2, 3)
    (tenant,) = yaml.safe_load((tmp_path / "out" / "virtual-partitions.yaml").read_text())["tenants"]

    def adjust(changed: dict[str, Any]) -> None:
        changed["tenants"][0]["virtual_partitions"] = [
            one | {"topics": ["new-*"]} for one in tenant["virtual_partitions"]
        ]

    after = tmp_path / "after"
    after.mkdir()
    with GatewayProcess(after, kafka.bootstrap, tenants=tenants, adjust=adjust) as gateway:
        endpoint = gateway.endpoint("packer")
        create(endpoint, "new-orders")
        send(endpoint, "new-orders")
        found = read(endpoint, "new-orders", "desk", 120)
    assert {partition: len(some) for partition, some in found.items()} == dict.fromkeys(range(12), 10)


def create(endpoint: Endpoint, name: str) -> None:
    admin = AdminClient(endpoint.for_confluent)
    admin.create_topics([NewTopic(name, 12, 1)])[name].result(WAIT_S)


def send(endpoint: Endpoint, topic: str) -> None:
    producer = Producer(endpoint.for_confluent | {"enable.idempotence": True})
    for number in range(120):
        producer.produce(topic, b"order", partition=number % 12)
    assert producer.flush(WAIT_S) == 0


def is_told(records: list[dict[str, Any]]) -> bool:
    """Whether the journal has the topic with its sizes, what was read of it, and the group."""
    has_size = any(one["kind"] == "snapshot" and one["snapshot"].get("bytes") for one in records)
    usage = [one["usage"] for one in records if one["kind"] == "usage"]
    read_out = sum(one.get("records_out", 0) for one in usage)
    has_group = any(one["scope"] == "group" and one["api"] in ("JoinGroup", "Heartbeat") for one in usage)
    return has_size and read_out >= 120 and has_group


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["pipeline", *arguments])
    assert result.exit_code == 0, result.output
    return result.stdout
