from typing import Any

import pytest

from bifrost.tenancy.virtual_partitions.partition_map import PartitionGroup
from bifrost.tenancy.virtual_partitions.virtual_batches import marked_batch, own_records
from bifrost.wire.error_codes import ErrorCode
from support.clients.record_batches import build_batch
from support.physical_names import physical_name
from support.stage import messages
from support.stage.divided import divided
from support.stage.playbook import broker_answers, client_sends, to_broker, to_client
from support.stage.stage import Stage

ORDERS, BILLING = physical_name("acme", "orders"), physical_name("acme", "billing")
NO_SESSION = {"session_id": 0, "session_epoch": -1}


def stored(*groups: int) -> bytes:
    """Return a batch of each group, as a broker has them from offset 0 on."""
    log = b""
    for offset, group in enumerate(groups):
        batch = marked_batch(build_batch([b"%d" % offset], producer_id=7, base_sequence=0), group)
        log += offset.to_bytes(8, "big") + (b"".join(batch) if isinstance(batch, tuple) else bytes(batch))[8:]
    return log


def own(log: bytes, group: int, offset: int) -> bytes:
    found = own_records(log, {PartitionGroup(group): offset})[0][PartitionGroup(group)]
    return b"".join(found) if isinstance(found, tuple) else bytes(found)


def asked(*topics: tuple[str, list[tuple[int, int]]], **fields: Any) -> Any:
    entries = [
        {
            "topic": name,
            "partitions": [
                {
                    "partition": one,
                    "fetch_offset": offset,
                    "partition_max_bytes": 1024,
                    "current_leader_epoch": 3,
                }
                for one, offset in partitions
            ],
        }
        for name, partitions in topics
    ]
    return messages.build("FetchRequest", {"max_wait_ms": 500, "topics": entries, **NO_SESSION, **fields})


def told(*topics: tuple[str, dict[int, bytes | int]], **fields: Any) -> Any:
    entries = [
        {
            "topic": name,
            "partitions": [
                {"partition_index": index, "high_watermark": 9, "records": one}
                if isinstance(one, bytes)
                else {"partition_index": index, "error_code": one, "high_watermark": -1, "records": b""}
                for index, one in partitions.items()
            ],
        }
        for name, partitions in topics
    ]
    return messages.build("FetchResponse", {"responses": entries, **fields})


@pytest.mark.parametrize("version", [4, 7, 12])
def test_a_physical_partition_is_fetched_once_from_the_lowest_offset_on(stage: Stage, version: int) -> None:
    divided(stage, "orders")
    log = stored(0, 1, 2, 2, 0)

    assert (
        stage.play()
        >> client_sends(asked(("orders", [(0, 4), (2, 1), (4, 3), (1, 8)]), ("billing", [(7, 5)])), version)
        << to_broker(asked((ORDERS, [(0, 1), (1, 8)]), (BILLING, [(7, 5)])))
        >> broker_answers(told((ORDERS, {0: log, 1: b""}), (BILLING, {7: b"whatever"})))
        << to_client(
            told(
                ("orders", {0: own(log, 0, 4), 2: own(log, 1, 1), 4: own(log, 2, 3), 1: b""}),
                ("billing", {7: b"whatever"}),
            )
        )
    )


def test_a_partition_that_is_named_often_is_answered_once(stage: Stage) -> None:
    divided(stage, "orders")
    log = stored(1, 0)

    assert (
        stage.play()
        >> client_sends(asked(("orders", [(2, 1)] + [(2, 0)] * 3)), 12)
        << to_broker(asked((ORDERS, [(0, 0)])))
        >> broker_answers(told((ORDERS, {0: log})))
        << to_client(told(("orders", {2: own(log, 1, 0)})))
    )


def test_most_bytes_and_the_newest_epoch_are_asked_for(stage: Stage) -> None:
    divided(stage, "orders")
    request = asked(("orders", [(0, 4), (2, 1), (4, 3)]))
    first, _, third = request.topics[0].partitions
    first.partition_max_bytes, third.current_leader_epoch = 5000, 8
    expected = asked((ORDERS, [(0, 1)]))
    expected.topics[0].partitions[0].partition_max_bytes = 5000
    expected.topics[0].partitions[0].current_leader_epoch = 8

    assert (
        stage.play()
        >> client_sends(request, 12)
        << to_broker(expected)
        >> broker_answers(told((ORDERS, {0: b""})))
        << to_client(told(("orders", {0: b"", 2: b"", 4: b""})))
    )


