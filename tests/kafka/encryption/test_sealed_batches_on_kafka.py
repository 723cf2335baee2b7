"""What a real broker does with sealed batches, sent to it directly: every one must open to the client's own batch."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator

import pytest

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.encryption.errors import BrokenSeal
from bifrost.encryption.place import Place
from bifrost.records.codec.client_batch import split_batches
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import (
    AddPartitionsToTxnRequest,
    EndTxnRequest,
    FindCoordinatorRequest,
    InitProducerIdRequest,
    ListOffsetsRequest,
)
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import create_topic, fetch_request, produce_request
from support.encryption.sealing import PLACE, TRANSACTIONAL, opened, produced, sealed, with_header
from support.records.record_columns import CODECS, only_batch

NAMED_PRODUCE, NAMED_FETCH = 12, 12
COUNTS = (1, 2, 65, 300)
NOW_MS = 1_700_000_000_000
ANY_TIME = {"message.timestamp.after.max.ms": str(2**63 - 1), "retention.ms": "-1"}
"""The random records are of any time, and the broker must neither refuse nor expire them."""
STARTING = (
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
)
NO_PRODUCER = {"producer_id": -1, "producer_epoch": -1, "base_sequence": -1}


@pytest.fixture
def client(kafka: EmbeddedKafka) -> Iterator[RawClient]:
    with RawClient(Endpoint("127.0.0.1", kafka.broker_port(1))) as one:
        yield one


def send(client: RawClient, topic: str, data: bytes, transactional_id: str | None = None) -> tuple[int, int]:
    """Produce a batch; return the error code and the offset."""
    request = produce_request(topic, data)
    request.transactional_id = transactional_id
    partition = client.request(request, NAMED_PRODUCE).responses[0].partition_responses[0]
    return partition.error_code, partition.base_offset


def stored(client: RawClient, topic: str, offset: int) -> bytes:
    """Return the batch that the broker has at an offset."""
    answer = client.request(fetch_request(topic, offset=offset), NAMED_FETCH)
    (partition,) = answer.responses[0].partitions
    assert partition.error_code == ErrorCode.NONE
    return bytes(next(split_batches(memoryview(partition.records), is_whole=False)).data)


def producer_of(client: RawClient, transactional_id: str | None = None) -> tuple[int, int]:
    request = InitProducerIdRequest(transactional_id=transactional_id, transaction_timeout_ms=60_000)
    while (answer := client.request(request, 4)).error_code in STARTING:
        # The coordinator of transactions begins when it is asked for.
        if transactional_id is not None:
            client.request(FindCoordinatorRequest(key=transactional_id, key_type=1), 3)
        time.sleep(0.1)
    assert answer.error_code == ErrorCode.NONE
    return answer.producer_id, answer.producer_epoch


def add_to_transaction(client: RawClient, topic: str, producer_id: int, epoch: int) -> None:
    """Add a topic to a transaction, when the one before it has ended."""
    request = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id="sealed-tx",
        v3_and_below_producer_id=producer_id,
        v3_and_below_producer_epoch=epoch,
        v3_and_below_topics=[AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(name=topic, partitions=[0])],
    )
    code = ErrorCode.CONCURRENT_TRANSACTIONS
    while code == ErrorCode.CONCURRENT_TRANSACTIONS:
        (result,) = client.request(request, 3).results_by_topic_v3_and_below
        code = result.results_by_partition[0].partition_error_code
    assert code == ErrorCode.NONE


def as_produced(data: bytes) -> bytes:
    """Return a batch without what a broker gave to it."""
    return with_header(data, base_offset=0, leader_epoch=-1)


@pytest.mark.parametrize("compression", ["producer", "uncompressed", "gzip", "zstd", "lz4", "snappy"])
def test_sealed_batches_of_every_codec_come_back_bit_for_bit(client: RawClient, compression: str) -> None:
    topic = f"sealed-{compression}"
    create_topic(client, topic, configs=ANY_TIME | {"compression.type": compression})
    place, chance = Place("cluster", topic, 0), random.Random(compression)
    producer_id, epoch = producer_of(client)
    sequence, repacked = 0, 0
    for codec in range(len(CODECS)):
        for count in COUNTS:
            data = with_header(
                produced(chance, count, codec),
                producer_id=producer_id,
                producer_epoch=epoch,
                base_sequence=sequence,
            )
            code, offset = send(client, topic, sealed(data, place))
            assert (code, offset) == (ErrorCode.NONE, sequence)
            found = stored(client, topic, offset)
            assert only_batch(found).base_offset == offset
            assert as_produced(opened(found, place)) == data
            repacked += only_batch(found).codec != only_batch(sealed(data, place)).codec
            sequence += count

    assert (repacked > 0) == (compression != "producer")


@pytest.mark.parametrize("compression", ["producer", "zstd", "uncompressed"])
def test_the_time_that_the_broker_appends_by_comes_through(client: RawClient, compression: str) -> None:
    topic = f"sealed-append-time-{compression}"
    configs = {"compression.type": compression, "message.timestamp.type": "LogAppendTime"}
    create_topic(client, topic, configs=ANY_TIME | configs)
    place, chance, offset = Place("cluster", topic, 0), random.Random(1), 0
    for codec in (0, 3, 4):
        for count in COUNTS:
            data = with_header(produced(chance, count, codec), **NO_PRODUCER)
            assert send(client, topic, sealed(data, place)) == (ErrorCode.NONE, offset)
            back = only_batch(opened(stored(client, topic, offset), place))
            assert back.is_log_append_time
            assert back.max_timestamp_ms > NOW_MS
            assert bytes(back.data[61:]) == data[61:]
            assert back.base_timestamp_ms == only_batch(data).base_timestamp_ms
            offset += count


def test_a_retry_that_is_sealed_again_is_recognised_and_a_gap_refused(client: RawClient) -> None:
    topic = "sealed-retries"
    create_topic(client, topic, configs=ANY_TIME)
    place = Place("cluster", topic, 0)
    producer_id, epoch = producer_of(client)
    batches = [
        with_header(
            produced(random.Random(i), 5, 4),
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=5 * i,
        )
        for i in range(4)
    ]
    first = sealed(batches[0], place)
    again = sealed(batches[0], place)
    assert first != again

    assert send(client, topic, first) == (ErrorCode.NONE, 0)
    assert send(client, topic, sealed(batches[1], place)) == (ErrorCode.NONE, 5)
    assert send(client, topic, again) == (ErrorCode.NONE, 0)
    assert send(client, topic, sealed(batches[3], place))[0] == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert send(client, topic, sealed(batches[2], place)) == (ErrorCode.NONE, 10)


def test_sealed_batches_of_a_transaction_are_committed_and_aborted(client: RawClient) -> None:
    topic = "sealed-transactions"
    create_topic(client, topic, configs=ANY_TIME)
    place = Place("cluster", topic, 0)
    producer_id, epoch = producer_of(client, "sealed-tx")
    offsets = []
    for number, is_committed in enumerate((True, False)):
        add_to_transaction(client, topic, producer_id, epoch)
        data = with_header(
            produced(random.Random(number), 7, 4, TRANSACTIONAL),
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=7 * number,
        )
        code, offset = send(client, topic, sealed(data, place), "sealed-tx")
        assert code == ErrorCode.NONE
        end = EndTxnRequest(
            transactional_id="sealed-tx",
            producer_id=producer_id,
            producer_epoch=epoch,
            committed=is_committed,
        )
        assert client.request(end, 3).error_code == ErrorCode.NONE
        offsets.append((offset, data))

    for offset, data in offsets:
        assert as_produced(opened(stored(client, topic, offset), place)) == data


def test_a_batch_that_is_moved_to_another_topic_is_not_opened(client: RawClient) -> None:
    create_topic(client, "sealed-here", configs=ANY_TIME)
    create_topic(client, "sealed-there", configs=ANY_TIME)
    data = with_header(produced(random.Random(1), 5), **NO_PRODUCER)
    here = Place("cluster", "sealed-here", 0)
    assert send(client, "sealed-there", sealed(data, here)) == (ErrorCode.NONE, 0)

    found = stored(client, "sealed-there", 0)

    with pytest.raises(BrokenSeal):
        opened(found, Place("cluster", "sealed-there", 0))
    with pytest.raises(BrokenSeal):
        opened(found, PLACE)


def test_a_look_up_by_time_finds_the_batch_that_has_the_record(client: RawClient) -> None:
    """The broker knows the first and the latest timestamp of a batch; the records' own are inside."""
    topic = "sealed-times"
    create_topic(client, topic, configs=ANY_TIME)
    place, ends, offset = Place("cluster", topic, 0), [], 0
    for number in range(3):
        data = with_header(
            produced(random.Random(number), 4),
            **NO_PRODUCER,
            base_timestamp=NOW_MS + 100 * number,
            max_timestamp=NOW_MS + 100 * number + 50,
        )
        assert send(client, topic, sealed(data, place)) == (ErrorCode.NONE, offset)
        ends.append((NOW_MS + 100 * number + 50, offset))
        offset += 4

    for latest, base_offset in ends:
        for asked in (latest, latest - 20, latest - 50):
            wanted = ListOffsetsRequest.ListOffsetsPartition(partition_index=0, timestamp=asked)
            named = ListOffsetsRequest.ListOffsetsTopic(name=topic, partitions=[wanted])
            answer = client.request(ListOffsetsRequest(replica_id=-1, topics=[named]), 7)
            assert answer.topics[0].partitions[0].offset == base_offset
