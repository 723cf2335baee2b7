from typing import Any

import pytest

from bifrost.tenancy.virtual_partitions import scanned_offsets
from bifrost.tenancy.virtual_partitions.partition_end import STEP
from bifrost.tenancy.virtual_partitions.partition_map import PartitionGroup
from bifrost.tenancy.virtual_partitions.virtual_batches import marked_batch, own_records
from bifrost.wire.error_codes import ErrorCode
from support.clients.record_batches import build_batch
from support.physical_names import physical_name
from support.stage import messages
from support.stage.divided import divided, hits_of
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


def own(log: bytes, group: int, offset: int, until: int = 0) -> bytes:
    """Return what a consumer gets; nothing moves it behind its last record before `until`."""
    found = own_records(log, {PartitionGroup(group): offset}, until).records[PartitionGroup(group)]
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


def told(
    *topics: tuple[str, dict[int, bytes | int]], ends: dict[int, int] | None = None, **fields: Any
) -> Any:
    """Return an answer with records or an error of each partition; `ends` has high watermarks that are not 9."""
    entries = [
        {
            "topic": name,
            "partitions": [
                {"partition_index": index, "high_watermark": (ends or {}).get(index, 9), "records": one}
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


def test_a_topic_that_is_named_between_others_is_asked_for_once(stage: Stage) -> None:
    """As Java's consumer names topics; of a partition that a broker is asked for twice the last offset would count."""
    divided(stage, "orders")
    log = stored(1, 0, 2)

    assert (
        stage.play()
        >> client_sends(
            asked(("orders", [(2, 0)]), ("billing", [(7, 5)]), ("orders", [(0, 2), (4, 1), (1, 3)])), 12
        )
        << to_broker(asked((ORDERS, [(0, 0), (1, 3)]), (BILLING, [(7, 5)])))
        >> broker_answers(told((ORDERS, {0: log, 1: b""}), (BILLING, {7: b"whatever"})))
        << to_client(
            told(
                ("orders", {2: own(log, 1, 0), 0: own(log, 0, 2), 4: own(log, 2, 1), 1: b""}),
                ("billing", {7: b"whatever"}),
            )
        )
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


def starts(name: str, **partitions: int) -> Any:
    """Return the request for where logs begin."""
    some = [{"partition_index": int(one[1:]), "timestamp": -2} for one in partitions]
    return messages.build(
        "ListOffsetsRequest", {"replica_id": -1, "topics": [{"name": name, "partitions": some}]}
    )


def begins(name: str, error_code: int = 0, **partitions: int) -> Any:
    some = [
        {"partition_index": int(one[1:]), "offset": offset, "timestamp": -1, "error_code": error_code}
        for one, offset in partitions.items()
    ]
    return messages.build("ListOffsetsResponse", {"topics": [{"name": name, "partitions": some}]})


OUT_OF_RANGE = int(ErrorCode.OFFSET_OUT_OF_RANGE)


def out_of_range(stage: Stage, offset: int) -> Any:
    """Play until the gateway has asked where the log begins, for a consumer of partition 2 at this offset."""
    return (
        stage.play()
        >> client_sends(asked(("orders", [(2, offset)])), 12)
        << to_broker(asked((ORDERS, [(0, offset)])))
        >> broker_answers(told((ORDERS, {0: OUT_OF_RANGE})))
        << to_client(told(("orders", {2: 0})))
        >> client_sends(asked(("orders", [(2, offset)])), 12)
        << to_broker(starts(ORDERS, p0=-2))
    )


@pytest.mark.parametrize("before", [1, 2 * STEP])
def test_an_offset_a_little_before_the_log_goes_on_at_its_start(stage: Stage, before: int) -> None:
    """Only records of others have been deleted behind it, as far as the gateway can know."""
    divided(stage, "orders")
    log = bytearray(stored(1))
    log[:8] = (50_003).to_bytes(8, "big")

    assert (
        out_of_range(stage, 50_000 - before)
        >> broker_answers(begins(ORDERS, p0=50_000))
        << to_broker(asked((ORDERS, [(0, 50_000)])))
        >> broker_answers(told((ORDERS, {0: bytes(log)}), ends={0: 50_004}))
        << to_client(told(("orders", {2: bytes(log)}), ends={2: 50_004}))
    )


@pytest.mark.parametrize(
    ("offset", "start", "error_code"),
    [(50_000 - 2 * STEP - 1, 50_000, 0), (70_000, 50_000, 0), (40_000, -1, 6), (-5, 10, 0)],
    ids=["long before", "behind the end", "no answer", "no offset"],
)
def test_another_offset_is_out_of_range(stage: Stage, offset: int, start: int, error_code: int) -> None:
    divided(stage, "orders")

    assert (
        out_of_range(stage, offset)
        >> broker_answers(begins(ORDERS, error_code, p0=start))
        << to_broker(asked((ORDERS, [(0, offset)])))
        >> broker_answers(told((ORDERS, {0: OUT_OF_RANGE})))
        << to_client(told(("orders", {2: OUT_OF_RANGE})))
    )


def test_only_those_at_an_offset_out_of_range_are_told(stage: Stage) -> None:
    divided(stage, "orders")

    assert (
        stage.play()
        >> client_sends(asked(("orders", [(0, 4), (2, 1), (4, 1)])), 12)
        << to_broker(asked((ORDERS, [(0, 1)])))
        >> broker_answers(told((ORDERS, {0: OUT_OF_RANGE})))
        << to_client(told(("orders", {0: 0, 2: 0, 4: 0})))
        >> client_sends(asked(("orders", [(0, 4), (2, 1), (4, 1)])), 12)
        << to_broker(starts(ORDERS, p0=-2))
        >> broker_answers(begins(ORDERS, p0=0))
        << to_broker(asked((ORDERS, [(0, 1)])))
        >> broker_answers(told((ORDERS, {0: OUT_OF_RANGE})))
        << to_client(told(("orders", {0: 0, 2: OUT_OF_RANGE, 4: OUT_OF_RANGE})))
    )


def test_a_consumer_stays_at_its_end_and_the_gateway_goes_on(stage: Stage) -> None:
    divided(stage, "orders")
    log = stored(0, 1, 2, 2, 0)
    more = bytearray(stored(1))
    more[:8] = (7).to_bytes(8, "big")

    assert (
        stage.play()
        >> client_sends(asked(("orders", [(2, 0)])), 12)
        << to_broker(asked((ORDERS, [(0, 0)])))
        >> broker_answers(told((ORDERS, {0: log}), ends={0: 5}))
        # The end of the virtual partition is behind its last record.
        << to_client(told(("orders", {2: own(log, 1, 0)}), ends={2: 2}))
        >> client_sends(asked(("orders", [(2, 2)])), 12)
        << to_broker(asked((ORDERS, [(0, 5)])))
        >> broker_answers(told((ORDERS, {0: b""}), ends={0: 5}))
        << to_client(told(("orders", {2: b""}), ends={2: 2}))
        # Another partition of the same physical one has not been so far.
        >> client_sends(asked(("orders", [(2, 2), (4, 3)])), 12)
        << to_broker(asked((ORDERS, [(0, 3)])))
        >> broker_answers(told((ORDERS, {0: log[3 * len(log) // 5 :]}), ends={0: 9}))
        << to_client(told(("orders", {2: b"", 4: own(log, 2, 3)})))
        >> client_sends(asked(("orders", [(2, 2)])), 12)
        << to_broker(asked((ORDERS, [(0, 5)])))
        >> broker_answers(told((ORDERS, {0: bytes(more)}), ends={0: 8}))
        << to_client(told(("orders", {2: bytes(more)}), ends={2: 8}))
        >> client_sends(asked(("orders", [(2, 8)])), 12)
        << to_broker(asked((ORDERS, [(0, 8)])))
    )


def test_under_another_leader_a_log_is_read_again(stage: Stage) -> None:
    divided(stage, "orders")
    log, again = stored(1, 0), asked(("orders", [(2, 1)]))
    again.topics[0].partitions[0].current_leader_epoch = 4
    expected = asked((ORDERS, [(0, 1)]))
    expected.topics[0].partitions[0].current_leader_epoch = 4

    assert (
        stage.play()
        >> client_sends(asked(("orders", [(2, 0)])), 12)
        << to_broker(asked((ORDERS, [(0, 0)])))
        >> broker_answers(told((ORDERS, {0: log}), ends={0: 2}))
        << to_client(told(("orders", {2: own(log, 1, 0)}), ends={2: 1}))
        >> client_sends(again, 12)
        << to_broker(expected)
    )


def test_an_open_transaction_ends_the_log_of_who_reads_committed_records(stage: Stage) -> None:
    divided(stage, "orders")
    log = stored(1, 0)
    answer = told((ORDERS, {0: log}), ends={0: 7})
    answer.responses[0].partitions[0].last_stable_offset = 2
    expected = told(("orders", {2: own(log, 1, 0)}), ends={2: 1})
    expected.responses[0].partitions[0].last_stable_offset = 1

    assert (
        stage.play()
        >> client_sends(asked(("orders", [(2, 0)]), isolation_level=1), 12)
        << to_broker(asked((ORDERS, [(0, 0)]), isolation_level=1))
        >> broker_answers(answer)
        << to_client(expected)
    )


def test_a_consumer_far_behind_is_moved_by_markers(stage: Stage) -> None:
    """As far as virtual partitions end at the least, and to the start of the log."""
    divided(stage, "orders")
    log, far = stored(0, 0, 0), 9 * STEP

    assert (
        stage.play()
        >> client_sends(asked(("orders", [(2, 0)])), 12)
        << to_broker(asked((ORDERS, [(0, 0)])))
        >> broker_answers(told((ORDERS, {0: log}), ends={0: far}))
        << to_client(told(("orders", {2: own(log, 1, 0, 3)}), ends={2: far}))
    )
    answer, expected = told((ORDERS, {0: log}), ends={0: 3}), told(("orders", {2: own(log, 1, 0, 2)}))
    answer.responses[0].partitions[0].log_start_offset = 2
    expected.responses[0].partitions[0].log_start_offset = 2
    expected.responses[0].partitions[0].high_watermark = 2
    assert (
        stage.play()
        >> client_sends(asked(("orders", [(2, 0)])), 12)
        << to_broker(asked((ORDERS, [(0, 0)])))
        >> broker_answers(answer)
        << to_client(expected)
    )


def test_what_is_remembered_has_a_bound(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond it a marker moves the consumer to the end of what was fetched."""
    divided(stage, "orders")
    log = stored(1, 2, 0)
    monkeypatch.setattr(scanned_offsets, "MAX_PARTITIONS", 1)
    book = (
        stage.play()
        >> client_sends(asked(("orders", [(2, 0)])), 12)
        << to_broker(asked((ORDERS, [(0, 0)])))
        >> broker_answers(told((ORDERS, {0: log}), ends={0: 3}))
        << to_client(told(("orders", {2: own(log, 1, 0)}), ends={2: 1}))
    )
    assert not hits_of(stage)
    assert (
        book
        >> client_sends(asked(("orders", [(4, 0)])), 12)
        << to_broker(asked((ORDERS, [(0, 0)])))
        >> broker_answers(told((ORDERS, {0: log}), ends={0: 3}))
        << to_client(told(("orders", {4: own(log, 2, 0, 3)}), ends={4: 3}))
        >> client_sends(asked(("orders", [(4, 3)])), 12)
        << to_broker(asked((ORDERS, [(0, 3)])))
    )
    assert hits_of(stage) == {("virtual_partitions_scanned", "acme"): 1}


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
