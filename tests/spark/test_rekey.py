"""`rekey`: a topic and a compacted one copied under a new KEK, and what stands in the way."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import fastavro
import pytest
import yaml
from pyspark.sql import SparkSession

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.pipeline.errors import PipelineError
from bifrost.pipeline.jobs.census import run_census
from bifrost.pipeline.jobs.rekey import Rekeyed, RekeyOptions, run_rekey
from bifrost.pipeline.stored.filter_sealing import FilterSealing
from bifrost.pipeline.stored.kek_texts import read_kek
from bifrost.pipeline.stored.scan_options import ScanOptions
from bifrost.records.codec.client_batch import read_columns
from support.records.filtered_batches import EncryptionFilter, filter_config, wrapped_sealing_key
from support.records.record_columns import only_batch, plenty
from support.records.schema_answers import of_schema
from support.records.stored_batches import SECRET, Planter, rows, settings_of, write_keks
from support.registry_server import RegistryServer


@pytest.fixture
def planter(kafka: EmbeddedKafka, tmp_path: Path) -> Iterator[Planter]:
    planter = Planter(kafka.bootstrap, write_keks(tmp_path / "keks", ("old", 1), ("new", 7)))
    with planter.client:
        yield planter


def options_of(planter: Planter, kafka: EmbeddedKafka, out: Path, topic: str) -> RekeyOptions:
    old, new = (read_kek(f"file:{planter.keks}#{name}") for name in ("old", "new"))
    return RekeyOptions(settings_of(kafka.bootstrap), str(out), topic, f"{topic}-2", (old,), new)


ORDER = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "card", "type": "string", "confluent:tags": ["PII"]},
        {"name": "note", "type": ["null", "string"]},
    ],
}
VALUE = {"id": 7, "card": SECRET.decode(), "note": SECRET.decode()}


def avro(value: object) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(ORDER), value)
    return out.getvalue()


def told(_text: str) -> None:
    """Nothing listens to a job's progress here."""


def test_a_topic_is_copied_whole_under_the_new_kek(
    spark: SparkSession, kafka: EmbeddedKafka, planter: Planter, tmp_path: Path
) -> None:
    planter.create("rekeyed", 3, retention_ms="3153600000000", message_timestamp_type="CreateTime")
    for partition in (0, 2):
        for count in (1, 70):
            data = planter.batch("rekeyed", [SECRET] * count, partition=partition, producer_id=9)
            planter.plant("rekeyed", data, kek="old", partition=partition)
    options = options_of(planter, kafka, tmp_path, "rekeyed")

    done = run_rekey(spark, options, told)

    assert done == Rekeyed(partitions=3, batches=4, records=142, without_producer=0, moved=0, open_offsets=0)
    assert [(row["partition"], row["records"]) for row in rows(tmp_path / "offsets.csv")] == [
        ("0", "71"),
        ("2", "71"),
    ]
    assert planter.client.configs("rekeyed-2") == planter.client.configs("rekeyed")
    used = run_census(spark, ScanOptions(options.settings, str(tmp_path / "c"), ("rekeyed-2",)), told)
    assert used.keks == (("file:new", 7, 142),)
    assert used.plain == 0
    with pytest.raises(PipelineError, match="given no KEK of 'file:old'"):
        run_rekey(
            spark,
            RekeyOptions(options.settings, str(tmp_path), "rekeyed", "rekeyed-3", (), options.seals),
            told,
        )


def test_a_compacted_topic_keeps_its_keys_and_tombstones(
    spark: SparkSession, kafka: EmbeddedKafka, planter: Planter, tmp_path: Path
) -> None:
    planter.create("rekeyed-table", 1, cleanup_policy="compact")
    data = planter.batch("rekeyed-table", [SECRET, None, SECRET], producer_id=4)
    planter.plant_values("rekeyed-table", data, "old")
    planter.plant("rekeyed-table", planter.batch("rekeyed-table", [None]))

    done = run_rekey(spark, options_of(planter, kafka, tmp_path, "rekeyed-table"), told)

    assert done == Rekeyed(partitions=1, batches=2, records=4, without_producer=1, moved=0, open_offsets=0)
    assert planter.client.configs("rekeyed-table-2")["cleanup.policy"] == "compact"


