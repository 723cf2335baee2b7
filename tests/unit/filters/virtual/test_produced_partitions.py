from typing import Any

import pytest

from bifrost.filters.virtual import produced_partitions
from bifrost.session.close_reason import CloseReason
from bifrost.tenancy.virtual_partitions.own_producer import LAST_EPOCH
from bifrost.tenancy.virtual_partitions.virtual_batches import marked_batch
from bifrost.wire.error_codes import ErrorCode
from support.clients.record_batches import build_batch
from support.physical_names import physical_name
from support.stage import messages
from support.stage.divided import divided
from support.stage.playbook import (
    broker_answers,
    client_sends,
    ends,
    no_answer,
    to_broker,
    to_client,
)
from support.stage.stage import Stage

ORDERS = physical_name("acme", "orders")
ID = bytes(15) + b"\7"
IDEMPOTENT = build_batch([b"value"], producer_id=7, producer_epoch=1, base_sequence=40)
PLAIN = build_batch([b"value"])


def joined(pieces: Any) -> bytes:
    return b"".join(pieces) if isinstance(pieces, tuple) else bytes(pieces)


def marked(batch: bytes, group: int, *producer: int) -> bytes:
    return joined(marked_batch(batch, group, *producer))


def sent(topic: str | bytes, records: dict[int, bytes], **fields: Any) -> Any:
    data = [{"index": index, "records": one} for index, one in records.items()]
    named = {"topic_id" if isinstance(topic, bytes) else "name": topic, "partition_data": data}
    return messages.build("ProduceRequest", {"acks": -1, "timeout_ms": 1500, "topic_data": [named], **fields})


def answered(topic: str | bytes, offsets: dict[int, int], **errors: tuple[int, str | None]) -> Any:
    partitions = [{"index": one, "base_offset": offset} for one, offset in offsets.items()]
    partitions += [
        {
            "index": int(one[1:]),
            "error_code": code,
            "base_offset": -1,
            "log_append_time_ms": -1,
            "log_start_offset": -1,
            "error_message": text,
        }
        for one, (code, text) in errors.items()
    ]
    named = {"topic_id" if isinstance(topic, bytes) else "name": topic, "partition_responses": partitions}
    return messages.build("ProduceResponse", {"responses": [named]})


def given(producer_id: int) -> Any:
    return messages.build("InitProducerIdResponse", {"producer_id": producer_id, "producer_epoch": 0})


ASKS_FOR_ID = messages.build(
    "InitProducerIdRequest", {"transactional_id": None, "transaction_timeout_ms": 60_000}
)


@pytest.mark.parametrize("version", [3, 9, 12])
def test_batches_of_one_physical_partition_go_in_requests_of_their_own(stage: Stage, version: int) -> None:
    divided(stage, "orders")

    assert (
        stage.play()
        >> client_sends(sent("orders", dict.fromkeys([0, 2, 4, 3], IDEMPOTENT)), version)
        << to_broker(sent(ORDERS, {0: IDEMPOTENT, 1: marked(IDEMPOTENT, 1)}))
        << to_broker(sent(ORDERS, {0: marked(IDEMPOTENT, 1)}))
        << to_broker(sent(ORDERS, {0: marked(IDEMPOTENT, 2)}))
        >> broker_answers(answered(ORDERS, {0: 10, 1: 13}))
        >> broker_answers(answered(ORDERS, {0: 12}))
        >> broker_answers(answered(ORDERS, {0: 14}))
        << to_client(answered("orders", {0: 10, 3: 13, 2: 12, 4: 14}))
    )


def test_topics_may_be_named_by_their_ids(stage: Stage) -> None:
    divided(stage, "orders")
    stage.topic_ids.learn(ID, ORDERS.encode())

    assert (
        stage.play()
        >> client_sends(sent(ID, {4: IDEMPOTENT}), 13)
        << to_broker(sent(ID, {0: marked(IDEMPOTENT, 2)}))
        >> broker_answers(answered(ID, {0: 14}))
        << to_client(answered(ID, {4: 14}))
    )


def test_batches_without_a_producer_get_that_of_the_connection(stage: Stage) -> None:
    divided(stage, "orders")

    assert (
        stage.play()
        >> client_sends(sent("orders", {0: PLAIN, 3: PLAIN, 4: PLAIN}), 9)
        << to_broker(ASKS_FOR_ID)
        >> broker_answers(given(4000))
        << to_broker(sent(ORDERS, {0: PLAIN, 1: marked(PLAIN, 1, 4000, 0)}))
        << to_broker(sent(ORDERS, {0: marked(PLAIN, 2, 4000, 1)}))
        >> broker_answers(answered(ORDERS, {0: 10, 1: 13}))
        >> broker_answers(answered(ORDERS, {0: 14}))
        << to_client(answered("orders", {0: 10, 3: 13, 4: 14}))
        >> client_sends(sent("orders", {2: PLAIN}), 9)
        << to_broker(sent(ORDERS, {0: marked(PLAIN, 1, 4000, 2)}))
        >> broker_answers(answered(ORDERS, {0: 15}))
        << to_client(answered("orders", {2: 15}))
    )


