"""Which requests a broker gets before the batches of a transaction, and what follows from its answers."""

from types import SimpleNamespace
from typing import Any

import pytest

from bifrost.filters.steps import AtBroker
from bifrost.filters.virtual.transactions.claimed_transactions import Asked, Part, Parts, next_need, take
from bifrost.tenancy.virtual_partitions.tagged_batches import TransactionalBatch
from bifrost.tenancy.virtual_partitions.transaction_claims import Wanted
from bifrost.tenancy.virtual_partitions.transaction_numbers import TransactionNumbers
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import DescribeProducersResponse, ProduceRequest, ProduceResponse
from support.clients.record_batches import build_batch
from support.stage.divided import divided
from support.stage.playbook import Playbook, broker_answers, client_sends, to_broker, to_client
from support.stage.stage import Stage
from support.transactions.stage_messages import (
    LOST,
    ORDERS,
    answered,
    asks,
    at_broker,
    batch,
    begun,
    claim,
    claims,
    knows,
    marks,
    reads,
    sent,
    stored,
    tagged,
)

ONE, TWO = (7, 1, (b"__orders", 0)), (7, 1, (b"__orders", 1))
REQUEST = ProduceRequest(transactional_id="txn", acks=-1, timeout_ms=100)


@pytest.fixture
def numbers() -> TransactionNumbers:
    return TransactionNumbers()


def exchange(numbers: TransactionNumbers, version: int) -> Any:
    namespace = SimpleNamespace(new_id=lambda: b"m" * 16)
    virtual = SimpleNamespace(numbers=numbers)
    scope = SimpleNamespace(producer=None, namespace=namespace, virtual=virtual)
    return SimpleNamespace(api_version=version, scope=scope)


def parts(*keys: Any) -> Parts:
    records = build_batch([b"a"], producer_id=7, producer_epoch=1, base_sequence=0, is_transactional=True)
    return {key: Part("orders", TransactionalBatch(records)) for key in keys}


def asked(need: AtBroker | None) -> Any:
    assert need is not None
    ((request, version),) = need.requests
    return request, version


@pytest.mark.parametrize(("version", "expected"), [(3, 3), (11, 11), (12, 12), (13, 12)])
def test_claims_have_a_version_with_names(numbers: TransactionNumbers, version: int, expected: int) -> None:
    plan = Asked()
    plan.claims = {ONE: Wanted(4, is_joined=True), TWO: Wanted(0, is_joined=True)}
    request, found = asked(next_need(exchange(numbers, version), REQUEST, parts(ONE, TWO), plan))

    assert (found, request.acks, request.transactional_id, request.timeout_ms) == (expected, -1, "txn", 100)
    (topic,) = request.topic_data
    assert [(topic.name, one.index) for one in topic.partition_data] == [("orders", 0), ("orders", 1)]


def test_with_an_epoch_for_each_transaction_nothing_is_asked_before(numbers: TransactionNumbers) -> None:
    old, _ = asked(next_need(exchange(numbers, 11), REQUEST, parts(ONE), Asked()))
    new, _ = asked(next_need(exchange(numbers, 12), REQUEST, parts(ONE), Asked()))

    assert (old.SCHEMA.name, new.SCHEMA.name) == ("DescribeProducersRequest", "ProduceRequest")


def test_an_answer_is_about_what_was_asked(numbers: TransactionNumbers) -> None:
    """The partition that the answer lacks is refused; that of which nothing was asked is not."""
    plan, found = Asked(), parts(ONE, TWO)
    need = next_need(exchange(numbers, 11), REQUEST, parts(ONE), plan)
    assert need is not None
    answer = DescribeProducersResponse(topics=[])
    take(exchange(numbers, 11), found, AtBroker(need.requests, plan, (answer,)))

    assert plan.errors == {ONE: int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)}


def test_a_claim_without_an_answer_is_not_asked_for_again(numbers: TransactionNumbers) -> None:
    plan, found = Asked(), parts(ONE)
    need = next_need(exchange(numbers, 12), REQUEST, found, plan)
    assert need is not None
    take(exchange(numbers, 12), found, AtBroker(need.requests, plan, (ProduceResponse(responses=[]),)))

    assert plan.errors == {ONE: int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)}
    assert next_need(exchange(numbers, 12), REQUEST, found, plan) is None


@pytest.mark.parametrize("version", [9, 11])
def test_an_open_transaction_of_another_process_is_aborted(stage: Stage, version: int) -> None:
    divided(stage, "orders")
    own = claim(batch(0, epoch=2), 0, marks(stage)[0])

    assert (
        stage.play()
        >> client_sends(sent("orders", {2: batch(4)}), version)
        << to_broker(asks(0))
        >> broker_answers(knows(0, producer_epoch=1, last_sequence=8, current_txn_start_offset=3))
        << to_broker(at_broker({}))
        >> broker_answers(answered(ORDERS, {}))
        << to_client(answered("orders", {2: (ErrorCode.INVALID_PRODUCER_EPOCH, None)}))
        # With the next epoch it goes on.
        >> client_sends(sent("orders", {2: batch(0, epoch=2)}), version)
        << to_broker(asks(0))
        >> broker_answers(knows(0, producer_epoch=1, last_sequence=8))
        << to_broker(claims({0: own}))
        >> broker_answers(answered(ORDERS, {0: 20}))
        << to_broker(reads((0, 20)))
        >> broker_answers(stored((0, 0, own)))
        << to_broker(at_broker({0: tagged(batch(0, epoch=2), 1, 1)}))
    )


