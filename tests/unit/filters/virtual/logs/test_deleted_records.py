"""DeleteRecords of topics with five virtual partitions on two: 0, 2 and 4 are parts of physical partition 0."""

from __future__ import annotations

from typing import Any

import pytest

from bifrost.filters.virtual.logs import log_searches
from bifrost.filters.virtual.logs.log_searches import _CHUNK
from bifrost.wire.error_codes import ErrorCode
from support.physical_names import physical_name
from support.stage import messages
from support.stage.divided import divided, hits_of
from support.stage.playbook import Playbook, broker_answers, client_sends, to_broker, to_client
from support.stage.stage import Stage, Tenant
from support.stage.stored_logs import (
    EARLIEST,
    LATEST,
    log_asked,
    log_told,
    offsets_asked,
    offsets_told,
    own_batch,
    says_bounds,
)

ORDERS, BILLING = physical_name("acme", "orders"), physical_name("acme", "billing")
REFUSED, UNKNOWN = int(ErrorCode.POLICY_VIOLATION), int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
OUT_OF_RANGE, AGAIN = int(ErrorCode.OFFSET_OUT_OF_RANGE), int(ErrorCode.KAFKA_STORAGE_ERROR)
VERSION = 2


def asked(**topics: dict[int, int]) -> Any:
    entries = [
        {"name": name, "partitions": [{"partition_index": one, "offset": at} for one, at in some.items()]}
        for name, some in topics.items()
    ]
    return messages.build("DeleteRecordsRequest", {"topics": entries, "timeout_ms": 1})


def told(**topics: dict[int, int]) -> Any:
    """Return an answer: a low watermark of each, or an error below 0."""
    entries = [
        {
            "name": name,
            "partitions": [
                {"partition_index": one, "low_watermark": max(at, -1), "error_code": max(-at, 0)}
                for one, at in some.items()
            ],
        }
        for name, some in topics.items()
    ]
    return messages.build("DeleteRecordsResponse", {"topics": entries})


@pytest.fixture
def stage() -> Stage:
    stage = Stage({"acme": Tenant(("orders", "billing"), allow_topic_deletion=True)})
    divided(stage, "orders")
    return stage


@pytest.fixture
def book(stage: Stage) -> Playbook:
    return stage.play()


def test_all_records_of_all_that_share_a_partition_are_deleted(book: Playbook) -> None:
    began = book >> client_sends(asked(orders=dict.fromkeys(range(5), -1), billing={7: 3}), VERSION)

    assert (
        says_bounds(began, ORDERS, {0: (2, 9), 1: (0, 4)})
        << to_broker(asked(**{BILLING: {7: 3}, ORDERS: {0: 9, 1: 4}}))
        >> broker_answers(told(**{BILLING: {7: 3}, ORDERS: {0: 9, 1: 4}}))
        << to_client(told(billing={7: 3}, orders={0: 9, 2: 9, 4: 9, 1: 4, 3: 4}))
    )


def test_partitions_that_end_one_after_the_other_lose_just_their_own(book: Playbook) -> None:
    log = own_batch(0, 0, 3) + own_batch(1, 3, 2) + own_batch(2, 5) + own_batch(0, 6)
    began = book >> client_sends(asked(orders={0: 3, 2: 5, 4: 6}), VERSION)

    assert (
        says_bounds(began, ORDERS, {0: (0, 7)})
        << to_broker(log_asked(ORDERS, 0, 3, _CHUNK))
        >> broker_answers(log_told(ORDERS, 0, log))
        << to_broker(asked(**{ORDERS: {0: 6}}))
        >> broker_answers(told(**{ORDERS: {0: 6}}))
        << to_client(told(orders={0: 6, 2: 6, 4: 6}))
    )


def test_records_of_a_partition_that_is_not_named_stay(book: Playbook) -> None:
    log = own_batch(0, 0, 3) + own_batch(1, 3) + own_batch(0, 4)
    began = book >> client_sends(asked(orders={0: -1}, billing={0: 1}), VERSION)

    assert (
        says_bounds(began, ORDERS, {0: (0, 5)})
        << to_broker(log_asked(ORDERS, 0, 0, _CHUNK))
        >> broker_answers(log_told(ORDERS, 0, log))
        << to_broker(asked(**{BILLING: {0: 1}}))
        >> broker_answers(told(**{BILLING: {0: 1}}))
        << to_client(told(billing={0: 1}, orders={0: -REFUSED}))
        >> client_sends(asked(orders={0: 3}), VERSION)
        << to_broker(offsets_asked(ORDERS, {0: EARLIEST}))
        << to_broker(offsets_asked(ORDERS, {0: LATEST}))
        >> broker_answers(offsets_told(ORDERS, {0: 0}))
        >> broker_answers(offsets_told(ORDERS, {0: 5}))
        << to_broker(log_asked(ORDERS, 0, 0, _CHUNK))
        >> broker_answers(log_told(ORDERS, 0, log))
        << to_broker(asked(**{ORDERS: {0: 3}}))
        >> broker_answers(told(**{ORDERS: {0: 3}}))
        << to_client(told(orders={0: 3}))
    )


