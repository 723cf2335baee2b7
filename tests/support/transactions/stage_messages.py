"""Messages of a producer of transactions on a Stage, and of the broker, whose topic `orders` has 5 partitions on 2."""

from __future__ import annotations

from typing import Any

from bifrost.tenancy.virtual_partitions.tagged_batches import TransactionalBatch
from support.clients.record_batches import build_batch
from support.physical_names import physical_name
from support.stage import messages
from support.stage.divided import divided
from support.stage.playbook import Playbook, broker_answers, client_sends, to_broker, to_client
from support.stage.stage import Stage

ORDERS, TXN = physical_name("acme", "orders"), physical_name("acme", "txn")
LOST = "the sequences of the transaction are not known here"


def batch(sequence: int, *values: bytes, epoch: int = 1, is_transactional: bool = True) -> bytes:
    return build_batch(
        values or (b"value",),
        producer_id=7,
        producer_epoch=epoch,
        base_sequence=sequence,
        is_transactional=is_transactional,
    )


def claim(one: bytes, sequence: int, mark: bytes) -> bytes:
    return TransactionalBatch(one).claim(sequence, mark)


def claims(records: dict[int, bytes]) -> Any:
    return sent(ORDERS, records, TXN)


def reads(*places: tuple[int, int]) -> Any:
    """Return what is asked about claims that should be stored at these offsets of partitions."""
    partitions = [
        {"partition": partition, "fetch_offset": offset, "partition_max_bytes": 4096}
        for partition, offset in places
    ]
    return messages.build(
        "FetchRequest",
        {
            "replica_id": -1,
            "max_wait_ms": 0,
            "min_bytes": 1,
            "max_bytes": 4096 * len(places),
            "topics": [{"topic": ORDERS, "partitions": partitions}],
        },
    )


def stored(*found: tuple[int, int, bytes]) -> Any:
    """Return the answer: an error and records of each partition."""
    partitions = [
        {"partition_index": partition, "error_code": code, "high_watermark": 99, "records": records}
        for partition, code, records in found
    ]
    return messages.build("FetchResponse", {"responses": [{"topic": ORDERS, "partitions": partitions}]})


def marks(stage: Stage) -> list[bytes]:
    """Return the next marks of claims."""
    made = [bytes([255, number] * 8) for number in range(4)]
    stage.namespaces["acme"].new_id = iter(made).__next__
    return made


def tagged(one: bytes, group: int, sequence: int) -> bytes:
    return b"".join(TransactionalBatch(one).tagged(group, sequence))


def sent(topic: str, records: dict[int, bytes], transactional_id: str = "txn", acks: int = -1) -> Any:
    data = [{"index": index, "records": one} for index, one in records.items()]
    return messages.build(
        "ProduceRequest",
        {
            "transactional_id": transactional_id,
            "acks": acks,
            "timeout_ms": 1500,
            "topic_data": [{"name": topic, "partition_data": data}] if data else [],
        },
    )


def at_broker(records: dict[int, bytes]) -> Any:
    return sent(ORDERS, records, TXN)


def answered(topic: str, told: dict[int, int | tuple[int, str | None]]) -> Any:
    """Return an answer with an offset, or an error and its text, of each partition."""
    partitions = [
        {"index": index, "base_offset": one}
        if isinstance(one, int)
        else {
            "index": index,
            "error_code": one[0],
            "base_offset": -1,
            "log_append_time_ms": -1,
            "log_start_offset": -1,
            "error_message": one[1],
        }
        for index, one in told.items()
    ]
    return messages.build(
        "ProduceResponse",
        {"responses": [{"name": topic, "partition_responses": partitions}] if partitions else []},
    )


def asks(*partitions: int) -> Any:
    topics = [{"name": ORDERS, "partition_indexes": list(partitions)}]
    return messages.build("DescribeProducersRequest", {"topics": topics})


def knows(*partitions: int, **producer: int) -> Any:
    """Return what a broker says of the producer 7 in these partitions; by default it knows no such producer."""
    own = [
        {
            "producer_id": 7,
            "coordinator_epoch": 0,
            "current_txn_start_offset": -1,
            "last_sequence": -1,
            **producer,
        }
    ]
    entries = [{"partition_index": one, "active_producers": own if producer else []} for one in partitions]
    return messages.build("DescribeProducersResponse", {"topics": [{"name": ORDERS, "partitions": entries}]})


def begun(stage: Stage, version: int = 12) -> Playbook:
    """A producer has written to two virtual partitions of one physical, in one request."""
    divided(stage, "orders")
    own = claim(batch(0), 0, marks(stage)[0])
    book: Playbook = stage.play() >> client_sends(
        sent("orders", {4: batch(0, b"a", b"b"), 0: batch(0)}), version
    )
    if version < 12:
        book = book << to_broker(asks(0)) >> broker_answers(knows(0))
    return (
        book
        << to_broker(claims({0: own}))
        >> broker_answers(answered(ORDERS, {0: 9}))
        << to_broker(reads((0, 9)))
        >> broker_answers(stored((0, 0, own)))
        << to_broker(at_broker({0: tagged(batch(0), 0, 1)}))
        << to_broker(at_broker({0: tagged(batch(0, b"a", b"b"), 2, 2)}))
        >> broker_answers(answered(ORDERS, {0: 10}))
        >> broker_answers(answered(ORDERS, {0: 11}))
        << to_client(answered("orders", {0: 10, 4: 11}))
    )
