"""What a dead gateway has sent of a transaction arrives late at a real broker: it is refused, or carries nothing.

The test sends it to the broker itself, as it would have come from the other gateway.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.tenancy.virtual_partitions.tagged_batches import TransactionalBatch
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import EndTxnRequest, ProduceRequest
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.record_batches import build_batch
from support.gateways.gateway_fixtures import UniqueName
from support.gateways.gateway_process import GLOBEX, GatewayProcess
from support.physical_names import physical_name
from support.transactions.raw_producer import PRODUCE_V1, PRODUCE_V2, RawProducer, sharing
from support.virtual_topics import RULES, read

GAP = int(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
END_WITH_EPOCH = 5
"""Version of EndTxn that ends a transaction V2: it raises the epoch."""


@pytest.fixture
def producer(client: RawClient, topic: str, unique: UniqueName) -> RawProducer:
    return RawProducer(client, topic, unique("txn"))


@pytest.fixture
def other(dividing: GatewayProcess, kafka: EmbeddedKafka, tmp_path: Path) -> Iterator[RawClient]:
    """A client of a second gateway before the same brokers."""

    def adjust(config: dict[str, Any]) -> None:
        config["tenants"][0]["virtual_partitions"] = RULES

    options: dict[str, Any] = {"tenants": [GLOBEX], "adjust": adjust}
    with (
        GatewayProcess(tmp_path, kafka.bootstrap, **options) as process,
        RawClient.authenticated(process.broker_endpoint("globex")) as client,
    ):
        yield client


def arrives(
    direct: RawClient, producer: RawProducer, sequence: int, epoch: int, version: int, mark: bytes | None
) -> tuple[int, int]:
    """Let a claim, or else a batch, of a dead gateway arrive at physical partition 0; return the broker's answer."""
    batch = build_batch(
        [b"late"],
        producer_id=producer.producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
        is_transactional=True,
    )
    records = batch if mark is None else TransactionalBatch(batch).claim(sequence, mark)
    new, name = ProduceRequest, physical_name("globex", producer.topic)
    data = new.PartitionProduceData(index=0, records=records)
    request = new(
        transactional_id=physical_name("globex", producer.transactional_id),
        acks=-1,
        timeout_ms=10_000,
        topic_data=[new.TopicProduceData(name=name, partition_data=[data])],
    )
    (answer,) = direct.request(request, version).responses
    return answer.partition_responses[0].error_code, answer.partition_responses[0].base_offset


@pytest.fixture(params=[PRODUCE_V1, PRODUCE_V2])
def version(request: pytest.FixtureRequest, client: RawClient) -> int:
    if client.newest(ApiKey.PRODUCE) < request.param:
        pytest.skip("the broker does not have this version of Produce")
    return int(request.param)


def test_a_claim_of_a_dead_gateway_aborts_the_transaction(
    producer: RawProducer, direct: RawClient, endpoint: Endpoint, unique: UniqueName, version: int
) -> None:
    one, two = sharing(producer.topic)
    producer.add(one, two)
    assert arrives(direct, producer, 0, producer.epoch, version, b"d" * 16)[0] == 0
    told = {producer.send({partition: (0, [b"never"])}, version)[partition][0] for partition in (one, two)}
    is_v2 = version == PRODUCE_V2
    assert told == {ErrorCode.TRANSACTION_ABORTABLE if is_v2 else ErrorCode.INVALID_PRODUCER_EPOCH}

    producer.begin_epoch()
    producer.add(one, two)
    found = producer.send({one: (0, [b"a"]), two: (0, [b"b"])}, version)
    assert {code for code, _ in found.values()} == {0}
    assert producer.end(is_commit=True) == 0
    assert read(endpoint, producer.topic, unique("group"), 2) == {one: ["a"], two: ["b"]}


def test_what_is_late_is_a_repetition_of_the_claim_or_refused(
    producer: RawProducer, direct: RawClient, endpoint: Endpoint, unique: UniqueName, version: int
) -> None:
    one, two = sharing(producer.topic)
    producer.add(one, two)
    (first,) = producer.send({one: (0, [b"a", b"b"])}, version).values()
    assert first[0] == 0
    claim_offset = first[1] - 1
    late = [arrives(direct, producer, 0, producer.epoch, version, mark) for mark in (b"d" * 16, None)]
    assert late == [(0, claim_offset)] * 2, "the broker takes both for the claim that it has"
    found = [producer.send({two: (sequence, [b"c"])}, version)[two] for sequence in range(5)]
    assert {code for code, _ in found} == {0}
    gap = arrives(direct, producer, 0, producer.epoch, version, b"d" * 16)
    assert gap == (GAP, -1)

    assert producer.end(is_commit=True) == 0
    assert read(endpoint, producer.topic, unique("group"), 7) == {one: ["a", "b"], two: ["c"] * 5}


def test_the_epoch_of_a_later_transaction_refuses_what_is_late(
    producer: RawProducer, direct: RawClient, endpoint: Endpoint, unique: UniqueName
) -> None:
    """Transactions V2: the marker raises the epoch at the broker."""
    if producer.client.newest(ApiKey.END_TXN) < END_WITH_EPOCH:
        pytest.skip("the broker does not have transactions V2")
    one, _ = sharing(producer.topic)
    values = []
    for number in range(2):
        (first,) = producer.send({one: (0, [b"%d" % number])}, PRODUCE_V2).values()
        assert first[0] == 0
        request = EndTxnRequest(
            transactional_id=producer.transactional_id,
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            committed=True,
        )
        ended = producer.client.request(request, END_WITH_EPOCH)
        assert (ended.error_code, ended.producer_epoch) == (0, producer.epoch + 1)
        old, producer.epoch = producer.epoch, ended.producer_epoch
        # The answer to EndTxn may come before the marker: until then there is a gap.
        told = {GAP}
        while told == {GAP}:
            told = {arrives(direct, producer, 9, old, PRODUCE_V2, None)[0]}
        assert told == {ErrorCode.INVALID_PRODUCER_EPOCH}
        for sequence, mark in ((2, None), (0, b"d" * 16)):
            code, _ = arrives(direct, producer, sequence, old, PRODUCE_V2, mark)
            assert code == ErrorCode.INVALID_PRODUCER_EPOCH
        values.append(str(number))
    assert read(endpoint, producer.topic, unique("group"), 2) == {one: values}


def test_a_late_claim_between_gateways_carries_nothing(
    producer: RawProducer, other: RawClient, direct: RawClient, endpoint: Endpoint, unique: UniqueName
) -> None:
    """Transactions V1: the second gateway has begun the next transaction of the epoch when the first one's arrives."""
    one, two = sharing(producer.topic)
    producer.add(one, two)
    assert producer.send({one: (0, [b"a"])})[one][0] == 0
    assert producer.end(is_commit=True) == 0
    producer.add(one, two)
    code, offset = producer.send({two: (0, [b"b"])}, client=other)[two]
    assert code == 0
    late = arrives(direct, producer, 2, producer.epoch, PRODUCE_V1, b"d" * 16)
    assert late == (0, offset - 1)

    assert producer.send({one: (1, [b"c"])}, client=other)[one][0] == 0
    assert producer.end(is_commit=True) == 0
    assert read(endpoint, producer.topic, unique("group"), 3) == {one: ["a", "c"], two: ["b"]}
