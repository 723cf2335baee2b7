from dataclasses import replace

import pytest

from bifrost.records.codec.columns import ColumnRecord, Columns
from bifrost.transforms.encryption.seal_rules import SealRules
from bifrost.transforms.record_transform import Direction, Failure, Noted, Rejected
from bifrost.wire.error_codes import ErrorCode
from support.records.record_columns import batch_of, only_batch, plenty

BATCH = only_batch(batch_of([ColumnRecord(0, 0, b"k", b"v")], base_offset=7))
GONE, AWAY = Failure("the KEK is gone", is_retriable=False), Failure("the KEK is away", is_retriable=True)


@pytest.mark.parametrize(
    ("direction", "failure", "code"),
    [
        (Direction.PRODUCE, AWAY, ErrorCode.REQUEST_TIMED_OUT),
        (Direction.PRODUCE, GONE, ErrorCode.POLICY_VIOLATION),
        (Direction.FETCH, AWAY, ErrorCode.KAFKA_STORAGE_ERROR),
        (Direction.FETCH, GONE, ErrorCode.CORRUPT_MESSAGE),
    ],
)
def test_without_a_key_nothing_passes(
    rules: SealRules, direction: Direction, failure: Failure, code: ErrorCode
) -> None:
    outcome = rules.without_dek(BATCH, failure, direction)

    assert isinstance(outcome, Rejected)
    assert outcome.error_code == code
    assert failure.reason in (outcome.reason or "")
    assert ("offset 7" in (outcome.reason or "")) == (direction is Direction.FETCH)


def test_only_a_missing_key_is_skipped_and_only_for_consumers(rules: SealRules) -> None:
    skipping = replace(rules, skips_missing_keys=True)

    skipped = skipping.without_dek(BATCH, GONE, Direction.FETCH)

    assert isinstance(skipped, Noted)
    assert skipped.what == "skipped"
    assert isinstance(skipped.outcome, bytes)
    assert only_batch(skipped.outcome).record_count == 0
    assert isinstance(skipping.without_dek(BATCH, AWAY, Direction.FETCH), Rejected)
    assert isinstance(skipping.without_dek(BATCH, GONE, Direction.PRODUCE), Rejected)


@pytest.mark.parametrize(
    ("timestamp_ms", "before_ms", "passes"),
    [(999, 1000, True), (1000, 1000, False), (-1, 1000, False), (5, None, False)],
)
def test_plaintext_passes_where_it_is_old(
    rules: SealRules, timestamp_ms: int, before_ms: int | None, passes: bool
) -> None:
    batch = BATCH._replace(max_timestamp_ms=timestamp_ms)

    assert replace(rules, plaintext_before_ms=before_ms).accepts_plaintext(batch) is passes


def test_plaintext_has_a_mark(rules: SealRules) -> None:
    columns = Columns.of([ColumnRecord(0, 0, None, b"v", ((b"a", b"b"),))])

    assert rules.marked(columns, plenty()).headers(0) == ((b"a", b"b"), (b"bifrost.plaintext", b"true"))


def test_a_place_is_bound_to_cluster_topic_and_partition(rules: SealRules) -> None:
    place = rules.place(3)

    assert (place.cluster, place.topic, place.partition) == ("cluster", "physical.orders", 3)
    assert rules.context == ("cluster", "physical.orders")
