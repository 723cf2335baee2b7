"""What clients produce to topics with virtual partitions and filters: filters see what they send."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

import pytest

from bifrost.encryption.sealed_batch import seal_batch
from bifrost.filters.records.tenant_records import TenantRecords
from bifrost.filters.records.topic_way import TopicWay
from bifrost.filters.records.transform_meter import TIME, TransformKey
from bifrost.filters.virtual.division import copied
from bifrost.filters.virtual.partition_way import PartitionWay
from bifrost.filters.virtual.virtual_topics import TenantVirtualTopics
from bifrost.forwarding.lane_names import lane_names
from bifrost.records.codec.columns import ColumnRecord, Header
from bifrost.session.close_reason import CloseReason
from bifrost.tenancy.virtual_partitions.partition_map import PartitionMap
from bifrost.tenancy.virtual_partitions.partition_rules import PartitionRule
from bifrost.tenancy.virtual_partitions.tagged_batches import TransactionalBatch
from bifrost.transforms.record_transform import (
    Direction,
)
from bifrost.transforms.transform_kind import TransformKind
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.entity import Entity
from bifrost.wire.error_codes import ErrorCode
from support.physical_names import physical_name
from support.records.needing import AtHand, NeedsText
from support.records.record_columns import batch_of, only_batch, plenty
from support.stage import messages
from support.stage.divided import divided
from support.stage.divided_records import IDEMPOTENT, NO_PRODUCER, batch, marked, met, use
from support.stage.filtered import filtered, headers, policy
from support.stage.on_ways import next_dek, on_ways, place_of, sealing
from support.stage.playbook import broker_answers, client_sends, ends, to_broker, to_client
from support.stage.refused_records import answers, refused
from support.stage.stage import PORTS, Stage
from support.transactions import stage_messages as transaction

ORDERS, BILLING = physical_name("acme", "orders"), physical_name("acme", "billing")
ON_ORDERS = {"topics": ["orders"]}
REGION = {"add": [{"key": "region", "value": "eu"}]}
ADDED: Header = (b"region", b"eu")
VERSION = 9


def sent(topic: str, records: dict[int, bytes], **fields: Any) -> Any:
    data = [{"index": index, "records": one} for index, one in records.items()]
    topics = [{"name": topic, "partition_data": data}]
    return messages.build("ProduceRequest", {"acks": -1, "timeout_ms": 1500, "topic_data": topics, **fields})


def answered(topic: str, offsets: dict[int, int | dict[str, object]]) -> Any:
    return answers(
        (topic, {one: {"base_offset": at} if isinstance(at, int) else at for one, at in offsets.items()})
    )


def given(producer_id: int) -> Any:
    return messages.build("InitProducerIdResponse", {"producer_id": producer_id, "producer_epoch": 0})


ASKS_FOR_ID = messages.build(
    "InitProducerIdRequest", {"transactional_id": None, "transaction_timeout_ms": 60_000}
)


def test_filters_change_records_before_they_are_divided(stage: Stage) -> None:
    divided(stage, "orders")
    filtered(stage, headers(ON_ORDERS, **REGION))
    after = batch(ADDED)

    assert (
        stage.play()
        >> client_sends(sent("orders", {0: batch(), 2: batch(), 3: batch()}), VERSION)
        << to_broker(sent(ORDERS, {0: after, 1: marked(after, 1)}))
        << to_broker(sent(ORDERS, {0: marked(after, 1)}))
        >> broker_answers(answered(ORDERS, {0: 10, 1: 13}))
        >> broker_answers(answered(ORDERS, {0: 12}))
        << to_client(answered("orders", {0: 10, 3: 13, 2: 12}))
    )


@pytest.mark.parametrize("topic", ["orders", "billing", "events"])
def test_only_topics_of_no_filter_take_the_way_of_virtual_partitions(stage: Stage, topic: str) -> None:
    """Nor do records of a topic with virtual partitions take the way of its transforms' compiled steps."""
    virtual = TenantVirtualTopics(
        [PartitionRule(("orders", "billing"), PartitionMap(5, 2))], wall_s=time.time
    )
    found, _ = on_ways(stage, sealing("orders", "events"))
    namespace = stage.namespaces["acme"]
    divided_topics = virtual.topics(namespace, None)
    for know in (divided_topics, None):
        records = found.topics(namespace, "alice", None, know)
        assert records is not None
        names = lane_names(namespace, PORTS, None, records, divided_topics)
        way = names.of_api(ApiKey.PRODUCE).to_physical.missing(Entity.TOPIC_NAME, topic.encode())
        assert type(way) is {"billing": PartitionWay, "events": TopicWay}.get(topic, type(None))
        stored = physical_name("acme", topic).encode()
        way = names.of_api(ApiKey.FETCH).to_virtual.missing(Entity.TOPIC_NAME, stored)
        assert type(way) is (TopicWay if topic == "events" else type(None))


def test_what_a_filter_rejects_is_told_for_its_virtual_partition(stage: Stage) -> None:
    divided(stage, "orders")
    filtered(stage, policy(ON_ORDERS, require_key=True))
    why = (ErrorCode.INVALID_RECORD, "One or more records have been rejected")
    told = refused(*why, (0, "policy: the record has no key"))

    assert (
        stage.play()
        >> client_sends(sent("orders", {0: batch(), 2: batch(key=None), 4: batch()}), VERSION)
        << to_broker(sent(ORDERS, {0: batch()}))
        << to_broker(sent(ORDERS, {0: marked(batch(), 2)}))
        >> broker_answers(answered(ORDERS, {0: 10}))
        >> broker_answers(answered(ORDERS, {0: 12}))
        << to_client(answered("orders", {0: 10, 4: 12, 2: told}))
    )


