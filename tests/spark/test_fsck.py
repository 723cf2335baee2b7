"""`fsck` over topics with virtual partitions: what clients of a gateway wrote, and batches that none of these owns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from typer.testing import CliRunner

from bifrost.cli.commands import app
from bifrost.cli.jobs import job_runs
from bifrost.cli.jobs.job_runs import FOUND
from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.pipeline.errors import PipelineError
from bifrost.pipeline.jobs.fsck import Checked, FsckOptions, run_fsck
from bifrost.pipeline.stored.client_settings import read_client_settings
from bifrost.pipeline.stored.configured_topics import ConfiguredTenants
from bifrost.pipeline.stored.scan_options import ScanOptions
from bifrost.pipeline.stored.topic_client import LATEST, TopicClient
from bifrost.pipeline.stored.topic_log import OffsetRange, read_range
from bifrost.tenancy.virtual_partitions.index.forward_scan import ForwardScan
from bifrost.tenancy.virtual_partitions.index.index_entry import IndexEntry, key_of, to_value
from bifrost.tenancy.virtual_partitions.tagged_batches import TAG
from bifrost.tenancy.virtual_partitions.virtual_batches import marked_batch
from support.brokers.kafka_cluster import sasl_properties
from support.clients.endpoint import Endpoint
from support.encryption.key_files import encryption
from support.gateways.gateway_process import GatewayProcess, TenantSpec
from support.physical_names import physical_name
from support.records.configured_tenants import tenant_of
from support.records.stored_batches import Planter, rows, settings_of, write_keks
from support.virtual_topics import EACH, RULES, SIZES, WAIT_S, produce

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.timeout(600)

TENANT = "divided"
SECRET = b"4111 1111"
OWN_RULES = [*RULES, {"topics": ["eu:*"], "virtual": 12, "physical": 4}]
IN_NAMESPACES = {"namespaces": ["eu"], "namespace_separator": ".."}


def told(_text: str) -> None:
    """Nothing listens to a job's progress here."""


@pytest.fixture(scope="module")
def gateway(kafka: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayProcess]:
    def adjust(config: dict[str, Any]) -> None:
        config["tenants"][0] |= {"virtual_partitions": OWN_RULES, **IN_NAMESPACES}

    directory = tmp_path_factory.mktemp("fsck")
    tenants = [TenantSpec(TENANT)]
    with GatewayProcess(directory, kafka.bootstrap, tenants=tenants, adjust=adjust) as process:
        yield process


@pytest.fixture
def endpoint(gateway: GatewayProcess) -> Endpoint:
    return gateway.endpoint(TENANT)


@pytest.fixture
def planter(kafka: EmbeddedKafka, tmp_path: Path) -> Iterator[Planter]:
    planter = Planter(kafka.bootstrap, write_keks(tmp_path / "keks", ("pay", 1)))
    with planter.client:
        yield planter


@pytest.fixture
def check(spark: SparkSession, kafka: EmbeddedKafka, tmp_path: Path) -> Callable[..., Checked]:
    def run(*topics: str, rules: list[dict[str, Any]] = RULES, index_topic: str = "", **more: Any) -> Checked:
        named = tuple(physical_name(TENANT, one) for one in topics)
        scan = ScanOptions(settings_of(kafka.bootstrap), str(tmp_path / "out"), named)
        tenants = ConfiguredTenants(
            [tenant_of([], name=TENANT, virtual_partitions=rules)], index_topic=index_topic
        )
        return run_fsck(spark, FsckOptions(scan, tenants, **more), told)

    return run


def create(endpoint: Endpoint, name: str) -> None:
    size = SIZES[name.partition("-")[0]]
    admin = AdminClient(endpoint.for_confluent)
    admin.create_topics([NewTopic(name, size, 1)])[name].result(WAIT_S)


def send_in_transactions(endpoint: Endpoint, topic: str, offsets: dict[int, list[int]]) -> None:
    """Send a record to each virtual partition in a transaction that is committed, and in one that is aborted."""

    def told_of(error: Any, message: Any) -> None:
        assert error is None
        offsets.setdefault(message.partition(), []).append(message.offset())

    producer = Producer(endpoint.for_confluent | {"transactional.id": topic, "compression.type": "lz4"})
    producer.init_transactions(WAIT_S)
    for end in (producer.commit_transaction, producer.abort_transaction):
        producer.begin_transaction()
        for partition in range(SIZES[topic.partition("-")[0]]):
            producer.produce(topic, SECRET, partition=partition, on_delivery=told_of)
        assert producer.flush(WAIT_S) == 0
        end(WAIT_S)


