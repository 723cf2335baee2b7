import pytest

from bifrost.tenancy.virtual_partitions.logs import known_starts
from bifrost.tenancy.virtual_partitions.logs.known_starts import (
    KEPT_MS,
    MAX_REMEMBERED,
    KnownStart,
    KnownStarts,
)

PLACE = (b"physical", 3)
START = KnownStart(begin=4, end=20, firsts={0: 4, 1: 9}, read_ms=1_000)


def known() -> KnownStarts:
    starts = KnownStarts()
    starts.add(PLACE, START)
    return starts


def test_what_was_read_is_known_for_a_moment() -> None:
    assert known().of(PLACE, 4, 20, 1_000) == START
    assert known().of(PLACE, 4, 30, 999 + KEPT_MS) == START
    assert known().of(PLACE, 4, 30, 1_000 + KEPT_MS) is None
    assert known().of((b"physical", 4), 4, 20, 1_000) is None


def test_nothing_is_known_of_a_log_that_begins_elsewhere_or_has_lost_its_end() -> None:
    assert known().of(PLACE, 5, 20, 1_000) is None
    assert known().of(PLACE, 4, 19, 1_000) is None


def test_deletions_make_it_forget_all() -> None:
    starts = known()
    starts.forget()
    assert starts.of(PLACE, 4, 20, 1_000) is None


def test_the_partition_that_was_read_first_is_forgotten_beyond_the_bound() -> None:
    starts = known()
    for number in range(MAX_REMEMBERED - 1):
        starts.add((b"other", number), START)
    assert starts.of(PLACE, 4, 20, 1_000) == START
    starts.add(PLACE, START)  # Read anew, it is the last one.
    starts.add((b"one more", 0), START)

    assert starts.of(PLACE, 4, 20, 1_000) == START
    assert starts.of((b"other", 0), 4, 20, 1_000) is None
    assert starts.of((b"other", 1), 4, 20, 1_000) == START


def test_consumers_that_start_a_little_apart_read_from_where_the_log_begins() -> None:
    starts = known()
    starts.add(PLACE, START._replace(near=15))
    assert [starts.begin_of(PLACE, group, offset) for group, offset in ((0, 4), (1, 9))] == [4, 4]
    # It has read some, or begins elsewhere.
    assert [starts.begin_of(PLACE, group, offset) for group, offset in ((1, 10), (2, 9))] == [10, 9]
    assert starts.begin_of((b"physical", 4), 1, 9) == 9

    starts.add(PLACE, START._replace(near=9))
    assert starts.begin_of(PLACE, 1, 9) == 9, "it is too far from there"
    assert KnownStarts().begin_of(PLACE, 1, 9) == 9


def test_all_partitions_together_have_a_bound_on_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_starts, "MAX_GROUPS", 2 * len(START.firsts))
    starts = known()
    starts.add((b"other", 0), START)
    starts.add(PLACE, START)
    assert starts.of((b"other", 0), 4, 20, 1_000) == START

    starts.add((b"other", 1), START)
    found = [starts.of(place, 4, 20, 1_000) for place in (PLACE, (b"other", 0), (b"other", 1))]
    assert found == [START, None, START]
    starts.forget()
    starts.add((b"other", 0), START)
    assert starts.of((b"other", 0), 4, 20, 1_000) == START
