"""Sealed batches of virtual partitions, as raw clients and an administrator of the brokers see them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.records.codec.client_batch import split_batches
from bifrost.records.codec.columns import ColumnRecord
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import InitProducerIdRequest, ProduceRequest
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import (
    FETCH_BY_NAME,
    PRODUCE_BY_NAME,
    create_topic,
    fetch_request,
    produce_request,
    records_of,
)
from support.clients.record_batches import TIMESTAMP_MS
from support.encryption.key_files import encryption, write_key_file
from support.encryption.sealing import with_header
from support.gateways.gateway_fixtures import UniqueName
from support.gateways.gateway_process import GLOBEX, GatewayProcess
from support.journal.journal_reader import await_journal, total, usage
from support.physical_names import physical_name
from support.records.record_columns import CODECS, batch_of
from support.virtual_topics import PHYSICAL, RULES, SIZES

JOURNAL = "sealed-virtual"
RECORDS, BATCHES = 3, 4
GROUP_SHIFT = 40
FIRST, SECOND = 1, 1 + PHYSICAL["even"]
"""Two virtual partitions of one physical, which is called as the first is."""
TRANSACTIONAL = 0x10
NO_PRODUCER = (-1, -1, -1)


@pytest.fixture(scope="module")
def sealing(warm: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayProcess]:
    directory = tmp_path_factory.mktemp("sealing")
    key_file = write_key_file(directory / "keks", "payments")

    def adjust(config: dict[str, Any]) -> None:
        config["tenants"][0]["virtual_partitions"] = RULES
        config["tenants"][0]["filters"] = [encryption(key_file, "even-*")]

    journal = {"interval_ms": 300, "snapshot_interval_ms": 500, "partitions": 3, "gateway_id": JOURNAL}
    options: dict[str, Any] = {"tenants": [GLOBEX], "adjust": adjust, "proxy": {"journal": journal}}
    # The tests change what brokers have stored, which is not to be taken from what was fetched before.
    options["limits"] = {"max_shared_fetch_bytes_total": 0}
    with GatewayProcess(directory, warm.bootstrap, **options) as process:
        yield process


@pytest.fixture
def client(sealing: GatewayProcess) -> Iterator[RawClient]:
    with RawClient.authenticated(sealing.broker_endpoint("globex")) as client:
        yield client


@pytest.fixture
def topic(client: RawClient, unique: UniqueName) -> str:
    name = unique("even")
    create_topic(client, name, SIZES["even"])
    return name


def batch(number: int = 0, producer: tuple[int, int, int] = NO_PRODUCER, **options: Any) -> bytes:
    records = [
        ColumnRecord(i, i, b"key of a record", b"value %05d" % (number + i), ((b"h", b"header"),))
        for i in range(RECORDS)
    ]
    return batch_of(records, producer=producer, base_timestamp_ms=TIMESTAMP_MS, **options)


def send(client: RawClient, topic: str, data: bytes, partition: int, **fields: Any) -> int:
    """Produce a batch; return the error."""
    request = produce_request(topic, data, partition=partition)
    for name, field in fields.items():
        setattr(request, name, field)
    answer = client.request(request, PRODUCE_BY_NAME)
    return int(answer.responses[0].partition_responses[0].error_code)


def new_producer(client: RawClient, transactional_id: str | None = None) -> tuple[int, int]:
    request = InitProducerIdRequest(transactional_id=transactional_id, transaction_timeout_ms=60_000)
    for _ in range(100):
        found = client.request(request, 1)
        if not found.error_code:
            break
    assert not found.error_code
    return found.producer_id, found.producer_epoch


def fetched(client: RawClient, topic: str, partition: int, offset: int = 0) -> tuple[int, list[bytes]]:
    """Return the error, and the batches that are no markers, without what a broker gives to them."""
    answer = client.request(fetch_request(topic, partition=partition, offset=offset), FETCH_BY_NAME)
    (found,) = answer.responses[0].partitions
    batches = split_batches(memoryview(found.records or b""), is_whole=False)
    return found.error_code, [bytes(one.data[16:]) for one in batches if not one.is_control]


@pytest.mark.parametrize("codec", range(len(CODECS)))
def test_a_batch_comes_back_bit_for_bit_whoever_sent_it(
    client: RawClient, topic: str, unique: UniqueName, codec: int
) -> None:
    """Without an idempotent producer, with one, and in a transaction, whose sequences the gateway counts anew."""
    own, txn = new_producer(client), unique("txn")
    transactional = new_producer(client, txn)
    for partition in (FIRST, SECOND):
        assert send(client, topic, batch(1, codec=codec), partition) == 0
        assert send(client, topic, batch(2, (*own, 0), codec=codec), partition) == 0
        data = batch(3, (*transactional, 0), codec=codec, attributes=TRANSACTIONAL)
        assert send(client, topic, data, partition, transactional_id=txn) == 0

    for partition in (FIRST, SECOND):
        sent = [
            batch(1, codec=codec),
            batch(2, (*own, 0), codec=codec),
            batch(3, (*transactional, 0), codec=codec, attributes=TRANSACTIONAL),
        ]
        assert fetched(client, topic, partition) == (0, [one[16:] for one in sent])


def test_a_batch_that_was_copied_to_another_virtual_partition_does_not_open(
    client: RawClient, direct: RawClient, topic: str
) -> None:
    """Whatever the administrator writes into its header: the partition is bound."""
    own, physical = new_producer(client), physical_name("globex", topic)
    assert send(client, topic, batch(1, (*own, 0)), FIRST) == 0
    sealed = bytes(next(split_batches(memoryview(records_of(direct, physical, FIRST)), is_whole=False)).data)
    mark = 1 << GROUP_SHIFT

    assert send(direct, physical, with_header(sealed, base_offset=0, producer_id=own[0] + mark), FIRST) == 0
    assert send(direct, physical, sealed, FIRST + 1) == 0

    assert fetched(client, topic, FIRST) == (0, [batch(1, (*own, 0))[16:]])
    assert fetched(client, topic, SECOND, RECORDS) == (ErrorCode.CORRUPT_MESSAGE, [])
    assert fetched(client, topic, FIRST + 1) == (ErrorCode.CORRUPT_MESSAGE, [])
    assert send(client, topic, batch(2), 2 * PHYSICAL["even"] + FIRST) == 0
    found = fetched(client, topic, 2 * PHYSICAL["even"] + FIRST)
    assert found == (0, [batch(2)[16:]]), "others of the physical partition go on"


def test_plaintext_at_the_broker_does_not_reach_a_consumer(
    client: RawClient, direct: RawClient, topic: str
) -> None:
    mark = 1 << GROUP_SHIFT
    assert send(direct, physical_name("globex", topic), batch(1, (7 + mark, 0, 0)), FIRST) == 0

    assert fetched(client, topic, SECOND) == (ErrorCode.CORRUPT_MESSAGE, [])
    assert fetched(client, topic, FIRST) == (0, [])


@pytest.mark.parametrize("partition", [FIRST, SECOND])
def test_batches_that_changed_places_are_an_error(
    client: RawClient, kafka: EmbeddedKafka, topic: str, partition: int
) -> None:
    own = new_producer(client)
    for number in range(BATCHES):
        assert send(client, topic, batch(RECORDS * number, (*own, RECORDS * number)), partition) == 0
    wanted = [batch(RECORDS * number, (*own, RECORDS * number))[16:] for number in range(BATCHES)]
    assert fetched(client, topic, partition) == (0, wanted)
    physical = f"{physical_name('globex', topic)}-{FIRST}"
    [file] = [path for one in kafka.log_dirs for path in one.glob(f"{physical}/*.log")]

    change(file, lambda found: [found[0], found[2], found[1], found[3]])

    code, batches = fetched(client, topic, partition)
    assert (code, batches) == (0, [wanted[0], wanted[2]])
    assert fetched(client, topic, partition, 2 * RECORDS) == (ErrorCode.CORRUPT_MESSAGE, [])


def change(file: Path, order: Callable[[list[bytes]], list[bytes]]) -> None:
    """Change the batches in a file; each gets the offset of its new place."""
    before = [bytes(one.data) for one in split_batches(memoryview(file.read_bytes()), is_whole=False)]
    after = order(before)
    assert [len(one) for one in after] == [len(one) for one in before]
    with file.open("r+b") as opened:
        for old, new in zip(before, after, strict=True):
            opened.write(old[:8] + new[8:])


@pytest.mark.parametrize("is_sealed", [True, False])
def test_the_journal_counts_what_clients_sent_and_got(
    client: RawClient, broker: Endpoint, unique: UniqueName, sealing: GatewayProcess, is_sealed: bool
) -> None:
    """Not what it weighs at the broker."""
    topic = unique("even" if is_sealed else "odd")
    create_topic(client, topic, SIZES["even" if is_sealed else "odd"])
    sent = [batch(1, codec=codec) for codec in range(len(CODECS))]
    for data in sent:
        assert send(client, topic, data, SECOND) == 0
    _, got = fetched(client, topic, SECOND)
    records = fetched_bytes(client, topic, SECOND)

    wanted = {
        "sent": sum(map(len, sent)),
        "records sent": RECORDS * len(sent),
        "got": 2 * records,
    }
    assert [len(one) for one in got] == [len(one) - 16 for one in sent]

    def counted(journal: list[dict[str, Any]]) -> dict[str, int]:
        produced = list(usage(journal, "topic", topic=topic, api="Produce"))
        read = list(usage(journal, "topic", topic=topic, api="Fetch"))
        return {
            "sent": total(produced, "bytes_in"),
            "records sent": total(produced, "records_in"),
            "got": total(read, "bytes_out"),
        }

    journal = await_journal(broker, JOURNAL, lambda found: counted(found) == wanted)
    assert counted(journal) == wanted


def fetched_bytes(client: RawClient, topic: str, partition: int) -> int:
    answer = client.request(fetch_request(topic, partition=partition), FETCH_BY_NAME)
    return len(answer.responses[0].partitions[0].records)


def test_several_batches_for_a_partition_are_refused_whole(client: RawClient, topic: str) -> None:
    assert send(client, topic, batch(1) + batch(2), SECOND) == ErrorCode.INVALID_RECORD
    assert fetched(client, topic, SECOND) == (0, [])


def test_a_request_without_an_answer_is_sealed_too(
    client: RawClient, direct: RawClient, sealing: GatewayProcess, topic: str
) -> None:
    new = ProduceRequest
    data = [new.PartitionProduceData(index=one, records=batch(one)) for one in (FIRST, SECOND)]
    request = new(acks=0, timeout_ms=1000, topic_data=[new.TopicProduceData(name=topic, partition_data=data)])
    with RawClient.authenticated(sealing.broker_endpoint("globex")) as other:
        other.send(request, PRODUCE_BY_NAME)
        for partition in (FIRST, SECOND):
            found = fetched(client, topic, partition)
            while not found[1]:
                found = fetched(client, topic, partition)
            assert found == (0, [batch(partition)[16:]])
    stored = records_of(direct, physical_name("globex", topic), FIRST)
    assert b"value" not in stored
