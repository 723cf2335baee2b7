from typing import Any

import pytest

from bifrost.filters.virtual import keyed_partitions
from bifrost.records.codec.memory import MemoryBudget
from bifrost.tenancy.virtual_partitions.compacted.keyed_batches import keyed_batch
from bifrost.tenancy.virtual_partitions.partition_map import PartitionGroup, PartitionMap
from bifrost.tenancy.virtual_partitions.virtual_batches import marked_batch, own_records
from bifrost.wire.error_codes import ErrorCode
from support.clients.keyed_batches import plain_batch
from support.physical_names import physical_name
from support.stage import messages
from support.stage.divided import divided, hits_of
from support.stage.playbook import broker_answers, client_sends, to_broker, to_client
from support.stage.stage import Stage

ORDERS = physical_name("acme", "orders")
COMPACTED = PartitionMap(5, 2, is_keyed=True)
BATCH = plain_batch([b"a", b"b"], 1, producer=(7, 1, 40))
NO_KEY = plain_batch([b"a", None], producer=(7, 1, 40))
TEXT = "a compacted topic takes no record without a key"


def stored(batch: bytes, group: int) -> bytes:
    keyed = keyed_batch(batch, group, MemoryBudget("request", 1 << 24))
    found = marked_batch(keyed, group)
    return b"".join(found) if isinstance(found, tuple) else bytes(found)


def sent(topic: str, records: dict[int, bytes], **fields: Any) -> Any:
    data = [{"index": index, "records": one} for index, one in records.items()]
    named = {"name": topic, "partition_data": data}
    return messages.build("ProduceRequest", {"acks": -1, "timeout_ms": 1500, "topic_data": [named], **fields})


def answered(topic: str, *partitions: dict[str, Any]) -> Any:
    named = {"name": topic, "partition_responses": list(partitions)}
    return messages.build("ProduceResponse", {"responses": [named]})


def refused(index: int, code: ErrorCode, *rows: int, text: str | None = None) -> dict[str, Any]:
    errors = [{"batch_index": row, "batch_index_error_message": text} for row in rows]
    nothing = {"base_offset": -1, "log_append_time_ms": -1, "log_start_offset": -1}
    return {"index": index, "error_code": code, "record_errors": errors, "error_message": text, **nothing}


@pytest.mark.parametrize("version", [3, 9, 12])
def test_keys_get_the_group_of_their_partition(stage: Stage, version: int) -> None:
    divided(stage, "orders", partitions=COMPACTED)

    assert (
        stage.play()
        >> client_sends(sent("orders", {0: BATCH, 3: BATCH, 4: BATCH}), version)
        << to_broker(sent(ORDERS, {0: stored(BATCH, 0), 1: stored(BATCH, 1)}))
        << to_broker(sent(ORDERS, {0: stored(BATCH, 2)}))
        >> broker_answers(answered(ORDERS, {"index": 0, "base_offset": 10}, {"index": 1, "base_offset": 13}))
        >> broker_answers(answered(ORDERS, {"index": 0, "base_offset": 14}))
        << to_client(
            answered(
                "orders",
                {"index": 0, "base_offset": 10},
                {"index": 3, "base_offset": 13},
                {"index": 4, "base_offset": 14},
            )
        )
    )


def test_records_without_keys_are_told_by_their_places(stage: Stage) -> None:
    divided(stage, "orders", partitions=COMPACTED)

    assert (
        stage.play()
        >> client_sends(sent("orders", {0: NO_KEY, 1: BATCH}), 9)
        << to_broker(sent(ORDERS, {1: stored(BATCH, 0)}))
        >> broker_answers(answered(ORDERS, {"index": 1, "base_offset": 10}))
        << to_client(
            answered(
                "orders", {"index": 1, "base_offset": 10}, refused(0, ErrorCode.INVALID_RECORD, 1, text=TEXT)
            )
        )
    )


def test_so_are_those_of_a_transaction(stage: Stage) -> None:
    divided(stage, "orders", partitions=COMPACTED)
    batch = plain_batch([None, b"b"], producer=(7, 1, 0), is_transactional=True)

    assert (
        stage.play()
        >> client_sends(sent("orders", {0: batch}, transactional_id="t"), 12)
        << to_broker(
            messages.build(
                "ProduceRequest",
                {"transactional_id": physical_name("acme", "t"), "acks": -1, "timeout_ms": 1500},
            )
        )
        >> broker_answers(messages.build("ProduceResponse", {}))
        << to_client(answered("orders", refused(0, ErrorCode.INVALID_RECORD, 0, text=TEXT)))
    )


