"""ListOffsets -3 of topics with five virtual partitions on two: 0, 2 and 4 are parts of physical partition 0."""

from __future__ import annotations

from typing import Any

import pytest

from bifrost.filters.virtual.logs import log_searches
from bifrost.filters.virtual.logs.log_searches import _CHUNK
from bifrost.wire.error_codes import ErrorCode
from support.clients.record_batches import TIMESTAMP_MS
from support.physical_names import physical_name
from support.stage import messages
from support.stage.divided import divided, hits_of
from support.stage.playbook import Playbook, broker_answers, client_sends, to_broker, to_client
from support.stage.stage import Stage
from support.stage.stored_logs import (
    log_asked,
    log_told,
    offsets_asked,
    offsets_told,
    own_batch,
    says_bounds,
)

ORDERS = physical_name("acme", "orders")
MAX_TIMESTAMP = -3
UNSUPPORTED = int(ErrorCode.UNSUPPORTED_VERSION)


def asked(times: dict[int, int], name: str = "orders", isolation_level: int = 0) -> Any:
    return offsets_asked(name, times, isolation_level)


def told(answers: dict[int, tuple[int, int, int]]) -> Any:
    """Return an answer: offset, timestamp and error of each."""
    some = [
        {"partition_index": one, "offset": at, "timestamp": time, "leader_epoch": -1, "error_code": code}
        for one, (at, time, code) in answers.items()
    ]
    for one in some:
        one["leader_epoch"] = 0 if one["offset"] >= 0 else -1
    return messages.build("ListOffsetsResponse", {"topics": [{"name": "orders", "partitions": some}]})


@pytest.fixture
def book(stage: Stage) -> Playbook:
    divided(stage, "orders")
    return stage.play()


def nothing_else(book: Playbook) -> Playbook:
    """Let the broker answer what is left of the client's request: nothing."""
    return (
        book
        << to_broker(messages.build("ListOffsetsRequest", {"replica_id": -1}))
        >> broker_answers(messages.build("ListOffsetsResponse", {}))
    )


@pytest.mark.parametrize("version", [7, 8, 9])
def test_each_partition_has_a_latest_record_of_its_own(book: Playbook, version: int) -> None:
    log = own_batch(0, 0, 3) + own_batch(1, 3) + own_batch(0, 4)
    began = book >> client_sends(asked({0: -3, 2: -3, 4: -3}), version)

    read = (
        says_bounds(began, ORDERS, {0: (0, 5)})
        << to_broker(log_asked(ORDERS, 0, 0, _CHUNK))
        >> broker_answers(log_told(ORDERS, 0, log))
    )
    assert nothing_else(read) << to_client(
        told({0: (2, TIMESTAMP_MS + 2, 0), 2: (3, TIMESTAMP_MS, 0), 4: (-1, -1, 0)})
    )


def test_the_broker_says_whether_an_earlier_record_is_later(book: Playbook) -> None:
    began = book >> client_sends(asked({2: -3}), 7)

    read = (
        says_bounds(began, ORDERS, {0: (0, 1000)})
        << to_broker(log_asked(ORDERS, 0, 936, _CHUNK))
        >> broker_answers(log_told(ORDERS, 0, own_batch(0, 936, 32) + own_batch(1, 968, 32)))
        << to_broker(offsets_asked(ORDERS, {0: TIMESTAMP_MS + 31}))
        >> broker_answers(offsets_told(ORDERS, {0: 940}))
    )
    assert nothing_else(read) << to_client(told({2: (999, TIMESTAMP_MS + 31, 0)}))


def test_before_the_version_that_has_it_there_is_none(book: Playbook) -> None:
    assert nothing_else(book >> client_sends(asked({2: -3}), 6)) << to_client(
        told({2: (-1, -1, UNSUPPORTED)})
    )


def test_what_would_need_too_much_reading_is_not_answered(
    stage: Stage, book: Playbook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_searches, "MAX_SCAN_BYTES", 1)
    began = book >> client_sends(asked({0: -3, 2: -3}), 7)

    read = (
        says_bounds(began, ORDERS, {0: (0, 5)})
        << to_broker(log_asked(ORDERS, 0, 0, _CHUNK))
        >> broker_answers(log_told(ORDERS, 0, own_batch(0, 0, 2)))
    )
    assert nothing_else(read) << to_client(told({0: (-1, -1, UNSUPPORTED), 2: (-1, -1, UNSUPPORTED)}))
    assert hits_of(stage) == {("virtual_offset_bytes", "acme"): 1}


@pytest.mark.parametrize("code", [6, 29])
def test_what_the_broker_does_not_say_is_its_error(book: Playbook, code: int) -> None:
    began = (
        book
        >> client_sends(asked({0: -3}), 7)
        << to_broker(offsets_asked(ORDERS, {0: -2}))
        << to_broker(offsets_asked(ORDERS, {0: -1}))
        >> broker_answers(offsets_told(ORDERS, {0: -1}, code))
        >> broker_answers(offsets_told(ORDERS, {0: -1}, code))
    )

    assert nothing_else(began) << to_client(told({0: (-1, -1, code)}))


def test_only_committed_records_count_for_who_reads_these(book: Playbook) -> None:
    began = book >> client_sends(asked({0: -3}, isolation_level=1), 7)

    assert (
        says_bounds(began, ORDERS, {0: (0, 2)}, 1)
        << to_broker(log_asked(ORDERS, 0, 0, _CHUNK))
        >> broker_answers(log_told(ORDERS, 0, own_batch(0, 0, 2) + own_batch(0, 2, 9)))
        << to_broker(messages.build("ListOffsetsRequest", {"replica_id": -1, "isolation_level": 1}))
        >> broker_answers(messages.build("ListOffsetsResponse", {}))
        << to_client(told({0: (1, TIMESTAMP_MS + 1, 0)}))
    )
