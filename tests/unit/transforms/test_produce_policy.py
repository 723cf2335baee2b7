import pytest

from bifrost.config.records.filter_configs import FilterConfig
from bifrost.records.codec.client_batch import read_columns
from bifrost.records.codec.columns import ColumnRecord, Columns
from bifrost.transforms.produce_policy import KIND, MAX_REJECTIONS
from bifrost.transforms.record_transform import Direction, Outcome, Rejected, Rejection
from bifrost.transforms.transform_kind import Topic
from bifrost.wire.error_codes import ErrorCode
from support.physical_names import physical_name
from support.records.record_columns import batch_of, only_batch, plenty

TOPIC = Topic("acme", "orders", physical_name("acme", "orders").encode())


def judged(config: dict[str, object], *records: ColumnRecord, codec: int = 0) -> Outcome:
    batch = only_batch(batch_of(records, codec=codec))
    policy = KIND.make("gate", FilterConfig.model_validate(config), TOPIC)
    return policy.transform(batch, read_columns(batch, plenty()), Direction.PRODUCE, {}, plenty())


def test_it_is_for_producers_alone() -> None:
    assert KIND.directions == {Direction.PRODUCE}


def test_records_that_lack_something_are_rejected_one_by_one() -> None:
    config = {"require_key": True, "required_headers": ["trace"], "max_record_bytes": 20}
    trace = ((b"trace", b""),)

    outcome = judged(
        config,
        ColumnRecord(0, 0, b"k", b"v", trace),
        ColumnRecord(1, 0, None, b"v", trace),
        ColumnRecord(2, 0, b"k", b"v"),
        ColumnRecord(3, 0, b"k", b"v" * 30, trace),
    )

    assert outcome == Rejected(
        (
            Rejection(1, "gate: the record has no key"),
            Rejection(2, "gate: the record has no header trace"),
            Rejection(3, "gate: the record has more than 20 bytes"),
        )
    )


@pytest.mark.parametrize(("codec", "passes"), [(0, False), (1, False), (2, False), (3, True), (4, True)])
def test_a_batch_in_another_compression_is_rejected_whole(codec: int, passes: bool) -> None:
    outcome = judged({"compression": ["zstd", "lz4"]}, ColumnRecord(0, 0, b"k", b"v"), codec=codec)

    if passes:
        assert isinstance(outcome, Columns)
    else:
        assert isinstance(outcome, Rejected)
        assert (outcome.rejections, outcome.error_code) == ((), ErrorCode.POLICY_VIOLATION)
        assert (outcome.reason or "").endswith("allowed: lz4, zstd")


def test_a_client_is_not_told_of_every_record_of_a_large_batch() -> None:
    outcome = judged(
        {"require_key": True}, *[ColumnRecord(i, 0, None, b"v") for i in range(MAX_REJECTIONS + 5)]
    )

    assert isinstance(outcome, Rejected)
    assert len(outcome.rejections) == MAX_REJECTIONS


def test_acks_that_are_not_listed_are_refused() -> None:
    assert KIND.refused_acks(FilterConfig.model_validate({"acks": ["all", 1]})) == {0}
    assert KIND.refused_acks(FilterConfig.model_validate({"acks": ["all"]})) == {0, 1}
    assert KIND.refused_acks(FilterConfig()) == frozenset()