def test_a_connection_gets_another_producer_when_its_epochs_are_used_up(stage: Stage) -> None:
    divided(stage, "orders")
    book = stage.play()
    book.session._scope.producer.begin(4000)
    book.session._scope.producer._next_epoch = LAST_EPOCH

    assert (
        book
        >> client_sends(sent("orders", {2: PLAIN}), 9)
        << to_broker(sent(ORDERS, {0: marked(PLAIN, 1, 4000, LAST_EPOCH)}))
        >> client_sends(sent("orders", {2: PLAIN}), 9)
        << to_broker(ASKS_FOR_ID)
        >> broker_answers(answered(ORDERS, {0: 15}))
        << to_client(answered("orders", {2: 15}))
        >> broker_answers(given(4001))
        << to_broker(sent(ORDERS, {0: marked(PLAIN, 1, 4001, 0)}))
        >> broker_answers(answered(ORDERS, {0: 16}))
        << to_client(answered("orders", {2: 16}))
    )


def test_a_broker_that_gives_no_producer_id_is_asked_again_by_the_client(stage: Stage) -> None:
    divided(stage, "orders")
    refusal = messages.build("InitProducerIdResponse", {"error_code": 14, "producer_id": -1})

    assert (
        stage.play()
        >> client_sends(sent("orders", {2: PLAIN}), 9)
        << to_broker(ASKS_FOR_ID)
        >> broker_answers(refusal)
        << to_broker(messages.build("ProduceRequest", {"acks": -1, "timeout_ms": 1500}))
        >> broker_answers(messages.build("ProduceResponse", {}))
        << to_client(answered("orders", {}, p2=(ErrorCode.COORDINATOR_NOT_AVAILABLE, None)))
    )


REFUSED = [
    (
        build_batch([b"v"], producer_id=7, base_sequence=0, is_transactional=True),
        ErrorCode.INVALID_TXN_STATE,
        "a batch is part of a transaction if its request is",
    ),
    (IDEMPOTENT[:-1] + b"?", ErrorCode.CORRUPT_MESSAGE, None),
    (IDEMPOTENT + IDEMPOTENT, ErrorCode.INVALID_RECORD, None),
    (
        IDEMPOTENT[:16] + b"\1" + IDEMPOTENT[17:],
        ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT,
        "topics with virtual partitions take batches of format 2 alone",
    ),
]


@pytest.mark.parametrize(("batch", "code", "text"), REFUSED)
def test_batches_that_cannot_be_told_apart_later_are_refused(
    stage: Stage, batch: bytes, code: ErrorCode, text: str | None
) -> None:
    divided(stage, "orders")

    assert (
        stage.play()
        >> client_sends(sent("orders", {0: batch, 1: IDEMPOTENT, 5: IDEMPOTENT}), 9)
        << to_broker(sent(ORDERS, {1: IDEMPOTENT}))
        >> broker_answers(answered(ORDERS, {1: 10}))
        << to_client(
            answered("orders", {1: 10}, p0=(code, text), p5=(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, None))
        )
    )


def test_what_is_divided_has_a_bound(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    divided(stage, "orders")
    monkeypatch.setattr(produced_partitions, "MAX_DIVIDED_BYTES", 2 * len(IDEMPOTENT))
    text = f"at most {16 * 1024 * 1024} bytes are divided by virtual partitions"
    too_large = (ErrorCode.MESSAGE_TOO_LARGE, text)
    nothing = messages.build("ProduceRequest", {"acks": -1, "timeout_ms": 1500})

    assert (
        stage.play()
        >> client_sends(sent("orders", dict.fromkeys([0, 1, 2], IDEMPOTENT)), 9)
        << to_broker(nothing)
        >> broker_answers(messages.build("ProduceResponse", {}))
        << to_client(answered("orders", {}, p0=too_large, p1=too_large, p2=too_large))
        >> client_sends(sent("orders", dict.fromkeys([0, 2], IDEMPOTENT)), 9)
        << to_broker(sent(ORDERS, {0: IDEMPOTENT}))
        << to_broker(sent(ORDERS, {0: marked(IDEMPOTENT, 1)}))
        >> broker_answers(answered(ORDERS, {0: 1}))
        >> broker_answers(answered(ORDERS, {0: 2}))
        << to_client(answered("orders", {0: 1, 2: 2}))
    )


def test_a_large_request_for_one_group_is_not_divided(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    divided(stage, "orders")
    monkeypatch.setattr(produced_partitions, "MAX_DIVIDED_BYTES", 1)

    assert (
        stage.play()
        >> client_sends(sent("orders", dict.fromkeys([0, 1], IDEMPOTENT)), 9)
        << to_broker(sent(ORDERS, {0: IDEMPOTENT, 1: IDEMPOTENT}))
    )


def test_requests_without_an_answer_have_none(stage: Stage) -> None:
    divided(stage, "orders")

    assert (
        stage.play()
        >> client_sends(sent("orders", {0: IDEMPOTENT, 2: IDEMPOTENT}, acks=0), 9)
        << to_broker(sent(ORDERS, {0: IDEMPOTENT}, acks=0))
        << to_broker(sent(ORDERS, {0: marked(IDEMPOTENT, 1)}, acks=0))
        << no_answer()
        >> client_sends(sent("orders", {5: IDEMPOTENT}, acks=0), 9)
        << no_answer()
        << ends(CloseReason.UNSUPPORTED, "has batches that must not pass")
    )
