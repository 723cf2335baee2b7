"""One partition through a transform, as a task does it, with a real broker and the real process; no Spark."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bifrost.config.records.fail_mode import FailMode
from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.pipeline.errors import PipelineError
from bifrost.pipeline.jobs.transform import read_transform
from bifrost.pipeline.stored.filter_sealing import FilterSealing
from bifrost.pipeline.stored.job_keks import JobKeys
from bifrost.pipeline.stored.kek_texts import read_kek
from bifrost.pipeline.stored.topic_client import LATEST
from bifrost.pipeline.stored.topic_copy import CopiedRun, PartitionCopy
from bifrost.pipeline.stored.topic_log import OffsetRange, read_range
from bifrost.pipeline.stored.transforming.transform_process import TransformProcess
from bifrost.pipeline.stored.transforming.transformed_contents import TransformedContents, TransformPlan
from bifrost.records.codec.client_batch import read_columns
from bifrost.records.codec.columns import ColumnRecord
from bifrost.transforms.record_transform import Direction
from support.records.filtered_batches import EncryptionFilter, filter_config, wrapped_sealing_key
from support.records.record_columns import only_batch, plenty
from support.records.stored_batches import BEGIN_MS, Planter, write_keks

TRANSFORM = '''\
import json
import pyarrow as pa
import pyarrow.compute as pc

def transform(batch, context):
    """Add what it is told, leave out records of 0 on fetch, and fail on a text."""
    values = batch.column("value").to_pylist()
    told = [context.tenant, context.topic, context.direction]
    made = [one and json.dumps([json.loads(one) + 1, *told]).encode() for one in values]
    batch = batch.set_column(3, batch.schema.field("value"), pa.array(made, pa.binary()))
    if context.direction == "fetch":
        batch = batch.filter(pa.array([one != b"0" for one in values]))
    return batch
'''
ORDERS = ["acme", "orders"]


@pytest.fixture
def planter(kafka: EmbeddedKafka, tmp_path: Path) -> Iterator[Planter]:
    planter = Planter(kafka.bootstrap, write_keks(tmp_path / "keks", ("pay", 1)))
    with planter.client:
        yield planter


@pytest.fixture
def plan(planter: Planter, tmp_path: Path) -> TransformPlan:
    (tmp_path / "mine.py").write_text(TRANSFORM)
    file = read_transform(tmp_path / "mine.py", 30_000, 256 << 20)
    keks = (read_kek(f"file:{planter.keks}#pay"),)
    where = ("", "", planter.cluster, *ORDERS)
    return TransformPlan(*where, keks, file, Direction.PRODUCE, FailMode.CLOSED)


def copied(planter: Planter, plan: TransformPlan, topic: str) -> list[CopiedRun]:
    """Do what a task does for the only partition of a topic."""
    plan = replace(plan, topic=topic, to=f"{topic}-2")
    source = OffsetRange(topic, 0, 0, planter.client.offset(topic, 0, LATEST))
    with TransformProcess(plan.file) as process:
        contents = TransformedContents(plan, JobKeys(plan.keks), process, 0)
        return list(PartitionCopy(planter.client, source, plan.to, contents).copied())


def stored(planter: Planter, topic: str) -> list[ColumnRecord]:
    """Return the records of a topic as they are stored, with their offsets and times."""
    wanted = OffsetRange(topic, 0, 0, planter.client.offset(topic, 0, LATEST))
    found = []
    for step in read_range(planter.client, wanted):
        for one in step.batches:
            batch = only_batch(bytes(one.data))
            assert (batch.producer_id, batch.base_sequence) == (-1, -1)
            for record in read_columns(batch, plenty()).records():
                at = record.offset_delta + batch.base_offset
                found.append(
                    record._replace(
                        offset_delta=at, timestamp_delta=record.timestamp_delta + batch.base_timestamp_ms
                    )
                )
    return found


def test_sealed_and_plain_batches_come_out_transformed_and_plain(
    planter: Planter, plan: TransformPlan
) -> None:
    planter.create("mapped", 1)
    planter.create("mapped-2", 1)
    planter.plant("mapped", planter.batch("mapped", [b"1", None], producer_id=3), kek="pay")
    planter.plant_values("mapped", planter.batch("mapped", [b"3"], codec=1), "pay")
    planter.plant("mapped", planter.batch("mapped", [b"4"], codec=0))

    assert copied(planter, plan, "mapped") == [CopiedRun(0, 0, 3, 0, 3, 4, 1)]

    header = ((b"h", b"x"),)
    told = [*ORDERS, "produce"]
    assert stored(planter, "mapped-2") == [
        ColumnRecord(0, BEGIN_MS, b"key-0", json.dumps([2, *told]).encode(), header),
        ColumnRecord(1, BEGIN_MS + 1, b"key-1", None, header),
        ColumnRecord(2, BEGIN_MS, b"key-0", json.dumps([4, *told]).encode(), header),
        ColumnRecord(3, BEGIN_MS, b"key-0", json.dumps([5, *told]).encode(), header),
    ]


def test_sealed_fields_and_keys_come_out_transformed_and_plain(planter: Planter, plan: TransformPlan) -> None:
    key = wrapped_sealing_key(planter.keks, "pay")
    keyed = filter_config(planter.keks, "pay", mode="values", sealing_key=key)
    fields = filter_config(planter.keks, "pay", mode="fields", sealed_fields=["card"])
    for topic, config, value in (("keyed", keyed, b"1"), ("carded", fields, b'{"card":1}')):
        planter.create(topic, 1)
        planter.create(f"{topic}-2", 1)
        seal = EncryptionFilter(config, planter.cluster, topic)
        planter.client.produce(topic, 0, seal.sealed(planter.batch(topic, [value])))
        planter.plant(topic, planter.batch(topic, [value]))
        chosen = replace(plan, fail=FailMode.OPEN, sealing=FilterSealing("seal", config))

        copied(planter, chosen, topic)

        made = json.dumps([2, *ORDERS, "produce"]).encode() if topic == "keyed" else value
        assert [(one.key, one.value) for one in stored(planter, f"{topic}-2")] == [(b"key-0", made)] * 2
        with pytest.raises(PipelineError, match="are sealed, and no EnvelopeEncryption of --config says how"):
            copied(planter, plan, topic)


def test_what_was_done_is_compared_and_not_done_again(planter: Planter, plan: TransformPlan) -> None:
    planter.create("resumed", 1, compression_type="producer")
    planter.create("resumed-2", 1, compression_type="gzip")
    plan = replace(plan, direction=Direction.FETCH)
    for values in ([b"0", b"1"], [b"0"], [b"2", b"0"]):
        planter.plant("resumed", planter.batch("resumed", values))
    runs = [
        CopiedRun(0, 0, 1, 0, 1, 2, 0, 1),
        CopiedRun(0, 2, 2, -1, 1, 1, 0, 1),
        CopiedRun(0, 3, 4, 1, 1, 2, 0, 1),
    ]

    assert copied(planter, plan, "resumed") == runs
    planter.plant("resumed", planter.batch("resumed", [b"7"]))
    assert copied(planter, plan, "resumed") == [*runs, CopiedRun(0, 5, 5, 2, 1, 1, 0)]

    values = [json.loads(one.value or b"")[0] for one in stored(planter, "resumed-2")]
    assert values == [2, 3, 8]
    other = replace(plan, tenant="globex")
    with pytest.raises(PipelineError, match="resumed-2-0 at offset 0 is no copy of resumed-0 at offset 0"):
        copied(planter, other, "resumed")


def test_a_batch_for_which_it_fails_ends_the_task_or_passes(planter: Planter, plan: TransformPlan) -> None:
    planter.create("failed", 1)
    planter.create("failed-2", 1)
    for values in ([b"1"], [b'"secret"'], [b"2"]):
        planter.plant("failed", planter.batch("failed", values))

    with pytest.raises(PipelineError) as caught:
        copied(planter, plan, "failed")
    assert str(caught.value) == ("failed-0 at offset 1: the transform failed: TypeError in line 9 of mine.py")
    assert len(stored(planter, "failed-2")) == 1
    assert copied(planter, replace(plan, fail=FailMode.OPEN), "failed") == [
        CopiedRun(0, 0, 2, 0, 3, 3, 0, 0, 1)
    ]
    assert stored(planter, "failed-2")[1].value == b'"secret"'


def test_append_times_of_the_broker_give_way_to_those_of_the_producers(
    planter: Planter, plan: TransformPlan
) -> None:
    planter.create("timed", 1, message_timestamp_type="LogAppendTime")
    planter.create("timed-2", 1)
    planter.plant("timed", planter.batch("timed", [b"1", b"2"]))

    copied(planter, plan, "timed")

    assert [one.timestamp_delta for one in stored(planter, "timed-2")] == [BEGIN_MS, BEGIN_MS + 1]
