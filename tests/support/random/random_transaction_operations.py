"""The state machine's transactions; see random_operations.py."""

from __future__ import annotations

from typing import Any

from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import (
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    DescribeTransactionsRequest,
    EndTxnRequest,
    InitProducerIdRequest,
    ListTransactionsRequest,
    TxnOffsetCommitRequest,
)
from support.clients.raw_operations import fetch_request, produce_request
from support.clients.record_batches import build_batch
from support.random.random_operations import settled
from support.random.state_machine import Machine, Operation, Play, Player


def transaction(machine: Machine) -> Play:
    """One transaction with records and offsets, committed or aborted; V1 with its own steps, or V2 without."""
    rng = machine.rng
    topic = machine.topic()
    partition = rng.randrange(topic.partitions)
    is_v2 = rng.random() < 0.5
    transactional_id = machine.prefix + ("v2-" if is_v2 else "v1-") + str(rng.randint(1, 3))
    init = machine.version(ApiKey.INIT_PRODUCER_ID, high=5)
    add = machine.version(ApiKey.ADD_PARTITIONS_TO_TXN, high=3)
    add_offsets = machine.version(ApiKey.ADD_OFFSETS_TO_TXN, high=3)
    produce = (
        machine.version(ApiKey.PRODUCE, low=12) if is_v2 else machine.version(ApiKey.PRODUCE, low=3, high=11)
    )
    commit = 5 if is_v2 else machine.version(ApiKey.TXN_OFFSET_COMMIT, high=3)
    end = 5 if is_v2 else machine.version(ApiKey.END_TXN, high=4)
    committed = rng.random() < 0.6
    group_id = machine.name("txn-group") if rng.random() < 0.5 else None
    fetch = machine.version(ApiKey.FETCH, low=4)

    def play(player: Player) -> None:  # a transcript
        request = InitProducerIdRequest(transactional_id=transactional_id, transaction_timeout_ms=60_000)
        producer = player.ask_when_settled(request, init)
        # How often it was bumped before depends on what the broker did in the background.
        who = {
            "transactional_id": transactional_id,
            "producer_id": producer.producer_id,
            "producer_epoch": producer.producer_epoch,
        }
        topic_id = player.id_of(topic.name)
        if not is_v2:
            named = AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(name=topic.name, partitions=[partition])
            old = {f"v3_and_below_{key}": value for key, value in who.items()}
            request = AddPartitionsToTxnRequest(v3_and_below_topics=[named], **old)

            def added() -> Any:
                answer = player.ask(request, add)
                (one,) = answer.results_by_topic_v3_and_below[0].results_by_partition
                if one.partition_error_code == ErrorCode.CONCURRENT_TRANSACTIONS:
                    player.answers.pop()
                return one.partition_error_code

            settled(added, lambda code: code != ErrorCode.CONCURRENT_TRANSACTIONS)
        batch = build_batch(
            [b"transactional", b"records"],
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            base_sequence=0,
            is_transactional=True,
        )
        produced = produce_request(topic.name, batch, topic_id=topic_id, partition=partition)
        produced.transactional_id = transactional_id

        def sent() -> Any:
            answer = player.ask(produced, produce)
            code = answer.responses[0].partition_responses[0].error_code
            if code == ErrorCode.CONCURRENT_TRANSACTIONS:
                player.answers.pop()
            return code

        settled(sent, lambda code: code != ErrorCode.CONCURRENT_TRANSACTIONS)
        if player.offers(ApiKey.DESCRIBE_TRANSACTIONS, 0):  # From 3.0 on.
            names = [transactional_id, machine.prefix + "no-txn"]
            described = player.ask(DescribeTransactionsRequest(transactional_ids=names), 0)
            for state in described.transaction_states:
                state.transaction_start_time_ms = min(state.transaction_start_time_ms, 0)
            _list_own_transactions(player, machine)
        if group_id is not None:
            if not is_v2:
                player.ask(AddOffsetsToTxnRequest(group_id=group_id, **who), add_offsets)
            one = TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition(
                partition_index=partition, committed_offset=3, committed_metadata="in a transaction"
            )
            offsets = TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic(name=topic.name, partitions=[one])
            player.ask(TxnOffsetCommitRequest(group_id=group_id, topics=[offsets], **who), commit)
        player.ask_when_settled(EndTxnRequest(committed=committed, **who), end)
        _await_end(player, transactional_id)
        _read_when_stable(player, topic.name, topic_id, partition, fetch)

    return play


def _list_own_transactions(player: Player, machine: Machine) -> None:
    version = min(player.admin.newest(ApiKey.LIST_TRANSACTIONS), 1)
    answer = player.ask_quietly(ListTransactionsRequest(state_filters=["Ongoing"]), version)
    found = sorted(one.transactional_id for one in answer.transaction_states)
    player.note([name for name in found if name.startswith(machine.prefix)])


def _await_end(player: Player, transactional_id: str) -> None:
    """Wait until every marker of the transaction is written, so that none comes between what follows."""
    if not player.offers(ApiKey.DESCRIBE_TRANSACTIONS, 0):
        return
    request = DescribeTransactionsRequest(transactional_ids=[transactional_id])

    def state() -> Any:
        return player.ask_quietly(request, 0).transaction_states[0]

    settled(state, lambda one: one.transaction_state in ("CompleteCommit", "CompleteAbort"))


def _read_when_stable(player: Player, topic: str, topic_id: bytes, partition: int, version: int) -> None:
    """Read what is committed, once the transaction's end is written."""
    request = fetch_request(topic, topic_id=topic_id, partition=partition)
    request.isolation_level = 1

    def read() -> Any:
        (one,) = player.ask_quietly(request, version).responses[0].partitions
        return one

    settled(read, lambda one: one.last_stable_offset == one.high_watermark)
    player.ask(request, version)


TRANSACTION_OPERATIONS: tuple[tuple[int, Operation], ...] = ((5, transaction),)