def test_what_a_request_unpacks_has_a_bound(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    divided(stage, "orders", partitions=COMPACTED)
    large = plain_batch([b"k" * 600], 4, producer=(7, 1, 40))
    monkeypatch.setattr(keyed_partitions, "MAX_UNPACKED_OF_REQUEST", 1000)

    assert (
        stage.play()
        >> client_sends(sent("orders", {0: large, 1: large}), 9)
        << to_broker(sent(ORDERS, {0: stored(large, 0)}))
        >> broker_answers(answered(ORDERS, {"index": 0, "base_offset": 10}))
        << to_client(
            answered("orders", {"index": 0, "base_offset": 10}, refused(1, ErrorCode.NOT_ENOUGH_REPLICAS))
        )
    )
    assert hits_of(stage) == {("virtual_compacted_bytes", "acme"): 1}


@pytest.mark.parametrize(
    "broken", [BATCH[:-1] + b"?", BATCH[:16] + b"\1" + BATCH[17:], BATCH + BATCH, BATCH[:80], b""]
)
def test_broken_batches_are_refused_before_they_are_unpacked(stage: Stage, broken: bytes) -> None:
    divided(stage, "orders", partitions=COMPACTED)
    book = stage.play() >> client_sends(sent("orders", {0: broken, 1: BATCH}), 9)

    assert book << to_broker(sent(ORDERS, {1: stored(BATCH, 0)}))


def test_consumers_get_keys_as_they_were_written(stage: Stage) -> None:
    divided(stage, "orders", partitions=COMPACTED)
    log = b"".join(
        offset.to_bytes(8, "big") + stored(BATCH, group)[8:] for offset, group in ((0, 0), (2, 1), (4, 2))
    )

    def entry(partition: int) -> dict[str, Any]:
        return {"partition": partition, "fetch_offset": 0, "partition_max_bytes": 1024}

    def asked(topic: str, *partitions: int) -> Any:
        topics = [{"topic": topic, "partitions": [entry(one) for one in partitions]}]
        return messages.build(
            "FetchRequest", {"max_wait_ms": 500, "topics": topics, "session_id": 0, "session_epoch": -1}
        )

    def told(topic: str, partitions: dict[int, tuple[bytes, int]]) -> Any:
        entries = [
            {"partition_index": index, "high_watermark": end, "records": one}
            for index, (one, end) in partitions.items()
        ]
        return messages.build("FetchResponse", {"responses": [{"topic": topic, "partitions": entries}]})

    own = own_records(log, {PartitionGroup(group): 0 for group in (0, 1, 2)}, 0, is_keyed=True)
    parts = {
        2 * group: b"".join(one) if isinstance(one, tuple) else bytes(one)
        for group, one in own.records.items()
    }
    assert all(b"\x82\x22" not in one for one in parts.values())
    assert (
        stage.play()
        >> client_sends(asked("orders", 0, 2, 4), 12)
        << to_broker(asked(ORDERS, 0))
        >> broker_answers(told(ORDERS, {0: (log, 6)}))
        << to_client(told("orders", {0: (parts[0], 2), 2: (parts[2], 4), 4: (parts[4], 6)}))
    )


def test_keys_without_a_group_are_an_error_for_their_consumer(stage: Stage) -> None:
    divided(stage, "orders", partitions=COMPACTED)
    topics = [{"topic": "orders", "partitions": [{"partition": 0, "partition_max_bytes": 1024}]}]
    fields = {"max_wait_ms": 500, "session_id": 0, "session_epoch": -1}
    there = [{"topic": ORDERS, "partitions": [{"partition": 0, "partition_max_bytes": 1024}]}]
    entry = {"partition_index": 0, "high_watermark": 2, "records": plain_batch([b"text"])}
    wrong = {**entry, "records": b"", "error_code": ErrorCode.CORRUPT_MESSAGE}

    assert (
        stage.play()
        >> client_sends(messages.build("FetchRequest", {"topics": topics, **fields}), 12)
        << to_broker(messages.build("FetchRequest", {"topics": there, **fields}))
        >> broker_answers(
            messages.build("FetchResponse", {"responses": [{"topic": ORDERS, "partitions": [entry]}]})
        )
        << to_client(
            messages.build("FetchResponse", {"responses": [{"topic": "orders", "partitions": [wrong]}]})
        )
    )


def test_the_topics_have_any_policy(stage: Stage) -> None:
    divided(stage, "orders", partitions=COMPACTED)

    def wanted(topic: str, number: int, *configs: dict[str, str]) -> Any:
        entry = {"name": topic, "num_partitions": number, "replication_factor": 1, "configs": list(configs)}
        return messages.build("CreateTopicsRequest", {"topics": [entry], "timeout_ms": 1000})

    policy = {"name": "cleanup.policy", "value": "compact,delete"}
    assert (
        stage.play() >> client_sends(wanted("orders", 5, policy), 5) << to_broker(wanted(ORDERS, 2, policy))
    )
    assert stage.play() >> client_sends(wanted("orders", 5), 5) << to_broker(wanted(ORDERS, 2))
