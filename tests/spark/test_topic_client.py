"""The client of jobs over stored batches, and what it reads of ranges of offsets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.pipeline.errors import PipelineError
from bifrost.pipeline.stored.topic_client import EARLIEST, LATEST, DeletedOffset, Topic, TopicClient
from bifrost.pipeline.stored.topic_log import OffsetRange, read_range
from bifrost.wire.messages import DeleteRecordsRequest
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.encryption.sealing import with_header
from support.records.stored_batches import BEGIN_MS, Planter, settings_of, write_keks


@pytest.fixture
def planter(kafka: EmbeddedKafka, tmp_path: Path) -> Iterator[Planter]:
    planter = Planter(kafka.bootstrap, write_keks(tmp_path / "keks", ("a", 1)))
    with planter.client:
        yield planter


def last_offsets(client: TopicClient, topic: str, start: int, end: int) -> list[int]:
    ranges = read_range(client, OffsetRange(topic, 0, start, end))
    return [batch.last_offset for step in ranges for batch in step.batches]


def test_batches_are_read_as_they_were_written(planter: Planter) -> None:
    planter.create("client-bytes")
    written = [planter.batch("client-bytes", [b"v"] * count, codec=count % 5) for count in range(1, 6)]
    offsets = [planter.plant("client-bytes", one) for one in written]

    (step,) = read_range(planter.client, OffsetRange("client-bytes", 0, 0, 15))

    assert [one.base_offset for one in step.batches] == offsets == [0, 1, 3, 6, 10]
    found = [with_header(bytes(one.data), base_offset=0, leader_epoch=-1) for one in step.batches]
    assert found == written
    assert {one.timestamp_ms for one in step.batches} == {BEGIN_MS + count for count in range(5)}


def test_ranges_beside_each_other_have_each_batch_once(planter: Planter) -> None:
    planter.create("client-ranges")
    for _ in range(3):
        planter.plant("client-ranges", planter.batch("client-ranges", [b"v"] * 4))

    parts = [last_offsets(planter.client, "client-ranges", start, start + 3) for start in (0, 3, 6, 9)]

    assert parts == [[], [3], [7], [11]]


def test_what_retention_deleted_is_passed_over_or_an_error(planter: Planter, kafka: EmbeddedKafka) -> None:
    planter.create("client-deleted")
    for _ in range(3):
        planter.plant("client-deleted", planter.batch("client-deleted", [b"v"] * 4))
    partition = DeleteRecordsRequest.DeleteRecordsPartition(partition_index=0, offset=6)
    named = DeleteRecordsRequest.DeleteRecordsTopic(name="client-deleted", partitions=[partition])
    with RawClient(Endpoint("127.0.0.1", kafka.broker_port(1))) as raw:
        raw.request(DeleteRecordsRequest(topics=[named], timeout_ms=10_000), 1)

    client = planter.client
    assert [client.offset("client-deleted", 0, one) for one in (EARLIEST, LATEST)] == [6, 12]
    assert last_offsets(client, "client-deleted", 0, 12) == [7, 11]
    with pytest.raises(DeletedOffset):
        client.fetch("client-deleted", 0, 0)
    with pytest.raises(PipelineError, match="no offset 0 any more"):
        list(read_range(client, OffsetRange("client-deleted", 0, 0, 12), skips_deleted=False))


def test_topics_are_described_and_created_with_their_configs(planter: Planter) -> None:
    planter.create("client-made", 3, cleanup_policy="compact")

    assert planter.client.topics(["client-made"]) == [Topic("client-made", 3, False, 1)]
    assert planter.client.configs("client-made")["cleanup.policy"] == "compact"
    assert planter.client.is_compacted("client-made")
    assert planter.client.cluster_id
    with pytest.raises(PipelineError, match="TOPIC_ALREADY_EXISTS"):
        planter.create("client-made")
    with pytest.raises(PipelineError, match="client-none: UNKNOWN_TOPIC_OR_PARTITION"):
        planter.client.topics(["client-none"])


def test_a_batch_that_the_broker_refuses_is_an_error_with_its_code(planter: Planter) -> None:
    planter.create("client-refused")
    spoilt = bytearray(planter.batch("client-refused", [b"v"]))
    spoilt[-1] ^= 1

    with pytest.raises(PipelineError, match="client-refused-0: CORRUPT_MESSAGE"):
        planter.client.produce("client-refused", 0, bytes(spoilt))


def test_brokers_that_do_not_answer_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bifrost.pipeline.stored.topic_client.PAUSE_S", 0)
    with (
        TopicClient(settings_of("127.0.0.1:1")) as client,
        pytest.raises(PipelineError, match="Connection refused; check --bootstrap-servers"),
    ):
        client.topics()