@contextmanager
def transaction_at(kafka: EmbeddedKafka, name: str) -> Iterator[Producer]:
    """A transaction of a client past the gateways, committed in the end."""
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": name})
    producer.init_transactions(WAIT_S)
    producer.begin_transaction()
    yield producer
    producer.commit_transaction(WAIT_S)


def at_gateway(endpoint: Endpoint) -> dict[str, Any]:
    properties = sasl_properties(str(endpoint.username), endpoint.password, endpoint.mechanism)
    return {"gateway": read_client_settings(endpoint.bootstrap, properties)}


def test_what_clients_wrote_is_owned_and_the_gateway_says_the_same(
    check: Callable[..., Checked], endpoint: Endpoint, tmp_path: Path
) -> None:
    sent: dict[str, dict[int, list[int]]] = {}
    for topic in ("even-clean", "odd-clean"):
        create(endpoint, topic)
        produce(endpoint, topic)
        produce(endpoint, topic, "idempotent", **{"enable.idempotence": True})
        send_in_transactions(endpoint, topic, sent.setdefault(topic, {}))
    create(endpoint, "even-empty")

    done = check("even-clean", "odd-clean", "even-empty", **at_gateway(endpoint))

    each = 2 * EACH + 2
    assert done == Checked(3, 12 + 7 + 12, (12 + 7) * each, 0, 0, 0, done.claims, ())
    assert done.is_clean
    # A claim for each transaction and physical partition.
    assert done.claims == 2 * (4 + 3)
    index = rows(tmp_path / "out" / "partitions.csv")
    assert [row["topic"] for row in index] == sorted(row["topic"] for row in index)
    for row in index:
        if row["name"] == "even-empty":
            assert (row["first_offset"], row["records"], row["last_timestamp"]) == ("", "0", "")
            continue
        virtual = int(row["virtual"])
        physical = {"even-clean": 4, "odd-clean": 3}[row["name"]]
        assert (int(row["partition"]), int(row["partition_group"])) == (
            virtual % physical,
            virtual // physical,
        )
        assert (row["tenant"], int(row["records"])) == (TENANT, each)
        assert int(row["last_offset"]) == sent[row["name"]][virtual][-1]
    assert rows(tmp_path / "out" / "unowned.csv") == []
    assert SECRET not in b"".join(one.read_bytes() for one in tmp_path.rglob("*") if one.is_file())