def test_an_offset_out_of_range_is_told_to_those_who_asked_for_it(stage: Stage) -> None:
    divided(stage, "orders")
    code = int(ErrorCode.OFFSET_OUT_OF_RANGE)
    expected = told(("orders", {0: 0, 2: code, 4: code}))

    assert (
        stage.play()
        >> client_sends(asked(("orders", [(0, 4), (2, 1), (4, 1)])), 12)
        << to_broker(asked((ORDERS, [(0, 1)])))
        >> broker_answers(told((ORDERS, {0: code})))
        << to_client(expected)
    )


def test_other_errors_are_told_to_all(stage: Stage) -> None:
    divided(stage, "orders")

    assert (
        stage.play()
        >> client_sends(asked(("orders", [(0, 4), (2, 1)])), 12)
        << to_broker(asked((ORDERS, [(0, 1)])))
        >> broker_answers(told((ORDERS, {0: 6})))
        << to_client(told(("orders", {0: 6, 2: 6})))
    )


def test_partitions_that_there_are_not_are_answered_here(stage: Stage) -> None:
    divided(stage, "orders")

    assert (
        stage.play()
        >> client_sends(asked(("orders", [(5, 0), (0, 0)])), 12)
        << to_broker(asked((ORDERS, [(0, 0)])))
        >> broker_answers(told((ORDERS, {0: b""})))
        << to_client(told(("orders", {0: b"", 5: 3})))
        >> client_sends(asked(("orders", [(-1, 0)])), 12)
        << to_broker(asked())
        >> broker_answers(told())
        << to_client(told(("orders", {-1: 3})))
    )


def test_versions_without_batch_headers_are_refused(stage: Stage) -> None:
    divided(stage, "orders")

    assert (
        stage.play()
        >> client_sends(asked(("orders", [(0, 0)])), 3)
        << to_broker(asked())
        >> broker_answers(told())
        << to_client(told(("orders", {0: int(ErrorCode.UNSUPPORTED_VERSION)})))
    )


def test_a_fetch_session_does_not_begin(stage: Stage) -> None:
    divided(stage, "orders")

    assert (
        stage.play()
        >> client_sends(asked(("orders", [(0, 0)]), session_epoch=0), 12)
        << to_broker(asked((ORDERS, [(0, 0)])))
        >> broker_answers(told((ORDERS, {0: b""})))
        << to_client(told(("orders", {0: b""})))
    )


def test_a_session_of_other_topics_ends_when_such_a_topic_comes(stage: Stage) -> None:
    divided(stage, "orders")
    book = (
        stage.play()
        >> client_sends(asked(("billing", [(0, 0)]), session_epoch=0), 12)
        << to_broker(asked((BILLING, [(0, 0)]), session_epoch=0))
        >> broker_answers(told((BILLING, {0: b""}), session_id=77))
        << to_client(told(("billing", {0: b""}), session_id=77))
    )
    not_found = told(session_id=0, error_code=int(ErrorCode.FETCH_SESSION_ID_NOT_FOUND))

    assert (
        book
        >> client_sends(asked(("orders", [(0, 0)]), session_id=77, session_epoch=1), 12)
        << to_client(not_found)
        >> client_sends(
            asked(("billing", [(0, 0)]), ("orders", [(2, 0)]), session_id=77, session_epoch=0), 12
        )
        << to_broker(asked((BILLING, [(0, 0)]), (ORDERS, [(0, 0)]), session_id=77))
        >> broker_answers(told((BILLING, {0: b""}), (ORDERS, {0: b""})))
        << to_client(told(("billing", {0: b""}), ("orders", {2: b""})))
    )


@pytest.mark.parametrize(
    ("change", "code"),
    [((16, b"\1"), ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT), ((23, b"\xff"), ErrorCode.CORRUPT_MESSAGE)],
)
def test_what_does_not_say_whose_it_is_is_an_error(
    stage: Stage, change: tuple[int, bytes], code: ErrorCode
) -> None:
    divided(stage, "orders")
    log = bytearray(stored(0))
    log[change[0] : change[0] + 1] = change[1]
    answer = told(("orders", {2: b""}))
    answer.responses[0].partitions[0].error_code = int(code)

    assert (
        stage.play()
        >> client_sends(asked(("orders", [(2, 0)])), 12)
        << to_broker(asked((ORDERS, [(0, 0)])))
        >> broker_answers(told((ORDERS, {0: bytes(log)})))
        << to_client(answer)
    )
