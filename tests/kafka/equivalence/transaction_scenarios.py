"""What transactional producers ask for."""

from __future__ import annotations

from typing import Any

from data_scenarios import ABSENT, DATA, data
from share_scenarios import settled

from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import (
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    DescribeProducersRequest,
    DescribeTransactionsRequest,
    EndTxnRequest,
    InitProducerIdRequest,
    ListTransactionsRequest,
    TxnOffsetCommitRequest,
)
from support.clients.raw_operations import await_offset, fetch_request, produce_request
from support.clients.record_batches import build_batch
from support.forgery.worlds import World

_INIT, _ADD_PARTITIONS, _ADD_OFFSETS, _COMMIT_OFFSETS, _END = 4, 3, 3, 3, 3
"""Versions in which scenarios about something else do these; Produce below v12 as well: transactions V1."""


def _init(world: World, transactional_id: str | None, version: int = _INIT, **fields: Any) -> Any:
    request = InitProducerIdRequest(
        transactional_id=transactional_id, transaction_timeout_ms=30_000, **fields
    )
    return world.ask_when_settled(request, version)


def init_producer_id(world: World, version: int) -> None:
    first = _init(world, f"eq-init-{version}", version)
    if first.error_code == ErrorCode.UNSUPPORTED_VERSION:
        return
    again = _init(world, f"eq-init-{version}", version)
    assert (again.producer_id, again.producer_epoch) == (first.producer_id, first.producer_epoch + 1)
    _init(world, None, version)
    _init(world, "", version)
    if version >= 3:
        fenced = {"producer_id": first.producer_id, "producer_epoch": first.producer_epoch}
        _init(world, f"eq-init-{version}", version, **fenced)


def _add_partitions(
    world: World, transactional_id: str, producer: Any, topics: list[str], version: int = _ADD_PARTITIONS
) -> Any:
    named = [
        AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(name=topic, partitions=[0]) for topic in topics
    ]
    request = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=transactional_id,
        v3_and_below_producer_id=producer.producer_id,
        v3_and_below_producer_epoch=producer.producer_epoch,
        v3_and_below_topics=named,
    )
    return world.ask(request, version)


def _end(
    world: World, transactional_id: str, producer: Any, version: int = _END, committed: bool = True
) -> Any:
    request = EndTxnRequest(
        transactional_id=transactional_id,
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        committed=committed,
    )
    return world.ask_when_settled(request, version)


def add_partitions_to_txn(world: World, version: int) -> None:
    data(world)
    transactional_id = f"eq-add-{version}"
    producer = _init(world, transactional_id)
    _add_partitions(world, transactional_id, producer, [DATA, ABSENT], version)
    added = _add_partitions(world, transactional_id, producer, [DATA], version)
    partition = added.results_by_topic_v3_and_below[0].results_by_partition[0]
    assert partition.partition_error_code == ErrorCode.NONE
    _add_partitions(world, "eq-unknown", producer, [DATA], version)
    _end(world, transactional_id, producer)


def end_txn(world: World, version: int) -> None:
    topic, transactional_id = f"eq-transaction-{version}", f"eq-end-{version}"
    world.topic(topic)
    for committed in (True, False):
        producer = _produce_in_transaction(world, transactional_id, topic)
        ended = _end(world, transactional_id, producer, version, committed)
        assert ended.error_code == ErrorCode.NONE, world.answers
    producer.producer_epoch = 0
    _end(world, transactional_id, producer, version)


def _produce_in_transaction(world: World, transactional_id: str, topic: str) -> Any:
    producer = _init(world, transactional_id)
    _add_partitions(world, transactional_id, producer, [topic])
    batch = build_batch(
        [b"in a transaction"],
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        base_sequence=0,
        is_transactional=True,
    )
    request = produce_request(topic, batch)
    request.transactional_id = transactional_id
    produced = world.ask(request, 11)
    assert produced.responses[0].partition_responses[0].error_code == ErrorCode.NONE, produced
    return producer