def test_fields_that_tags_and_paths_lead_to_are_sealed_anew(
    spark: SparkSession, kafka: EmbeddedKafka, planter: Planter, tmp_path: Path
) -> None:
    with closing(RegistryServer()) as registry:
        number = registry.add("rekeyed-fields-value", ORDER)
        ways = {"sealed_tags": ["PII"], "sealed_fields": ["note"]}
        asks = {"mode": "fields", "format": "schema", "registry_url": registry.url} | ways
        old, new = (filter_config(planter.keks, name, **asks) for name in ("old", "new"))
        values = [of_schema(number, avro(one)) for one in (VALUE, VALUE | {"note": None})]
        planter.create("rekeyed-fields", 2)
        before = EncryptionFilter(old, planter.cluster, "rekeyed-fields", "rekeyed-fields")
        for partition in (0, 1):
            data = planter.batch("rekeyed-fields", values, partition=partition, producer_id=9)
            planter.client.produce("rekeyed-fields", partition, before.sealed(data, partition))
        options = options_of(planter, kafka, tmp_path, "rekeyed-fields")

        done = run_rekey(spark, replace(options, sealing=FilterSealing("seal", old)), told)

        assert done == Rekeyed(2, 2, 4, without_producer=0, moved=0, open_offsets=0)
        after = EncryptionFilter(new, planter.cluster, "rekeyed-fields-2", "rekeyed-fields")
        for partition in (0, 1):
            stored = bytes(planter.client.fetch("rekeyed-fields-2", partition, 0).data)
            assert [one.value for one in after.opened(stored, partition)] == values
            assert only_batch(stored).producer_id == 9
            assert SECRET not in b"".join(
                one or b"" for one in read_columns(only_batch(stored), plenty()).values
            )
        used = run_census(
            spark, ScanOptions(options.settings, str(tmp_path / "c"), ("rekeyed-fields-2",)), told
        )
        assert used.keks == (("file:new", 7, 4),)
        with pytest.raises(PipelineError, match="fields of values are sealed, and no EnvelopeEncryption"):
            run_rekey(spark, options, told)


def test_the_command_takes_fields_and_keks_from_a_configuration(
    kafka: EmbeddedKafka, planter: Planter, tmp_path: Path
) -> None:
    topic, value = "command-cards", b'{"card":"%s"}' % SECRET
    more = {"mode": "fields", "sealed_fields": ["card"]}
    planter.create(topic, 1)
    before = EncryptionFilter(filter_config(planter.keks, "old", **more), planter.cluster, topic)
    planter.client.produce(topic, 0, before.sealed(planter.batch(topic, [value])))
    sealing = {"kms_provider": "KeyFile", "key_id": "old", "key_file": str(planter.keks)} | more
    (tmp_path / "password").write_text("unused")
    (tmp_path / "password").chmod(0o600)
    ports: dict[str, Any] = {"bootstrap_port": 9092, "broker_port_range": {"start": 9093, "end": 9095}}
    ports["advertised_host"] = "localhost"
    tenant = {
        "name": "acme",
        "prefixes": {"topic": "command-"},
        "auth": {"credentials": [{"username": "acme", "password_file": "password"}]},
        "filters": [{"name": "EnvelopeEncryption", "config": sealing, "rules": [{"topics": ["cards"]}]}],
    }
    config = tmp_path / "gateway.yaml"
    config.write_text(
        yaml.safe_dump(
            {
                "proxy": {"listener_sets": [{"name": "plaintext", "port_range": ports}]},
                "upstream": {"bootstrap": [kafka.bootstrap]},
                "tenants": [tenant],
            }
        )
    )
    command = [sys.executable, "-m", "bifrost", "pipeline", "rekey", "--bootstrap-servers", kafka.bootstrap]
    command += ["--out", str(tmp_path / "out"), "--topic", topic, "--to", f"{topic}-2"]
    command += ["--config", str(config), "--kek", f"file:{planter.keks}#new", "--driver-memory", "512m"]

    done = subprocess.run(command, capture_output=True, text=True, timeout=110, check=False)

    assert done.returncode == 0, done.stderr
    assert "the same: 1 batches, 1 records in 1 partitions" in done.stdout
    after = EncryptionFilter(filter_config(planter.keks, "new", **more), planter.cluster, f"{topic}-2")
    stored = bytes(planter.client.fetch(f"{topic}-2", 0, 0).data)
    assert [one.value for one in after.opened(stored)] == [value]