def test_an_epoch_with_later_batches_is_aborted(stage: Stage) -> None:
    divided(stage, "orders")
    own = claim(batch(4), 0, marks(stage)[0])
    assert (
        stage.play()
        >> client_sends(sent("orders", {2: batch(4)}), 12)
        << to_broker(claims({0: own}))
        >> broker_answers(answered(ORDERS, {0: (45, None)}))
        << to_broker(at_broker({}))
        >> broker_answers(answered(ORDERS, {}))
        << to_client(answered("orders", {2: (ErrorCode.TRANSACTION_ABORTABLE, LOST)}))
    )


def test_the_claim_of_another_process_aborts(stage: Stage) -> None:
    divided(stage, "orders")
    own, other = marks(stage)[:2]
    told = {1: 5, 2: (ErrorCode.TRANSACTION_ABORTABLE, LOST)}
    assert (
        stage.play()
        >> client_sends(sent("orders", {2: batch(0), 1: batch(0)}), 12)
        << to_broker(claims({1: claim(batch(0), 0, own), 0: claim(batch(0), 0, other)}))
        >> broker_answers(answered(ORDERS, {0: 9, 1: 4}))
        << to_broker(reads((1, 4), (0, 9)))
        >> broker_answers(stored((0, 0, claim(batch(0), 0, bytes(16))), (1, 0, claim(batch(0), 0, own))))
        << to_broker(at_broker({1: tagged(batch(0), 0, 1)}))
        >> broker_answers(answered(ORDERS, {1: 5}))
        << to_client(answered("orders", told))
    )


@pytest.mark.parametrize(
    ("code", "records", "expected"),
    [
        (0, b"", ErrorCode.NOT_ENOUGH_REPLICAS),
        (ErrorCode.TOPIC_AUTHORIZATION_FAILED, b"", ErrorCode.TOPIC_AUTHORIZATION_FAILED),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, b"", ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (ErrorCode.UNKNOWN_SERVER_ERROR, b"", ErrorCode.NOT_ENOUGH_REPLICAS),
        (ErrorCode.OFFSET_OUT_OF_RANGE, b"", ErrorCode.TRANSACTION_ABORTABLE),
        (0, batch(0), ErrorCode.TRANSACTION_ABORTABLE),
    ],
)
def test_without_its_claim_no_batch_is_numbered(
    stage: Stage, code: int, records: bytes, expected: ErrorCode
) -> None:
    divided(stage, "orders")
    own = claim(batch(0), 0, marks(stage)[0])
    text = LOST if expected == ErrorCode.TRANSACTION_ABORTABLE else None
    book: Playbook = (
        stage.play()
        >> client_sends(sent("orders", {2: batch(0)}), 12)
        << to_broker(claims({0: own}))
        >> broker_answers(answered(ORDERS, {0: 9}))
        << to_broker(reads((0, 9)))
        >> broker_answers(stored((0, code, records)))
        << to_broker(at_broker({}))
        >> broker_answers(answered(ORDERS, {}))
        << to_client(answered("orders", {2: (expected, text)}))
    )
    assert (
        book
        # The same claim again: it may be stored.
        >> client_sends(sent("orders", {2: batch(0)}), 12)
        << to_broker(claims({0: own}))
    )


def test_what_refuses_a_claim_refuses_the_batch(stage: Stage) -> None:
    divided(stage, "orders")
    own, busy = claim(batch(0), 0, marks(stage)[0]), (ErrorCode.CONCURRENT_TRANSACTIONS, None)
    assert (
        stage.play()
        >> client_sends(sent("orders", {2: batch(0)}), 12)
        << to_broker(claims({0: own}))
        >> broker_answers(answered(ORDERS, {0: busy}))
        << to_broker(at_broker({}))
        >> broker_answers(answered(ORDERS, {}))
        << to_client(answered("orders", {2: busy}))
    )


def test_between_transactions_another_gateway_may_have_numbered(stage: Stage) -> None:
    book = begun(stage, 11)
    own = claim(batch(4), 21, marks(stage)[0])
    assert (
        book
        >> client_sends(sent("orders", {2: batch(4)}), 11)
        << to_broker(asks(0))
        >> broker_answers(knows(0, producer_epoch=1, last_sequence=20))
        << to_broker(claims({0: own}))
        >> broker_answers(answered(ORDERS, {0: 39}))
        << to_broker(reads((0, 39)))
        >> broker_answers(stored((0, 0, own)))
        << to_broker(at_broker({0: tagged(batch(4), 1, 22)}))
        >> broker_answers(answered(ORDERS, {0: 40}))
        << to_client(answered("orders", {2: 40}))
    )


def test_numbers_go_on_where_the_transaction_is_the_same(stage: Stage) -> None:
    assert (
        begun(stage, 11)
        >> client_sends(sent("orders", {2: batch(0)}), 11)
        << to_broker(asks(0))
        >> broker_answers(knows(0, producer_epoch=1, last_sequence=3, current_txn_start_offset=9))
        << to_broker(at_broker({0: tagged(batch(0), 1, 4)}))
    )