def test_the_command_compares_topics_of_namespaces_and_says_by_its_status_what_it_found(
    spark: SparkSession,
    gateway: GatewayProcess,
    kafka: EmbeddedKafka,
    planter: Planter,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(job_runs, "build_session", lambda _name, _options: spark)
    monkeypatch.setattr(spark, "stop", lambda: None)
    endpoint, name = gateway.endpoint(TENANT), physical_name(TENANT, "--eu.even-command")
    admin = AdminClient(endpoint.for_confluent)
    admin.create_topics([NewTopic("eu..even-command", 12, 1)])["eu..even-command"].result(WAIT_S)
    producer = Producer(endpoint.for_confluent)
    for partition in range(12):
        producer.produce("eu..even-command", b"x", partition=partition)
    assert producer.flush(WAIT_S) == 0
    client = tmp_path / "client.properties"
    properties = sasl_properties(str(endpoint.username), endpoint.password, endpoint.mechanism)
    client.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
    brokers = ["--bootstrap-servers", kafka.bootstrap, "--config", str(gateway.directory / "proxy.yaml")]
    command = ["pipeline", "fsck", *brokers, "--topic", name, "--out", str(tmp_path / "out")]
    compared = ["--gateway", endpoint.bootstrap, "--gateway-kafka-config", str(client)]

    clean = CliRunner().invoke(app, [*command, *compared])
    made = planter.batch(name, [b"x"], producer_id=930)
    planter.client.produce(name, 0, b"".join(marked_batch(made, 100)))
    found = CliRunner().invoke(app, [*command, *compared])

    assert clean.exit_code == 0, clean.output
    page = tmp_path / "out" / "index.html"
    assert clean.stdout.splitlines() == [
        "1 topics, 12 virtual partitions, 12 records; 0 claims are left over",
        f"0 batches unowned, 0 keys shared, 0 differences: {page}",
    ]
    assert (found.exit_code, found.stdout.splitlines()[0]) == (
        FOUND,
        f"no virtual partition owns: {name}: 1 batches",
    )
    assert {row["name"] for row in rows(tmp_path / "out" / "partitions.csv")} == {"eu:even-command"}


def test_batches_that_no_virtual_partition_owns_are_listed_each(
    check: Callable[..., Checked], kafka: EmbeddedKafka, endpoint: Endpoint, planter: Planter, tmp_path: Path
) -> None:
    topic, name = "even-planted", physical_name(TENANT, "even-planted")
    create(endpoint, topic)
    produce(endpoint, topic)
    offsets = [
        planter.client.produce(
            name, 2, b"".join(marked_batch(planter.batch(name, [b"x"], producer_id=one), 3))
        )
        for one in (900, 901)
    ]
    with transaction_at(kafka, "planted") as producer:
        producer.produce(name, b"x", partition=1, headers=[(TAG.decode(), b"")])
    done = check(topic)

    assert (done.unowned, done.by_topic, done.records) == (3, ((name, 3),), 12 * EACH)
    assert not done.is_clean
    found = rows(tmp_path / "out" / "unowned.csv")
    assert [(row["kind"], row["partition"], row["partition_group"], row["records"]) for row in found] == [
        ("malformed header", "1", "0", "1"),
        ("group beyond virtual", "2", "3", "1"),
        ("group beyond virtual", "2", "3", "1"),
    ]
    assert [int(row["first_offset"]) for row in found[1:]] == offsets
    assert int(found[1]["producer_id"]) == (3 << 40) + 900
    page = (tmp_path / "out" / "index.html").read_text()
    assert "virtual partition 14 where there are 12" in page


def test_sealed_batches_are_owned_and_need_no_key(
    check: Callable[..., Checked], kafka: EmbeddedKafka, planter: Planter, tmp_path: Path
) -> None:
    def adjust(config: dict[str, Any]) -> None:
        config["tenants"][0] |= {
            "virtual_partitions": RULES,
            "filters": [encryption(planter.keks, "*", key="pay")],
        }

    directory, name = tmp_path / "sealing", physical_name(TENANT, "odd-sealed")
    directory.mkdir()
    with GatewayProcess(directory, kafka.bootstrap, tenants=[TenantSpec(TENANT)], adjust=adjust) as sealing:
        endpoint = sealing.endpoint(TENANT)
        create(endpoint, "odd-sealed")
        produce(endpoint, "odd-sealed")
        send_in_transactions(endpoint, "odd-sealed", {})
        done = check("odd-sealed", **at_gateway(endpoint))

    assert (done.records, done.unowned, done.differences) == (7 * (EACH + 2), 0, 0)
    stored = [batch for number in range(3) for batch in read_all(planter, name, number)]
    assert stored
    assert not any(SECRET in batch for batch in stored)


def read_all(planter: Planter, topic: str, partition: int) -> list[bytes]:
    end = planter.client.offset(topic, partition, LATEST)
    steps = read_range(planter.client, OffsetRange(topic, partition, 0, end))
    return [bytes(one.data) for step in steps for one in step.batches]


def test_keys_of_two_virtual_partitions_of_a_compacted_topic_are_counted(
    check: Callable[..., Checked], planter: Planter, tmp_path: Path
) -> None:
    """The brokers' operator has made it compacted."""
    name = physical_name(TENANT, "odd-compacted")
    planter.create(name, 3, cleanup_policy="compact")
    planter.client.produce(name, 1, planter.batch(name, [SECRET] * 4))
    for group, count in ((1, 2), (2, 3)):
        made = planter.batch(name, [SECRET] * count, producer_id=910 + group)
        planter.client.produce(name, 0, b"".join(marked_batch(made, group)))
    other = planter.batch(name, [SECRET] * 1, partition=1, producer_id=920)
    planter.client.produce(name, 1, b"".join(marked_batch(other, 1)))

    done = check("odd-compacted")

    assert (done.unowned, done.shared_keys, done.is_clean) == (0, 3, False)
    found = rows(tmp_path / "out" / "shared-keys.csv")
    assert [(row["partition"], row["virtual_partitions"], row["keys"]) for row in found] == [
        ("0", "3 6", "2"),
        ("1", "1 4", "1"),
    ]
    files = b"".join(one.read_bytes() for one in (tmp_path / "out").rglob("*") if one.is_file())
    assert SECRET not in files
    assert b"key-0" not in files


def test_other_numbers_than_those_of_brokers_and_gateway_are_differences(
    check: Callable[..., Checked], endpoint: Endpoint, planter: Planter, tmp_path: Path
) -> None:
    create(endpoint, "even-lowered")
    produce(endpoint, "even-lowered")
    planter.create(physical_name(TENANT, "even-wide"), 5)
    planter.plant(physical_name(TENANT, "even-wide"), planter.batch("wide", [b"x"]), partition=4)
    lowered = [RULES[0] | {"virtual": 11}, RULES[1]]

    done = check("even-lowered", "even-wide", rules=lowered, **at_gateway(endpoint))

    found = rows(tmp_path / "out" / "differences.csv")
    assert {
        (row["topic"].rpartition("-")[2], row["what"], row["expected"], row["answered"]) for row in found
    } == {
        ("wide", "partitions of the brokers", "4", "5"),
        ("lowered", "partitions of the gateway", "11", "12"),
    }
    assert (done.differences, done.records) == (2, 11 * EACH)
    kinds = {row["kind"]: row["topic"] for row in rows(tmp_path / "out" / "unowned.csv")}
    assert kinds == {
        "group beyond virtual": physical_name(TENANT, "even-lowered"),
        "partition beyond physical": physical_name(TENANT, "even-wide"),
    }


def test_offsets_that_a_gateway_answers_otherwise_are_differences(
    check: Callable[..., Checked], endpoint: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The gateway is right, so its answers are spoilt on their way."""
    create(endpoint, "odd-spoilt")
    produce(endpoint, "odd-spoilt")
    ask = TopicClient.offset

    def spoilt(client: TopicClient, topic: str, partition: int, time: int, *more: int) -> int:
        return ask(client, topic, partition, time, *more) + (topic == "odd-spoilt" and partition == 4)

    monkeypatch.setattr(TopicClient, "offset", spoilt)
    done = check("odd-spoilt", **at_gateway(endpoint))

    found = rows(tmp_path / "out" / "differences.csv")
    assert (done.differences, done.unowned) == (2, 0)
    assert {(row["virtual"], row["what"]) for row in found} == {("4", "latest"), ("4", "earliest")}


def entry_of(planter: Planter, topic: str, partition: int) -> IndexEntry:
    """Return what a gateway writes of a physical partition."""
    scan = ForwardScan(None, planter.client.offset(topic, partition, LATEST))
    while scan.offset is not None:
        scan.take(planter.client.fetch(topic, partition, scan.offset).data)
    assert scan.entry is not None
    return scan.entry


def test_the_index_of_gateways_is_compared_with_the_log(
    check: Callable[..., Checked],
    kafka: EmbeddedKafka,
    endpoint: Endpoint,
    planter: Planter,
    tmp_path: Path,
) -> None:
    """Each entry with what was there when it was written."""
    topic, name = "even-indexed", physical_name(TENANT, "even-indexed")
    create(endpoint, topic)
    planter.create("fsck-index")
    produce(endpoint, topic)
    made = {(name.encode(), one): entry_of(planter, name, one) for one in range(4)}
    produce(endpoint, topic, "later")
    producer = Producer({"bootstrap.servers": kafka.bootstrap})

    def write(partition: int, entry: IndexEntry) -> None:
        producer.produce("fsck-index", to_value(entry), key=key_of((name.encode(), partition)))

    for (_, number), entry in made.items():
        write(number, entry._replace(ends={}))
        write(number, entry)
    producer.produce("fsck-index", b"{}", key=key_of((name.encode(), 0)))
    producer.produce("fsck-index", b"{}", key=b"scanner")
    assert producer.flush(WAIT_S) == 0
    right = check(topic, index_topic="fsck-index")
    assert (right.differences, right.is_clean, right.records) == (0, True, 2 * 12 * EACH)

    first, second, third = (made[name.encode(), one] for one in range(3))
    write(0, first._replace(ends=first.ends | {1: first.ends[1] - 1}))
    write(1, second._replace(ends={0: second.ends[0], 1: second.ends[1]}))
    write(2, third._replace(last_batch=third.last_batch._replace(crc=third.last_batch.crc ^ 1)))
    assert producer.flush(WAIT_S) == 0
    wrong = check(topic, index_topic="fsck-index")
    found = rows(tmp_path / "out" / "differences.csv")
    assert (wrong.differences, wrong.unowned, wrong.is_clean) == (3, 0, False)
    assert {(row["virtual"], row["what"], row["expected"], int(row["answered"])) for row in found} == {
        ("4", "index", str(first.ends[1]), first.ends[1] - 1),
        ("9", "index", str(second.ends[2]), 0),
        ("2", "index", "the entry of another log", third.end),
    }


def test_what_stands_in_the_way_is_one_line(check: Callable[..., Checked], planter: Planter) -> None:
    planter.create(physical_name(TENANT, "plain-one"), 1)
    with pytest.raises(PipelineError, match="no virtual_partitions of --config are for"):
        check("plain-one")
    with pytest.raises(PipelineError, match="are for a topic that these brokers have"):
        check(rules=[RULES[0] | {"topics": ["nowhere"]}])
    planter.create(physical_name(TENANT, "even-other"), 4)
    with pytest.raises(PipelineError, match="tenant nobody has no topic"):
        check("even-other", gateway=settings_of("127.0.0.1:1"), tenant="nobody")