def test_sealed_keys_are_sealed_by_the_sealing_key_of_the_copy(
    spark: SparkSession, kafka: EmbeddedKafka, planter: Planter, tmp_path: Path
) -> None:
    own_key, other_key = (wrapped_sealing_key(planter.keks, *one) for one in (("old",), ("new", bytes(32))))
    old, new = (
        filter_config(planter.keks, name, mode="values", sealing_key=key)
        for name, key in (("old", own_key), ("new", other_key))
    )
    planter.create("rekeyed-keys", 1, cleanup_policy="compact")
    data = planter.batch("rekeyed-keys", [SECRET, None, SECRET])
    before = EncryptionFilter(old, planter.cluster, "rekeyed-keys")
    planter.client.produce("rekeyed-keys", 0, before.sealed(data))
    options = replace(
        options_of(planter, kafka, tmp_path, "rekeyed-keys"), sealing=FilterSealing("seal", old)
    )

    done = run_rekey(spark, replace(options, sealing_key=other_key), told)

    assert (done.records, done.moved) == (3, 0)
    stored = bytes(planter.client.fetch("rekeyed-keys-2", 0, 0).data)
    opened = EncryptionFilter(new, planter.cluster, "rekeyed-keys-2").opened(stored)
    assert opened == read_columns(only_batch(data), plenty()).records()
    assert b"key-" not in b"".join(one or b"" for one in read_columns(only_batch(stored), plenty()).keys)
    for wrong, said in (
        (options, "the topic's keys are sealed: --sealing-key has to name a file"),
        (replace(options, sealing_key=own_key), "--sealing-key: it is not wrapped by the new KEK"),
        (
            replace(options, sealing=None, sealing_key=other_key),
            "no filter of --config seals the topic's keys",
        ),
        (replace(options, sealing=None), "keys of records are sealed, and no EnvelopeEncryption"),
    ):
        with pytest.raises(PipelineError, match=said):
            run_rekey(spark, wrong, told)


def test_what_stands_in_the_way_is_one_line(
    spark: SparkSession, kafka: EmbeddedKafka, planter: Planter, tmp_path: Path
) -> None:
    planter.create("rekeyed-times", 1, message_timestamp_type="LogAppendTime")
    planter.create("rekeyed-parts", 1)
    planter.create("rekeyed-parts-2", 2)
    planter.create("rekeyed-plain", 1)
    planter.plant("rekeyed-plain", planter.batch("rekeyed-plain", [SECRET]))
    for topic, said in (
        ("rekeyed-times", "append times"),
        ("rekeyed-parts", "rekeyed-parts-2 has 2 partitions, rekeyed-parts has 1"),
        ("rekeyed-plain", "rekeyed-plain-0 at offset 0: the batch is not sealed; see --accept-plaintext"),
    ):
        with pytest.raises(PipelineError, match=said) as caught:
            run_rekey(spark, options_of(planter, kafka, tmp_path, topic), told)
        assert "\n" not in str(caught.value)