def add_offsets_to_txn(world: World, version: int) -> None:
    transactional_id = f"eq-add-offsets-{version}"
    producer = _init(world, transactional_id)
    for name in (transactional_id, "eq-unknown", ""):
        request = AddOffsetsToTxnRequest(
            transactional_id=name,
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            group_id=f"eq-group-{version}",
        )
        world.ask(request, version)
    _end(world, transactional_id, producer)


def txn_offset_commit(world: World, version: int) -> None:
    data(world)
    transactional_id, group_id = f"eq-offsets-{version}", f"eq-txn-group-{version}"
    producer = _init(world, transactional_id)
    add = AddOffsetsToTxnRequest(
        transactional_id=transactional_id,
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        group_id=group_id,
    )
    world.ask(add, _ADD_OFFSETS)
    for topic in (DATA, ABSENT):
        partition = TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition(
            partition_index=0, committed_offset=5, committed_metadata="m"
        )
        request = TxnOffsetCommitRequest(
            transactional_id=transactional_id,
            group_id=group_id,
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            topics=[TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic(name=topic, partitions=[partition])],
        )
        world.ask(request, version)
    _end(world, transactional_id, producer)


def fetch_of_transactions(world: World, version: int) -> None:
    """A read-committed consumer is told which transactions were aborted."""
    topic = "eq-transactions"
    if not world.has_topic(topic):
        world.topic(topic)
        for committed in (True, False, True):
            producer = _produce_in_transaction(world, topic, topic)
            _end(world, topic, producer, committed=committed)
        _produce_in_transaction(world, topic, topic)
        # Three records with their markers are stable, the last record is not.
        await_offset(world.admin, topic, 6, isolation_level=1)
        world.answers.clear()
    for isolation_level in (0, 1):
        request = fetch_request(topic, topic_id=world.id_of(topic))
        request.isolation_level = isolation_level
        world.ask(request, version)


def describe_transactions(world: World, version: int) -> None:
    world.topic("eq-described-transaction")
    producer = _produce_in_transaction(world, "eq-described", "eq-described-transaction")
    ids = ["eq-described", "eq-unknown"]
    answer = world.ask(DescribeTransactionsRequest(transactional_ids=ids), version)
    assert {state.transaction_state for state in answer.transaction_states} >= {"Ongoing"}
    for state in answer.transaction_states:
        # When it began, by the clock.
        assert (state.transaction_start_time_ms > 0) == (state.transaction_state == "Ongoing")
        state.transaction_start_time_ms = 0
    _end(world, "eq-described", producer)


def list_transactions(world: World, version: int) -> None:
    world.topic("eq-listed-transaction")
    world.prefix = f"eq-listed-{version}"
    ids = [f"{world.prefix}-{number}" for number in range(2)]
    producers = [_produce_in_transaction(world, one, "eq-listed-transaction") for one in ids]
    _end(world, ids[1], producers[1])
    listed = settled(
        world,
        lambda: world.ask(ListTransactionsRequest(), version),
        lambda answer: not any(one.transaction_state == "PrepareCommit" for one in answer.transaction_states),
    )
    assert set(ids) <= {state.transactional_id for state in listed.transaction_states}
    world.ask(ListTransactionsRequest(state_filters=["Ongoing", "NoSuchState"]), version)
    world.ask(ListTransactionsRequest(producer_id_filters=[producers[0].producer_id]), version)
    if version >= 1:
        world.ask(ListTransactionsRequest(duration_filter=3_600_000), version)
    for pattern in (
        ("", rf"^{world.prefix}-[0-9]$", f"{world.prefix}-1|x", ".*-0", "eq-(") if version >= 2 else ()
    ):
        answer = world.ask(ListTransactionsRequest(transactional_id_pattern=pattern), version)
        assert (answer.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION) == (pattern == "eq-(")
    _end(world, ids[0], producers[0])


def describe_producers(world: World, version: int) -> None:
    topic = "eq-described-producers"
    world.topic(topic)
    producer = _produce_in_transaction(world, topic, topic)
    for name, partitions in ((topic, [0, 7]), (ABSENT, [0])):
        named = DescribeProducersRequest.TopicRequest(name=name, partition_indexes=partitions)
        world.ask(DescribeProducersRequest(topics=[named]), version)
    _end(world, topic, producer)