def test_a_rejection_without_an_answer_closes_the_connection(stage: Stage) -> None:
    divided(stage, "orders")
    filtered(stage, policy(ON_ORDERS, require_key=True))
    request = sent("orders", {0: batch(), 2: batch(key=None)}, acks=0)

    assert (
        stage.play()
        >> client_sends(request, VERSION)
        << ends(
            CloseReason.UNSUPPORTED,
            "a Produce without an answer has records that must not pass",
        )
    )


def test_a_request_that_asks_the_broker_is_counted_once(stage: Stage) -> None:
    divided(stage, "orders")
    records = filtered(stage, headers(ON_ORDERS, **REGION))
    plain, after = batch(producer=NO_PRODUCER), batch(ADDED, producer=NO_PRODUCER)

    assert (
        stage.play()
        >> client_sends(sent("orders", {2: plain}), VERSION)
        << to_broker(ASKS_FOR_ID)
        >> broker_answers(given(4000))
        << to_broker(sent(ORDERS, {0: marked(after, 1, 4000, 0)}))
        >> broker_answers(answered(ORDERS, {0: 10}))
        << to_client(answered("orders", {2: 10}))
    )
    assert counted(records) == {"batches": 1, "records": 1, "rejections": 0}


def counted(records: TenantRecords) -> dict[str, int]:
    """What the transforms have counted, but for the time."""
    found: Counter[TransformKey] = records.process.counts
    return {key.number: n for key, n in found.items() if key.number != TIME}


def test_a_request_waits_for_its_filters_and_then_for_the_broker(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the filters have got is there when the broker has answered: it is not asked for once more."""
    records = use(TransformKind(frozenset(Direction), lambda *_: NeedsText()), stage, monkeypatch)
    records.process.sources = AtHand({})
    plain, after = batch(value=b"a", producer=NO_PRODUCER), batch(value=b"b", producer=NO_PRODUCER)

    assert (
        stage.play()
        >> client_sends(sent("orders", {2: plain}), VERSION)
        >> met({"a": b"b"})
        << to_broker(ASKS_FOR_ID)
        >> broker_answers(given(4000))
        << to_broker(sent(ORDERS, {0: marked(after, 1, 4000, 0)}))
        >> broker_answers(answered(ORDERS, {0: 10}))
        << to_client(answered("orders", {2: 10}))
    )


def test_batches_of_transactions_are_filtered_and_claims_are_not(stage: Stage) -> None:
    divided(stage, "orders")
    filtered(stage, headers(ON_ORDERS, **REGION))
    one = batch(attributes=0x10, producer=(7, 1, 0))
    after = batch(ADDED, attributes=0x10, producer=(7, 1, 0))
    claim = TransactionalBatch(after).claim(0, transaction.marks(stage)[0])

    assert (
        stage.play()
        >> client_sends(transaction.sent("orders", {4: one}), 12)
        << to_broker(transaction.claims({0: claim}))
        >> broker_answers(transaction.answered(ORDERS, {0: 9}))
        << to_broker(transaction.reads((0, 9)))
        >> broker_answers(transaction.stored((0, 0, claim)))
        << to_broker(transaction.at_broker({0: transaction.tagged(after, 2, 1)}))
        >> broker_answers(transaction.answered(ORDERS, {0: 10}))
        << to_client(transaction.answered("orders", {4: 10}))
    )


def test_a_request_for_topics_of_both_ways_is_decoded(stage: Stage, decoded: list[str]) -> None:
    """One has virtual partitions, the other is sealed by compiled code; a message has one kind of way."""
    divided(stage, "orders")
    on_ways(stage, sealing("billing", mode="values"))
    values = [ColumnRecord(0, 0, b"k", None)]
    one = batch_of(values, producer=IDEMPOTENT)
    topics = [
        {"name": name, "partition_data": [{"index": index, "records": one}]}
        for name, index in (("orders", 3), ("billing", 0))
    ]
    at_broker = sent(ORDERS, {1: marked(one, 1)}), sent(BILLING, {0: one})
    for order in (1, -1):
        request = messages.build(
            "ProduceRequest", {"acks": -1, "timeout_ms": 1500, "topic_data": topics[::order]}
        )
        book = stage.play()
        decoded.clear()
        book = book >> client_sends(request, VERSION)
        assert "ProduceRequest" in decoded
        both = [topic for message in at_broker[::order] for topic in message.topic_data]
        stored = [(ORDERS, {1: {"base_offset": 10}}), (BILLING, {0: {"base_offset": 9}})]
        told = [("orders", {3: {"base_offset": 10}}), ("billing", {0: {"base_offset": 9}})]
        assert (
            book
            << to_broker(copied(at_broker[0], topic_data=both))
            >> broker_answers(answers(*stored[::order]))
            << to_client(answers(*told[::order]))
        )


def test_a_sealed_batch_is_bound_to_its_virtual_partition(stage: Stage) -> None:
    divided(stage, "orders")
    _, keys = on_ways(stage, sealing("orders"))
    records = [ColumnRecord(0, 0, b"k", b"a secret")]
    one = batch_of(records, producer=IDEMPOTENT)

    def sealed(partition: int) -> bytes:
        binding = place_of("orders", partition).binding
        return seal_batch(only_batch(one), binding, next_dek(), plenty(), is_virtual=True)

    for partition, group, physical in ((0, 0, 0), (3, 1, 1), (4, 2, 0)):
        keys.writing = next_dek()
        assert (
            stage.play()
            >> client_sends(sent("orders", {partition: one}), VERSION)
            << to_broker(sent(ORDERS, {physical: marked(sealed(partition), group)}))
            >> broker_answers(answered(ORDERS, {physical: 10}))
            << to_client(answered("orders", {partition: 10}))
        )
