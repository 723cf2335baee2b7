"""One partition of a copy under another KEK: with real transactions, and begun more than once."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.encryption.dek_context import DekContext
from bifrost.encryption.place import Place
from bifrost.encryption.sealed_batch import seal_batch
from bifrost.pipeline.errors import PipelineError
from bifrost.pipeline.stored.job_keks import JobKeys
from bifrost.pipeline.stored.kek_texts import read_kek
from bifrost.pipeline.stored.resealing import parse
from bifrost.pipeline.stored.topic_client import LATEST, READ_COMMITTED
from bifrost.pipeline.stored.topic_copy import (
    CopiedRun,
    CopyPlan,
    PartitionCopy,
    ResealedContents,
    committed_batches,
)
from bifrost.pipeline.stored.topic_log import OffsetRange
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import (
    AddPartitionsToTxnRequest,
    EndTxnRequest,
    FindCoordinatorRequest,
    InitProducerIdRequest,
)
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import produce_request
from support.encryption.sealing import TRANSACTIONAL, with_header
from support.records.record_columns import only_batch, plenty
from support.records.stored_batches import Planter, write_keks


@pytest.fixture
def planter(kafka: EmbeddedKafka, tmp_path: Path) -> Iterator[Planter]:
    planter = Planter(kafka.bootstrap, write_keks(tmp_path / "keks", ("old", 1), ("new", 1)))
    with planter.client:
        yield planter


def copy_of(planter: Planter, topic: str, **changes: bool) -> PartitionCopy:
    """Return the copy of a topic's partition, up to its last stable offset."""
    old, new = (read_kek(f"file:{planter.keks}#{name}") for name in ("old", "new"))
    flags = {"is_by_value": False, "accepts_plaintext": False, "keeps_producers": True} | changes
    plan = CopyPlan(topic, f"{topic}-2", planter.cluster, (old,), new, **flags)
    end = planter.client.offset(topic, 0, LATEST, READ_COMMITTED)
    contents = ResealedContents(plan, JobKeys((old,), new), 0)
    return PartitionCopy(planter.client, OffsetRange(topic, 0, 0, end), plan.to, contents)


def transact(kafka: EmbeddedKafka, planter: Planter, topic: str, ends: list[bool]) -> None:
    """Write transactions of one batch each, committed or aborted."""
    with RawClient(Endpoint("127.0.0.1", kafka.broker_port(1))) as client:
        request = InitProducerIdRequest(transactional_id=topic, transaction_timeout_ms=60_000)
        deadline = time.monotonic() + 60
        while (made := client.request(request, 4)).error_code != ErrorCode.NONE:
            assert time.monotonic() < deadline, made
            client.request(FindCoordinatorRequest(key=topic, key_type=1), 3)
            time.sleep(0.1)
        keys = JobKeys((), read_kek(f"file:{planter.keks}#old"))
        dek, place = keys.writing(DekContext(planter.cluster, topic)), Place(planter.cluster, topic, 0)
        for number, is_committed in enumerate(ends):
            add = AddPartitionsToTxnRequest(
                v3_and_below_transactional_id=topic,
                v3_and_below_producer_id=made.producer_id,
                v3_and_below_producer_epoch=made.producer_epoch,
                v3_and_below_topics=[
                    AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(name=topic, partitions=[0])
                ],
            )
            while (
                client.request(add, 3)
                .results_by_topic_v3_and_below[0]
                .results_by_partition[0]
                .partition_error_code
            ):
                assert time.monotonic() < deadline
                time.sleep(0.05)
            data = with_header(
                planter.batch(topic, [f"t{number}".encode()] * 3),
                attributes=TRANSACTIONAL | 4,
                producer_id=made.producer_id,
                producer_epoch=made.producer_epoch,
                base_sequence=3 * number,
            )
            produce = produce_request(topic, seal_batch(only_batch(data), place.binding, dek, plenty()))
            produce.transactional_id = topic
            answer = client.request(produce, 12).responses[0].partition_responses[0]
            assert answer.error_code == ErrorCode.NONE
            end = EndTxnRequest(
                transactional_id=topic,
                producer_id=made.producer_id,
                producer_epoch=made.producer_epoch,
                committed=is_committed,
            )
            assert client.request(end, 3).error_code == ErrorCode.NONE
            while planter.client.offset(topic, 0, LATEST, READ_COMMITTED) < 4 * number + 4:
                assert time.monotonic() < deadline
                time.sleep(0.05)


def test_committed_transactions_are_copied_and_aborted_ones_are_not(
    kafka: EmbeddedKafka, planter: Planter
) -> None:
    topic = "copied-transactions"
    planter.create(topic)
    planter.create(f"{topic}-2")
    transact(kafka, planter, topic, [True, False, True])

    runs = list(copy_of(planter, topic).copied())

    assert [one[1:4] for one in runs] == [(0, 2, 0), (8, 10, 3)]
    assert sum(one.without_producer for one in runs) == 2
    assert list(copy_of(planter, topic).verified()) == runs
    read = committed_batches(planter.client, OffsetRange(f"{topic}-2", 0, 0, 6))
    assert [parse(one.data).is_transactional for one in read] == [False, False]


def test_a_copy_keeps_producers_and_goes_on_where_it_ended(planter: Planter) -> None:
    topic = "copied-twice"
    planter.create(topic)
    planter.create(f"{topic}-2")
    for count in (3, 70):
        planter.plant(topic, planter.batch(topic, [b"v"] * count, producer_id=5, codec=count % 5), kek="old")
    first = list(copy_of(planter, topic).copied())
    planter.plant(topic, planter.batch(topic, [b"v"] * 4, producer_id=5), kek="old")
    with pytest.raises(PipelineError, match="copied-twice-0 at offset 73: the copy ends before it"):
        list(copy_of(planter, topic).verified())

    second = list(copy_of(planter, topic).copied())

    assert first == [CopiedRun(0, 0, 72, 0, 2, 73, 0)]
    assert second == [CopiedRun(0, 0, 76, 0, 3, 77, 0)] == list(copy_of(planter, topic).verified())
    read = committed_batches(planter.client, OffsetRange(f"{topic}-2", 0, 0, 77))
    assert [parse(one.data).base_sequence for one in read] == [0, 3, 73]


def test_a_copy_that_has_something_else_is_told_with_both_places(planter: Planter) -> None:
    topic = "copied-wrong"
    planter.create(topic)
    planter.create(f"{topic}-2")
    planter.plant(topic, planter.batch(topic, [b"v"] * 3), kek="old")
    planter.plant(f"{topic}-2", planter.batch(topic, [b"w"] * 3), kek="new")

    said = "copied-wrong-2-0 at offset 0 is no copy of copied-wrong-0 at offset 0"
    with pytest.raises(PipelineError, match=said):
        list(copy_of(planter, topic).copied())
    with pytest.raises(PipelineError, match=said):
        list(copy_of(planter, topic).verified())
    assert planter.client.offset(f"{topic}-2", 0, LATEST) == 3


def test_more_than_a_copy_is_no_copy(planter: Planter) -> None:
    topic = "copied-more"
    planter.create(topic)
    planter.create(f"{topic}-2")
    planter.plant(topic, planter.batch(topic, [b"v"]), kek="old")
    list(copy_of(planter, topic).copied())
    planter.plant(f"{topic}-2", planter.batch(topic, [b"v"]), kek="new")

    with pytest.raises(PipelineError, match="copied-more-2-0 has more at offset 1"):
        list(copy_of(planter, topic).verified())
