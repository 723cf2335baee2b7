"""Transactions on virtual partitions when answers, connections or gateways are lost, request by request."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import (
    DescribeProducersRequest,
    DescribeTransactionsRequest,
)
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.gateways.gateway_fixtures import UniqueName
from support.gateways.gateway_process import GLOBEX, GatewayProcess
from support.transactions.raw_producer import PRODUCE_V1, PRODUCE_V2, RawProducer, sharing
from support.virtual_topics import PHYSICAL, RULES, read, size_of


@pytest.fixture
def producer(client: RawClient, topic: str, unique: UniqueName) -> RawProducer:
    return RawProducer(client, topic, unique("txn"))


@pytest.fixture
def other(dividing: GatewayProcess, kafka: EmbeddedKafka, tmp_path: Path) -> Iterator[RawClient]:
    """A client of a second gateway before the same brokers."""
    options: dict[str, Any] = {"tenants": [GLOBEX], "adjust": _with_virtual_partitions}
    with (
        GatewayProcess(tmp_path, kafka.bootstrap, **options) as process,
        RawClient.authenticated(process.broker_endpoint("globex")) as client,
    ):
        yield client


def _with_virtual_partitions(config: dict[str, Any]) -> None:
    config["tenants"][0]["virtual_partitions"] = RULES


def test_virtual_partitions_of_one_request_stay_two_and_a_repetition_is_one(
    producer: RawProducer, endpoint: Endpoint, dividing: GatewayProcess, unique: UniqueName
) -> None:
    one, two = sharing(producer.topic)
    producer.add(one, two)
    batches = {two: (0, [b"c"]), one: (0, [b"a", b"b"])}
    first = producer.send(batches)
    again = producer.send({one: (2, [b"d"])})
    with RawClient.authenticated(dividing.broker_endpoint("globex")) as reconnected:
        repeated = producer.send(batches, client=reconnected)
        gap = producer.send({two: (2, [b"never"])}, client=reconnected)

    assert {code for code, _ in (*first.values(), *again.values())} == {0}
    assert len({offset for _, offset in (*first.values(), *again.values())}) == 3
    assert repeated == first
    assert gap[two][0] == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert producer.end(is_commit=True) == 0
    assert read(endpoint, producer.topic, unique("group"), 4) == {one: ["a", "b", "d"], two: ["c"]}


@pytest.mark.parametrize("version", [PRODUCE_V1, PRODUCE_V2])
def test_another_gateway_in_the_middle_of_a_transaction_aborts_it(
    producer: RawProducer, endpoint: Endpoint, other: RawClient, unique: UniqueName, version: int
) -> None:
    if other.newest(ApiKey.PRODUCE) < version:
        pytest.skip("the broker does not have this version of Produce")
    one, two = sharing(producer.topic)
    producer.add(one, two)
    assert producer.send({one: (0, [b"lost"])}, version)[one][0] == 0
    told = {
        partition: producer.send({partition: (sequence, [b"lost"])}, version, other)[partition][0]
        for partition, sequence in ((one, 1), (two, 0), (one, 0))
    }
    is_v2 = version == PRODUCE_V2
    expected = ErrorCode.TRANSACTION_ABORTABLE if is_v2 else ErrorCode.INVALID_PRODUCER_EPOCH
    assert set(told.values()) == {expected}

    producer.begin_epoch()
    producer.add(one, two)
    found = producer.send({one: (0, [b"a"]), two: (0, [b"b"])}, version, other)
    assert {code for code, _ in found.values()} == {0}
    assert producer.end(is_commit=True) == 0
    assert read(endpoint, producer.topic, unique("group"), 2) == {one: ["a"], two: ["b"]}


def test_another_gateway_goes_on_between_two_transactions(
    producer: RawProducer, endpoint: Endpoint, other: RawClient, unique: UniqueName
) -> None:
    one, two = sharing(producer.topic)
    for round_number, client in enumerate([producer.client, other, producer.client]):
        producer.add(one, two)
        values = [b"%d" % round_number]
        found = producer.send({one: (round_number, values)}, client=client)
        found |= producer.send({two: (round_number, values)}, client=client)
        assert {code for code, _ in found.values()} == {0}
        assert producer.end(is_commit=True) == 0

    everything = ["0", "1", "2"]
    assert read(endpoint, producer.topic, unique("group"), 6) == {one: everything, two: everything}


def test_a_transaction_is_shown_with_its_virtual_partitions(producer: RawProducer) -> None:
    one, two = sharing(producer.topic)
    producer.add(one)
    producer.send({one: (0, [b"a"])})
    request = DescribeTransactionsRequest(transactional_ids=[producer.transactional_id])
    (shown,) = producer.client.request(request, 0).transaction_states
    new = DescribeProducersRequest
    topics = [new.TopicRequest(name=producer.topic, partition_indexes=[one, two, 1])]
    (described,) = producer.client.request(new(topics=topics), 0).topics
    producers = {
        part.partition_index: [active.producer_id for active in part.active_producers]
        for part in described.partitions
    }

    physical = PHYSICAL[producer.topic.partition("-")[0]]
    assert [(topic.topic, topic.partitions) for topic in shown.topics] == [
        (producer.topic, list(range(0, size_of(producer.topic), physical)))
    ]
    assert producers == {one: [producer.producer_id], two: [producer.producer_id], 1: []}
    assert producer.end(is_commit=False) == 0
