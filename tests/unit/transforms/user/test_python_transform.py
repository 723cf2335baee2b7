from dataclasses import replace
from typing import Any

import pytest

from bifrost.config.records.filter_configs import FilterConfig
from bifrost.records.codec.client_batch import ClientBatch, read_columns
from bifrost.records.codec.columns import BytesColumn, ColumnRecord, Columns
from bifrost.transforms.record_transform import Direction, Failure, Needs, Noted, Rejected
from bifrost.transforms.transform_kind import Topic
from bifrost.transforms.user.python_transform import KIND, UserRun
from bifrost.wire.error_codes import ErrorCode
from support.physical_names import physical_name
from support.records.record_columns import batch_of, only_batch, plenty

TOPIC = Topic("acme", "orders", physical_name("acme", "orders").encode())
PRODUCE, FETCH = Direction.PRODUCE, Direction.FETCH
RECORDS = [ColumnRecord(place, 0, b"k", b"v%d" % place) for place in range(3)]
BATCH = only_batch(batch_of(RECORDS, base_offset=9))


def outcome(
    answer: object = None, direction: Direction = PRODUCE, batch: ClientBatch = BATCH, **config: Any
) -> Any:
    """Return what becomes of a batch for which the process gives this answer."""
    options = {"transform_file": "/x.py"} | config
    transform = KIND.make("mine", FilterConfig.model_validate(options), TOPIC)
    columns = read_columns(batch, plenty())
    first = transform.transform(batch, columns, direction, {}, plenty())  # type: ignore[union-attr]
    if answer is None or not isinstance(first, Needs):
        return first
    return transform.transform(batch, columns, direction, dict.fromkeys(first.names, answer), plenty())  # type: ignore[union-attr]


def test_a_batch_is_asked_for_by_its_digest() -> None:
    (key,) = outcome().names
    (same,) = outcome().names
    (other,) = outcome(batch=only_batch(batch_of(RECORDS[:1]))).names
    (fetched,) = outcome(direction=FETCH).names

    assert isinstance(key, UserRun)
    assert (key.source, key.topic, key.spec.tenant, key.spec.filter) == (
        "transforms",
        "orders",
        "acme",
        "mine",
    )
    assert key == same
    assert hash(key) == hash(same)
    assert len({key, other, fetched}) == 3
    assert key.given.base_offset == 9
    assert [record.value for record in key.given.columns.records()] == [b"v0", b"v1", b"v2"]  # type: ignore[union-attr]


def test_the_answer_is_the_new_batch() -> None:
    made = Columns.of([one._replace(value=b"new") for one in RECORDS])

    assert outcome(made) is made
    assert outcome(Columns.of(RECORDS[1:2]), FETCH).records() == RECORDS[1:2]
    assert len(outcome(Columns.of([]), FETCH)) == 0


WRONG = [
    Columns.of(RECORDS[:2]),
    Columns.of([RECORDS[1], RECORDS[0], RECORDS[2]]),
    Columns.of([*RECORDS, ColumnRecord(3, 0, b"", b"")]),
    Columns.of(RECORDS).with_values(BytesColumn(b"", BytesColumn.of([b"x"] * 3).offsets, b"\1\0\0\0" * 3)),
    Columns.of(RECORDS).with_values(BytesColumn.of([b"x"])),
]


@pytest.mark.parametrize("made", WRONG)
def test_on_produce_records_stay_where_they_are(made: Columns) -> None:
    refused = outcome(made)

    assert isinstance(refused, Rejected)
    assert refused.error_code is ErrorCode.INVALID_RECORD
    assert str(refused.reason).startswith("mine: ")
    assert isinstance(outcome(made, fail="open"), Noted)


@pytest.mark.parametrize("made", WRONG[1:])
def test_on_fetch_records_are_in_order_and_within_the_batch(made: Columns) -> None:
    assert outcome(made, FETCH).error_code is ErrorCode.CORRUPT_MESSAGE


def test_a_failure_refuses_the_batch_or_lets_it_pass() -> None:
    failed, later = (
        Failure("mine: it failed", is_retriable=False),
        Failure("mine: not yet", is_retriable=True),
    )

    assert outcome(failed) == Rejected((), "mine: it failed", ErrorCode.INVALID_RECORD)
    assert outcome(failed, FETCH).error_code is ErrorCode.CORRUPT_MESSAGE
    assert outcome(later).error_code is ErrorCode.REQUEST_TIMED_OUT
    assert outcome(later, FETCH).error_code is ErrorCode.KAFKA_STORAGE_ERROR
    for one in (failed, later):
        passed = outcome(one, fail="open")
        assert (passed.what, [record.value for record in passed.outcome.records()]) == (
            "passed",
            [b"v0", b"v1", b"v2"],
        )


def test_a_failure_that_may_pass_is_final_where_records_are_put_aside() -> None:
    later = Failure("mine: not yet", is_retriable=True)

    found = outcome(later, fail="quarantine", quarantine_topic="bad")

    assert found == Rejected((), "mine: not yet", ErrorCode.INVALID_RECORD)


def test_a_batch_without_records_is_not_asked_for() -> None:
    assert len(outcome(batch=only_batch(batch_of([], last_offset_delta=4)), direction=FETCH)) == 0


def test_nothing_of_the_records_is_printed() -> None:
    (key,) = outcome().names

    assert "v1" not in repr(key)
    assert replace(key, topic="other") != key
