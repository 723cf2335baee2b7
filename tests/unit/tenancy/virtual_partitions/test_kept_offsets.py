from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bifrost.tenancy.virtual_partitions.commit_stamps import CommitStamp
from bifrost.tenancy.virtual_partitions.kept_offsets import (
    KeptOffset,
    OffsetsJudgement,
    judge_offsets,
    look_every_s,
)

NOW_S, RETENTION_S, PERIOD_S = 1_000_000, 800, 100


def offset(age_s: int, *, is_transactional: bool = False, partition: int = 0) -> KeptOffset:
    return KeptOffset("orders", partition, CommitStamp(NOW_S - age_s, is_transactional))


def judge(*offsets: KeptOffset, **fields: Any) -> OffsetsJudgement:
    known: dict[str, Any] = {"has_consumer_group": True, "is_touched": False, "now_s": NOW_S}
    return judge_offsets(offsets, retention_s=RETENTION_S, **{**known, **fields})


def test_plain_commits_are_left_alone_while_their_consumer_group_is_there() -> None:
    assert judge(offset(0), offset(10 * RETENTION_S)) == (False, [], NOW_S + PERIOD_S)


def test_a_group_is_touched_before_the_broker_has_counted_far_from_a_commit_in_a_transaction() -> None:
    new, old = (offset(age, is_transactional=True) for age in (PERIOD_S - 1, PERIOD_S))

    assert judge(new, offset(500)) == (False, [], NOW_S + 1)
    assert judge(new, old) == (True, [], NOW_S + PERIOD_S)


def test_a_group_that_was_touched_is_touched_again_whatever_it_has() -> None:
    assert judge(offset(0), is_touched=True) == (True, [], NOW_S + PERIOD_S)
    # Else a consumer that comes back, and commits in a transaction, would lose that offset at once.
    assert judge(offset(3), is_touched=True, has_consumer_group=False) == (True, [], NOW_S + PERIOD_S)


def test_offsets_of_a_consumer_group_that_is_gone_expire_with_their_commits() -> None:
    left, gone = offset(RETENTION_S - 7, partition=1), offset(RETENTION_S, is_transactional=True)

    assert judge(left, gone, has_consumer_group=False) == (False, [gone], NOW_S)
    assert judge(left, has_consumer_group=False) == (False, [], NOW_S + 7)
    assert judge(gone, has_consumer_group=False, is_touched=True).is_to_touch is False


def test_what_has_no_stamp_is_left_alone() -> None:
    unknown = KeptOffset("orders", 0, None)

    assert judge(unknown, has_consumer_group=False) == (False, [], NOW_S + PERIOD_S)
    assert judge(unknown) == (False, [], NOW_S + PERIOD_S)


@given(st.lists(st.tuples(st.integers(-1000, 3000), st.booleans()), max_size=5), st.booleans(), st.booleans())
def test_no_offset_expires_before_its_time(
    ages: list[tuple[int, bool]], has_consumer_group: bool, is_touched: bool
) -> None:
    offsets = [offset(age, is_transactional=txn, partition=one) for one, (age, txn) in enumerate(ages)]
    judged = judge(*offsets, has_consumer_group=has_consumer_group, is_touched=is_touched)

    assert not (has_consumer_group and judged.expired)
    assert all(
        NOW_S - (one.stamp or CommitStamp(NOW_S, False)).committed_s >= RETENTION_S for one in judged.expired
    )
    assert NOW_S <= judged.look_again_s <= NOW_S + PERIOD_S
    if has_consumer_group and any(age >= PERIOD_S and txn for age, txn in ages):
        assert judged.is_to_touch


@pytest.mark.parametrize(
    ("retention_s", "expected"), [(60, 1), (30, 1), (3600, 60), (7 * 24 * 3600, 600), (10**9, 600)]
)
def test_looks_are_as_far_apart_as_the_retention_allows(retention_s: int, expected: float) -> None:
    assert look_every_s(retention_s) == expected
