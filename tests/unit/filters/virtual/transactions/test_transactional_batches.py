import pytest

from bifrost.filters.virtual import produced_partitions
from bifrost.filters.virtual.transactions import transactional_batches
from bifrost.records.codec.memory import MemoryBudget
from bifrost.session.close_reason import CloseReason
from bifrost.tenancy.virtual_partitions import transaction_numbers
from bifrost.tenancy.virtual_partitions.tagged_batches import TAG
from bifrost.wire.error_codes import ErrorCode
from support.clients.record_batches import build_batch
from support.stage import messages
from support.stage.divided import divided, hits_of
from support.stage.playbook import broker_answers, client_sends, ends, to_broker, to_client
from support.stage.stage import Stage
from support.transactions.stage_messages import (
    LOST,
    ORDERS,
    TXN,
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


def test_batches_get_a_tag_and_are_numbered_by_physical_partition(stage: Stage) -> None:
    assert TAG in tagged(batch(0), 2, 0)
    assert TAG not in tagged(batch(0), 0, 0)
    assert (
        begun(stage)
        >> client_sends(sent("orders", {4: batch(2)}), 12)
        << to_broker(at_broker({0: tagged(batch(2), 2, 4)}))
        >> broker_answers(answered(ORDERS, {0: 13}))
        << to_client(answered("orders", {4: 13}))
    )


def test_a_repetition_has_the_number_that_it_had(stage: Stage) -> None:
    assert (
        begun(stage)
        >> client_sends(sent("orders", {4: batch(0, b"a", b"b")}), 12)
        << to_broker(at_broker({0: tagged(batch(0, b"a", b"b"), 2, 2)}))
        >> broker_answers(answered(ORDERS, {0: 11}))
        << to_client(answered("orders", {4: 11}))
    )


def test_a_repetition_that_the_broker_has_forgotten_has_its_answer(stage: Stage) -> None:
    told = {
        "index": 0,
        "base_offset": 10,
        "log_append_time_ms": -1,
        "log_start_offset": -1,
        "error_message": None,
    }
    assert (
        begun(stage)
        >> client_sends(sent("orders", {0: batch(0)}), 12)
        << to_broker(at_broker({0: tagged(batch(0), 0, 1)}))
        >> broker_answers(answered(ORDERS, {0: (45, "too old")}))
        << to_client(
            messages.build(
                "ProduceResponse", {"responses": [{"name": "orders", "partition_responses": [told]}]}
            )
        )
    )


def test_a_gap_is_refused(stage: Stage) -> None:
    assert (
        begun(stage)
        >> client_sends(sent("orders", {4: batch(3)}), 12)
        << to_broker(at_broker({}))
        >> broker_answers(answered(ORDERS, {}))
        << to_client(answered("orders", {4: (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, None)}))
    )


def test_batches_behind_a_refused_one_are_sent_again(stage: Stage) -> None:
    again = (ErrorCode.NOT_ENOUGH_REPLICAS, None)
    busy = (ErrorCode.CONCURRENT_TRANSACTIONS, None)
    gap = (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, None)
    assert (
        begun(stage)
        >> client_sends(sent("orders", {4: batch(2)}), 12)
        << to_broker(at_broker({0: tagged(batch(2), 2, 4)}))
        >> client_sends(sent("orders", {2: batch(0)}), 12)
        << to_broker(at_broker({0: tagged(batch(0), 1, 5)}))
        >> broker_answers(answered(ORDERS, {0: busy}))
        << to_client(answered("orders", {4: busy}))
        >> broker_answers(answered(ORDERS, {0: gap}))
        << to_client(answered("orders", {2: again}))
        >> client_sends(sent("orders", {2: batch(0)}), 12)
        << to_broker(at_broker({0: tagged(batch(0), 1, 4)}))
    )


def test_a_producer_of_a_later_epoch_fences(stage: Stage) -> None:
    divided(stage, "orders")
    assert (
        stage.play()
        >> client_sends(sent("orders", {2: batch(0)}), 11)
        << to_broker(asks(0))
        >> broker_answers(knows(0, producer_epoch=2))
        << to_broker(at_broker({}))
        >> broker_answers(answered(ORDERS, {}))
        << to_client(answered("orders", {2: (ErrorCode.INVALID_PRODUCER_EPOCH, None)}))
    )


def test_a_request_has_one_producer(stage: Stage) -> None:
    book = begun(stage)
    assert (
        book
        >> client_sends(sent("orders", {4: batch(0, epoch=2), 0: batch(1)}), 12)
        << to_broker(at_broker({0: tagged(batch(1), 0, 4)}))
        >> broker_answers(answered(ORDERS, {0: 13}))
        << to_client(answered("orders", {0: 13, 4: (ErrorCode.INVALID_REQUEST, None)}))
    )


def test_a_partition_of_which_the_broker_says_nothing_has_its_error(stage: Stage) -> None:
    divided(stage, "orders")
    refusal = messages.build(
        "DescribeProducersResponse",
        {"topics": [{"name": ORDERS, "partitions": [{"partition_index": 0, "error_code": 6}]}]},
    )
    assert (
        stage.play()
        >> client_sends(sent("orders", {2: batch(0), 1: batch(0)}), 11)
        << to_broker(asks(1, 0))
        >> broker_answers(refusal)
        << to_broker(at_broker({}))
        >> broker_answers(answered(ORDERS, {}))
        << to_client(answered("orders", {1: (3, None), 2: (6, None)}))
    )


@pytest.mark.parametrize(
    ("records", "acks", "code"),
    [
        (batch(0, is_transactional=False), -1, ErrorCode.INVALID_TXN_STATE),
        (batch(0)[:-1] + b"?", -1, ErrorCode.CORRUPT_MESSAGE),
        (batch(0), 1, ErrorCode.INVALID_REQUIRED_ACKS),
    ],
)
def test_what_is_no_batch_of_a_transaction_is_refused(
    stage: Stage, records: bytes, acks: int, code: ErrorCode
) -> None:
    divided(stage, "orders")
    text = "a batch is part of a transaction if its request is" if code == 48 else None
    assert (
        stage.play()
        >> client_sends(sent("orders", {2: records}, acks=acks), 12)
        << to_broker(sent(ORDERS, {}, TXN, acks))
        >> broker_answers(answered(ORDERS, {}))
        << to_client(answered("orders", {2: (code, text)}))
    )


def test_without_an_answer_there_is_no_transaction(stage: Stage) -> None:
    divided(stage, "orders")
    assert (
        stage.play()
        >> client_sends(sent("orders", {2: batch(0)}, acks=0), 12)
        << ends(CloseReason.UNSUPPORTED, "has batches that must not pass")
    )


def test_the_numbers_have_a_bound(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transaction_numbers, "MAX_NUMBERED", 2)
    book = begun(stage)
    assert hits_of(stage) == {}
    own, other = marks(stage)[:2]
    book = (
        book
        >> client_sends(sent("orders", {3: batch(0)}), 12)
        << to_broker(claims({1: claim(batch(0), 0, own)}))
        >> broker_answers(answered(ORDERS, {1: 4}))
        << to_broker(reads((1, 4)))
        >> broker_answers(stored((1, 0, claim(batch(0), 0, own))))
        << to_broker(at_broker({1: tagged(batch(0), 1, 1)}))
        >> broker_answers(answered(ORDERS, {1: 5}))
        << to_client(answered("orders", {3: 5}))
    )

    assert hits_of(stage) == {("virtual_partitions_numbered", "acme"): 1}
    assert (
        book
        >> client_sends(sent("orders", {0: batch(1)}), 12)
        << to_broker(claims({0: claim(batch(1), 0, other)}))
        >> broker_answers(answered(ORDERS, {0: (45, None)}))
        << to_broker(at_broker({}))
        >> broker_answers(answered(ORDERS, {}))
        << to_client(answered("orders", {0: (ErrorCode.TRANSACTION_ABORTABLE, LOST)}))
    )


@pytest.mark.parametrize(("is_under_way", "code"), [(True, 120), (False, 10)])
def test_what_is_too_large_aborts_if_earlier_batches_are_under_way(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, is_under_way: bool, code: int
) -> None:
    monkeypatch.setattr(produced_partitions, "MAX_DIVIDED_BYTES", 1000)
    large, text = (
        batch(1, b"x" * 1000),
        {120: LOST, 10: "at most 16777216 bytes are divided by virtual partitions"},
    )
    book = begun(stage)
    if is_under_way:
        book = (
            book
            >> client_sends(sent("orders", {0: batch(1)}), 12)
            << to_broker(at_broker({0: tagged(batch(1), 0, 4)}))
            >> broker_answers(answered(ORDERS, {0: (6, None)}))
            << to_client(answered("orders", {0: (6, None)}))
        )
    told = code, text[code]
    assert (
        book
        >> client_sends(sent("orders", {0: large, 4: batch(2)}), 12)
        << to_broker(at_broker({}))
        >> broker_answers(answered(ORDERS, {}))
        << to_client(answered("orders", {0: told, 4: told}))
    )


def test_batches_beyond_what_a_request_may_unpack_are_sent_again(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of ten thousand partitions may have 16 MiB in 500 bytes."""
    monkeypatch.setattr(transactional_batches, "MAX_UNPACKED_OF_REQUEST", 15_000)
    divided(stage, "orders")
    batches = {number: packed(bytes(10_000)) for number in (0, 1)}
    own = claim(batches[0], 0, marks(stage)[0])

    assert (
        stage.play()
        >> client_sends(sent("orders", batches), 12)
        << to_broker(claims({0: own}))
        >> broker_answers(answered(ORDERS, {0: 9}))
        << to_broker(reads((0, 9)))
        >> broker_answers(stored((0, 0, own)))
        << to_broker(at_broker({0: tagged(batches[0], 0, 1)}))
        >> broker_answers(answered(ORDERS, {0: 10}))
        << to_client(answered("orders", {0: 10, 1: (ErrorCode.NOT_ENOUGH_REPLICAS, None)}))
    )


def test_nothing_that_was_unpacked_is_kept_until_the_broker_answers(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hundred requests may be in flight on each connection."""
    budgets: list[MemoryBudget] = []

    def budget(bound: str, limit: int) -> MemoryBudget:
        budgets.append(MemoryBudget(bound, limit))
        return budgets[-1]

    monkeypatch.setattr(transactional_batches, "MemoryBudget", budget)
    divided(stage, "orders")
    one = packed(bytes(10_000))
    own = claim(one, 0, marks(stage)[0])

    assert (
        stage.play()
        >> client_sends(sent("orders", {4: one}), 12)
        << to_broker(claims({0: own}))
        >> broker_answers(answered(ORDERS, {0: 9}))
        << to_broker(reads((0, 9)))
        >> broker_answers(stored((0, 0, own)))
        << to_broker(at_broker({0: tagged(one, 2, 1)}))
    )
    assert len(budgets) == 3
    assert [one.used for one in budgets] == [0, 0, 0]


def packed(value: bytes) -> bytes:
    """Return a batch that gzip has packed."""
    return build_batch(
        [value],
        producer_id=7,
        producer_epoch=1,
        base_sequence=0,
        is_transactional=True,
        compression_type=1,
    )
