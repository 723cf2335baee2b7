"""A tenant's own streaming job, the example as it stands, through a real gateway by its user and password alone."""

from __future__ import annotations

import datetime
import importlib.util
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pyspark
import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.pipeline.spark.runtime import connector_jars, find_java_home
from support.clients.endpoint import Endpoint
from support.clients.tls_endpoint import TlsEndpoint
from support.gateways.gateway_process import HOST, GatewayProcess, TenantSpec
from support.identity.certificates import Authority
from support.journal.journal_reader import await_journal, usage
from support.physical_names import physical_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXAMPLE = Path(__file__).resolve().parents[2] / "examples/tenant_spark.py"
MINUTE_MS = 60_000
BEGIN_MS = (int(time.time() * 1000) // MINUTE_MS - 60) * MINUTE_MS
"""An hour ago: records that are older than the topic's retention would be deleted before they are read."""
RUN_TIMEOUT_S = 110

APIS = {
    "adminclient": {"DescribeCluster", "DescribeTopicPartitions", "Metadata", "ListOffsets"},
    "consumer": {"Metadata", "ListOffsets", "Fetch"},
    "producer": {"Metadata", "InitProducerId", "Produce"},
}
"""What the connector asks for, as docs/tenants-on-spark.md says: neither groups nor their offsets."""


@dataclass(frozen=True)
class Quoted(TenantSpec):
    """A tenant with a password that has to be quoted well."""

    @property
    def password(self) -> str:
        return 'to "be" \\quoted\\'


@dataclass
class Stage:
    """A gateway with TLS and SCRAM, and its tenants as its clients."""

    gateway: GatewayProcess
    broker: Endpoint
    ca_file: Path
    checkpoint: Path

    def endpoint(self, tenant: str) -> TlsEndpoint:
        plain = self.gateway.endpoint(tenant, "SCRAM-SHA-512")
        return TlsEndpoint(
            HOST, plain.port, plain.username, plain.password, plain.mechanism, ca_file=self.ca_file
        )

    def environment(self, tenant: str) -> dict[str, str]:
        """All that the tenant's job is given: no address of a broker, no name but its own."""
        endpoint = self.endpoint(tenant)
        secrets = {"KAFKA_USERNAME": tenant, "KAFKA_PASSWORD": endpoint.password}
        return secrets | {"KAFKA_CA_FILE": str(self.ca_file)}

    def arguments(self, tenant: str) -> list[str]:
        named = {
            "--bootstrap-servers": self.endpoint(tenant).bootstrap,
            "--read": "orders",
            "--write": "orders-by-minute",
            "--checkpoint": str(self.checkpoint),
        }
        return [*(part for pair in named.items() for part in pair), "--once"]


@pytest.fixture(scope="module")
def stage(kafka: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    folder = tmp_path_factory.mktemp("tenant-spark")
    authority = Authority("CA of the platform")
    server = authority.server(HOST).write(folder, "server")
    tls = {"certificate_file": str(server.certificate), "key_file": str(server.key)}
    (folder / "gateway").mkdir()
    with GatewayProcess(
        folder / "gateway",
        kafka.bootstrap,
        tenants=(Quoted("shop"), TenantSpec("rival")),
        listener={"security_protocol": "SASL_SSL", "tls": tls},
        # Spark keeps consumers that it does not use, and those do not see that a drained connection ends.
        limits={"drain_timeout_ms": 300},
        proxy={"journal": {"gateway_id": "tenant-spark", "interval_ms": 300, "snapshot_interval_ms": 0}},
    ) as gateway:
        ca_file = authority.write(folder / "ca.pem")
        broker = Endpoint(HOST, kafka.broker_port(1))
        found = Stage(gateway, broker, ca_file, folder / "checkpoint")
        for tenant in ("shop", "rival"):
            create_topics(found.endpoint(tenant))
        yield found


def create_topics(endpoint: Endpoint) -> None:
    topics = [NewTopic("orders", 2), NewTopic("orders-by-minute", 1)]
    admin = AdminClient(endpoint.for_confluent)
    for created in admin.create_topics(topics).values():
        created.result(20)


def send(endpoint: Endpoint, *records: tuple[str, int]) -> None:
    """Send a record for each (key, minute)."""
    producer = Producer(endpoint.for_confluent)
    for key, minute in records:
        producer.produce("orders", key=key, value=endpoint.username, timestamp=BEGIN_MS + minute * MINUTE_MS)
    assert producer.flush(20) == 0


def read(endpoint: Endpoint, topic: str) -> list[tuple[str, int, int]]:
    """Return what the job wrote, sorted: the key, the minute that the window begins with, the count."""
    settings = {"group.id": "reader", "enable.partition.eof": False, "enable.auto.commit": False}
    consumer = Consumer(endpoint.for_confluent | settings)
    try:
        end = consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=20)[1]
        consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
        messages = consumer.consume(end, timeout=20) if end else []
        values = [(one.key().decode(), json.loads(one.value())) for one in messages]
        return sorted((key, minute_of(value["from"]), value["count"]) for key, value in values)
    finally:
        consumer.close()


def minute_of(text: str) -> int:
    return (int(datetime.datetime.fromisoformat(text).timestamp() * 1000) - BEGIN_MS) // MINUTE_MS


def submit(stage: Stage, tenant: str) -> str:
    """Run the example to its end, as its user does; return what it printed."""
    command = [str(Path(pyspark.__file__).parent / "bin/spark-submit"), "--master", "local[2]"]
    command += ["--jars", ",".join(map(str, connector_jars())), "--conf", "spark.sql.shuffle.partitions=1"]
    command += ["--driver-java-options", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"]
    own = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    own |= {"JAVA_HOME": str(find_java_home()), "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": HOST}
    done = subprocess.run(
        [*command, str(EXAMPLE), *stage.arguments(tenant)],
        env=own | stage.environment(tenant),
        cwd=stage.checkpoint.parent,
        capture_output=True,
        text=True,
        timeout=RUN_TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-6000:]
    return done.stdout + done.stderr


def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("tenant_spark", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_tenant_s_job_reads_and_writes_what_is_its_own_and_goes_on_where_it_was(
    stage: Stage, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop, rival = stage.endpoint("shop"), stage.endpoint("rival")
    send(shop, ("berlin", 0), ("berlin", 0), ("paris", 0), ("berlin", 1), ("berlin", 10))
    send(rival, ("berlin", 0), ("oslo", 0), ("oslo", 10))

    printed = submit(stage, "shop")

    first = [("berlin", 0, 2), ("berlin", 1, 1), ("paris", 0, 1)]
    assert read(shop, "orders-by-minute") == first
    assert read(stage.broker, physical_name("shop", "orders-by-minute")) == first
    assert read(rival, "orders-by-minute") == []
    kept = [path.read_bytes() for path in stage.checkpoint.rglob("*") if path.is_file()]
    assert not any(b"quoted" in text for text in [*kept, printed.encode()]), "the password is nowhere"

    # Once more, from the checkpoint; here, for the second JVM would take seconds to start.
    send(shop, ("paris", 11), ("paris", 20))
    for name, value in stage.environment("shop").items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "argv", ["tenant_spark.py", *stage.arguments("shop")])
    example().main()

    later = [("berlin", 10, 1), ("paris", 11, 1)]
    assert read(shop, "orders-by-minute") == sorted([*first, *later])
    assert read(rival, "orders-by-minute") == []


def test_the_connector_asks_for_no_group_and_the_journal_says_what_for(stage: Stage) -> None:
    records = await_journal(
        stage.broker,
        "tenant-spark",
        lambda found: any(usage(found, "topic", topic="orders-by-minute", api="Produce")),
    )
    of_job = list(usage(records, "request", client_software_name="apache-kafka-java"))

    kinds = {row["client_id"].partition("-")[0] for row in of_job}
    asked = {
        kind: {row["api"] for row in of_job if row["client_id"].startswith(f"{kind}-")} for kind in kinds
    }
    assert asked == APIS
    assert {(row["namespace"], row["client_software_version"]) for row in of_job} == {("shop", "3.9.0")}
    admin = AdminClient(stage.broker.for_confluent)
    groups = admin.list_consumer_groups().result().valid
    assert not any("spark" in one.group_id for one in groups)


def test_a_pattern_finds_what_is_the_tenant_s_alone(stage: Stage, spark: SparkSession) -> None:
    send(stage.endpoint("shop"), ("berlin", 0))
    send(stage.endpoint("rival"), ("oslo", 0))
    client = example().client_options(stage.endpoint("rival").bootstrap, stage.environment("rival"))

    found = spark.read.format("kafka").options(**client).option("subscribePattern", ".*").load()

    assert {(row.topic, bytes(row.value)) for row in found.collect()} == {("orders", b"rival")}
