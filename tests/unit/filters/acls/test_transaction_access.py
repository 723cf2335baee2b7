import pytest

from bifrost.filters.acls.transaction_access import (
    AddPartitionsAccessFilter,
    DescribeTransactionsAccessFilter,
    InitProducerIdAccessFilter,
    ListTransactionsAccessFilter,
    ProduceAccessFilter,
)
from bifrost.filters.steps import FORWARD, Answer, Close
from bifrost.tenancy.acls.acl_binding import ResourceType
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from support.clients.record_batches import build_batch
from support.stage import messages
from support.stage.guards import allow, exchange_of, guard_of
from support.stage.stage import Stage

TRANSACTIONAL_ID = ResourceType.TRANSACTIONAL_ID
NO_TOPIC = ErrorCode.TOPIC_AUTHORIZATION_FAILED
NO_TRANSACTION = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


@pytest.fixture
def stage() -> Stage:
    return Stage()


@pytest.mark.parametrize("is_transactional", [False, True])
def test_the_transactional_id_counts_for_records_of_a_transaction(
    stage: Stage, is_transactional: bool
) -> None:
    exchange = exchange_of(guard_of(stage, allow("WRITE", "orders")), ApiKey.PRODUCE, 9)
    records = build_batch([b"x"], is_transactional=is_transactional, producer_id=1, producer_epoch=0)

    step = ProduceAccessFilter().on_request(
        exchange, messages.produce("orders", records=records, transactional_id="tx")
    )

    if is_transactional:
        assert isinstance(step, Answer)
        (topic,) = step.response.responses
        assert topic.partition_responses[0].error_code == NO_TRANSACTION
    else:
        assert step is FORWARD


def test_a_produce_that_wants_no_answer_ends_the_connection(stage: Stage) -> None:
    exchange = exchange_of(guard_of(stage, allow("WRITE", "orders")), ApiKey.PRODUCE, 9)

    assert isinstance(
        ProduceAccessFilter().on_request(exchange, messages.produce("orders", "secret", acks=0)), Close
    )
    assert ProduceAccessFilter().on_request(exchange, messages.produce("orders", acks=0)) is FORWARD


@pytest.mark.parametrize(
    ("right", "fields", "code"),
    [
        (allow("READ", "orders"), {"transactional_id": None}, ErrorCode.CLUSTER_AUTHORIZATION_FAILED),
        (allow("WRITE", "orders"), {"transactional_id": None}, None),
        (
            allow("IDEMPOTENT_WRITE", "kafka-cluster", ResourceType.CLUSTER),
            {"transactional_id": None},
            None,
        ),
        (allow("WRITE", "orders"), {"transactional_id": "tx"}, NO_TRANSACTION),
        (allow("WRITE", "tx", TRANSACTIONAL_ID), {"transactional_id": "tx"}, None),
        (
            allow("WRITE", "tx", TRANSACTIONAL_ID),
            {"transactional_id": "tx", "enable2_pc": True},
            NO_TRANSACTION,
        ),
    ],
)
def test_a_producer_id_needs_a_right_to_write(
    stage: Stage, right: object, fields: dict[str, object], code: ErrorCode | None
) -> None:
    exchange = exchange_of(guard_of(stage, right), ApiKey.INIT_PRODUCER_ID, 6)

    step = InitProducerIdAccessFilter().on_request(exchange, messages.InitProducerIdRequest(**fields))

    assert (step.response.error_code if isinstance(step, Answer) else None) == code


def test_one_denied_topic_stops_the_others_of_a_transaction(stage: Stage) -> None:
    guard = guard_of(stage, allow("WRITE", "tx", TRANSACTIONAL_ID), allow("WRITE", "orders"))
    request = messages.AddPartitionsToTxnRequest(
        v3_and_below_transactional_id="tx",
        v3_and_below_topics=[{"name": one, "partitions": [0]} for one in ("orders", "secret")],
    )

    step = AddPartitionsAccessFilter().on_request(
        exchange_of(guard, ApiKey.ADD_PARTITIONS_TO_TXN, 3), request
    )

    assert isinstance(step, Answer)
    codes = {
        one.name: one.results_by_partition[0].partition_error_code
        for one in step.response.results_by_topic_v3_and_below
    }
    assert codes == {"orders": ErrorCode.OPERATION_NOT_ATTEMPTED, "secret": NO_TOPIC}


def test_transactions_are_listed_and_described_that_may_be(stage: Stage) -> None:
    guard = guard_of(stage, allow("DESCRIBE", "tx", TRANSACTIONAL_ID), allow("DESCRIBE", "orders"))
    exchange = exchange_of(guard, ApiKey.LIST_TRANSACTIONS, 1)
    listed = messages.ListTransactionsResponse(
        transaction_states=[{"transactional_id": one} for one in ("tx", "other")]
    )
    ListTransactionsAccessFilter().on_request(exchange, messages.ListTransactionsRequest())
    ListTransactionsAccessFilter().on_response(exchange, listed)

    exchange = exchange_of(guard, ApiKey.DESCRIBE_TRANSACTIONS, 0)
    request = messages.DescribeTransactionsRequest(transactional_ids=["tx", "other"])
    DescribeTransactionsAccessFilter().on_request(exchange, request)
    topics = [{"topic": one} for one in ("orders", "secret")]
    described = messages.DescribeTransactionsResponse(
        transaction_states=[{"transactional_id": "tx", "topics": topics}]
    )
    DescribeTransactionsAccessFilter().on_response(exchange, described)

    assert [one.transactional_id for one in listed.transaction_states] == ["tx"]
    assert request.transactional_ids == ["tx"]
    tx, other = described.transaction_states
    assert [one.topic for one in tx.topics] == ["orders"]
    assert (other.transactional_id, other.error_code) == ("other", NO_TRANSACTION)
