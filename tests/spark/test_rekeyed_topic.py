"""`rekey` and the swap of names behind it: clients go on in the copy, by a gateway that has the new KEK alone."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import KafkaError, KafkaException, Message, Producer
from confluent_kafka.admin import AdminClient

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.pipeline.jobs.census import run_census
from bifrost.pipeline.jobs.rekey import RekeyOptions, run_rekey
from bifrost.pipeline.stored.kek_texts import read_kek
from bifrost.pipeline.stored.scan_options import ScanOptions
from support.clients.confluent_reading import read
from support.clients.endpoint import Endpoint
from support.control.control_process import ControlProcess
from support.encryption.key_files import encryption
from support.gateways.gateway_process import GatewayProcess, TenantSpec
from support.physical_names import physical_name
from support.records.stored_batches import SECRET, settings_of, write_keks

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.timeout(900)

TENANT, TOPIC, RECORDS, WAIT_S = "swapper", "payments", 60, 60.0


def gateway(kafka: EmbeddedKafka, directory: Path, state: str, keks: Path, **sealing: Any) -> GatewayProcess:
    """Return a gateway whose tenant seals its payments."""

    def adjust(config: dict[str, Any]) -> None:
        config["tenants"][0]["filters"] = [encryption(keks, f"{TOPIC}*", **sealing)]

    directory.mkdir()
    tenants, proxy = (TenantSpec(TENANT),), {"state": {"topic": state}}
    return GatewayProcess(directory, kafka.bootstrap, tenants=tenants, adjust=adjust, proxy=proxy)


def send(endpoint: Endpoint, *values: bytes) -> None:
    """Produce records with keys and headers, idempotent and in zstd."""
    producer = Producer(
        endpoint.for_confluent | {"enable.idempotence": True, "compression.type": "zstd", "linger.ms": 20}
    )
    errors: list[KafkaError] = []
    for value in values:
        producer.produce(
            TOPIC,
            value,
            SECRET,
            headers=[("h", SECRET)],
            on_delivery=lambda error, _: errors.append(error) if error else None,
        )
    assert producer.flush(WAIT_S) == 0
    assert errors == []


def contents(found: list[Message]) -> list[tuple[object, ...]]:
    return [(one.offset(), one.timestamp(), one.key(), one.value(), one.headers()) for one in found]


def await_topics(endpoint: Endpoint, *names: str) -> None:
    admin, ends = AdminClient(endpoint.for_confluent), time.monotonic() + WAIT_S
    while (found := set(admin.list_topics(timeout=30).topics)) != set(names):
        assert time.monotonic() < ends, found
        time.sleep(0.1)


def test_clients_go_on_in_the_copy_and_the_old_kek_is_needed_no_more(
    spark: SparkSession, kafka: EmbeddedKafka, tmp_path: Path
) -> None:
    state, physical = f"__state-{time.time_ns()}", physical_name(TENANT, TOPIC)
    both = write_keks(tmp_path / "both", ("old", 1), ("new", 2))
    only_new = write_keks(tmp_path / "only-new", ("new", 2))
    old, new = (read_kek(f"file:{both}#{name}") for name in ("old", "new"))
    settings = settings_of(kafka.bootstrap)
    tenants = [{"name": TENANT}]
    with (
        gateway(kafka, tmp_path / "before", state, both, key="old") as before,
        ControlProcess(tmp_path / "control", kafka.bootstrap, state, tenants=tenants) as control,
    ):
        endpoint = before.endpoint(TENANT)
        assert control.command("topics", "create", f"{TENANT}/{TOPIC}", "--partitions", "1")[0] == 0
        send(endpoint, *(SECRET + b" %d" % number for number in range(RECORDS)))
        sent = contents(read(endpoint, TOPIC, RECORDS))

        done = run_rekey(
            spark,
            RekeyOptions(settings, str(tmp_path / "out"), physical, f"{physical}-2", (old,), new),
            lambda _text: None,
        )
        assert (done.records, done.moved) == (RECORDS, 0)
        for source, target in ((TOPIC, f"{TOPIC}-old"), (f"{TOPIC}-2", TOPIC)):
            moved = control.command("topics", "move", f"{TENANT}/{source}", "--to", TENANT, "--as", target)
            assert moved[0] == 0, moved
        await_topics(endpoint, TOPIC, f"{TOPIC}-old")

    with gateway(kafka, tmp_path / "after", state, only_new, key="new") as after:
        endpoint = after.endpoint(TENANT)
        assert contents(read(endpoint, TOPIC, RECORDS)) == sent
        send(endpoint, b"after the swap")
        found = read(endpoint, TOPIC, RECORDS + 1)
        assert contents(found[:RECORDS]) == sent
        assert (found[-1].offset(), found[-1].value()) == (RECORDS, b"after the swap")
        with pytest.raises(KafkaException) as refused:
            read(endpoint, f"{TOPIC}-old", 1)
        assert refused.value.args[0].code() in (KafkaError._BAD_MSG, KafkaError.INVALID_MSG)
    used = run_census(
        spark, ScanOptions(settings, str(tmp_path / "census"), (f"{physical}-2",)), lambda _text: None
    )
    assert (used.keks, used.plain) == ((("file:new", 2, RECORDS + 1),), 0)