def test_offsets_that_cannot_be_are_out_of_range_and_their_records_stay(book: Playbook) -> None:
    began = book >> client_sends(asked(orders={0: 6, 1: -2, 2: 5, 4: 5, 5: 0, -1: 0}), VERSION)

    assert (
        says_bounds(began, ORDERS, {0: (4, 5), 1: (0, 9)})
        << to_broker(log_asked(ORDERS, 0, 4, _CHUNK))
        >> broker_answers(log_told(ORDERS, 0, own_batch(0, 4)))
        << to_broker(asked(**{ORDERS: {0: 4}}))
        >> broker_answers(told(**{ORDERS: {0: 4}}))
        << to_client(
            told(
                orders={
                    5: -UNKNOWN,
                    -1: -UNKNOWN,
                    0: -OUT_OF_RANGE,
                    1: -OUT_OF_RANGE,
                    2: 4,
                    4: 4,
                }
            )
        )
    )


def test_a_deletion_up_to_before_the_start_does_nothing(book: Playbook) -> None:
    began = book >> client_sends(asked(orders={2: 1}), VERSION)

    assert (
        says_bounds(began, ORDERS, {0: (4, 9)})
        << to_broker(asked(**{ORDERS: {0: 4}}))
        >> broker_answers(told(**{ORDERS: {0: 4}}))
        << to_client(told(orders={2: 4}))
    )


def test_of_a_partition_that_is_named_twice_the_last_offset_counts(book: Playbook) -> None:
    request = asked(orders={0: 2, 2: 2, 4: 2})
    more = asked(orders={0: 5, 2: 5, 4: 5})
    request.topics += more.topics
    began = book >> client_sends(request, VERSION)

    assert (
        says_bounds(began, ORDERS, {0: (0, 5)})
        << to_broker(asked(**{ORDERS: {0: 5}}))
        >> broker_answers(told(**{ORDERS: {0: 5}}))
        << to_client(told(orders={0: 5, 2: 5, 4: 5}))
    )


@pytest.mark.parametrize("code", [3, 6, 29])
def test_what_the_broker_does_not_say_is_its_error(book: Playbook, code: int) -> None:
    assert (
        book
        >> client_sends(asked(orders={0: 5, 2: 5}), VERSION)
        << to_broker(offsets_asked(ORDERS, {0: EARLIEST}))
        << to_broker(offsets_asked(ORDERS, {0: LATEST}))
        >> broker_answers(offsets_told(ORDERS, {0: -1}, code))
        >> broker_answers(offsets_told(ORDERS, {0: -1}, code))
        << to_broker(asked())
        >> broker_answers(told())
        << to_client(told(orders={0: -code, 2: -code}))
    )


@pytest.mark.parametrize(("code", "expected"), [(0, AGAIN), (int(OUT_OF_RANGE), AGAIN), (29, 29), (6, 6)])
def test_a_log_that_cannot_be_read_is_not_cut(book: Playbook, code: int, expected: int) -> None:
    began = book >> client_sends(asked(orders={0: 5}), VERSION)

    assert (
        says_bounds(began, ORDERS, {0: (0, 5)})
        << to_broker(log_asked(ORDERS, 0, 0, _CHUNK))
        >> broker_answers(log_told(ORDERS, 0, b"", code))
        << to_broker(asked())
        >> broker_answers(told())
        << to_client(told(orders={0: -expected}))
    )


def test_what_would_need_too_much_reading_is_refused(
    stage: Stage, book: Playbook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_searches, "MAX_SCAN_BYTES", 1)
    began = book >> client_sends(asked(orders={0: 5}), VERSION)

    assert (
        says_bounds(began, ORDERS, {0: (0, 5)})
        << to_broker(log_asked(ORDERS, 0, 0, _CHUNK))
        >> broker_answers(log_told(ORDERS, 0, own_batch(0, 0, 2)))
        << to_broker(asked())
        >> broker_answers(told())
        << to_client(told(orders={0: -REFUSED}))
    )
    assert hits_of(stage) == {("virtual_offset_bytes", "acme"): 1}


def test_topics_without_virtual_partitions_go_on_as_they_are(book: Playbook) -> None:
    assert (
        book
        >> client_sends(asked(billing={0: 1}), VERSION)
        << to_broker(asked(**{BILLING: {0: 1}}))
        >> broker_answers(told(**{BILLING: {0: 1}}))
        << to_client(told(billing={0: 1}))
    )
