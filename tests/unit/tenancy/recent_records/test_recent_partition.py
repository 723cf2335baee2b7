from bifrost.tenancy.recent_records.recent_limits import FRESH_NS, KEPT_NS, MAX_READERS
from bifrost.tenancy.recent_records.recent_partition import (
    GONE_NS,
    LATE_NS,
    MAX_POLLS,
    Bounds,
    RecentAnswer,
    RecentPartition,
)
from bifrost.tenancy.recent_records.shared_poll import PollEnd

OPEN = range(MAX_READERS + 5)
"""The numbers of connections, none of which has ended."""


def answer(begin: int, end: int, *, epoch: int = 3, most: int = 100, came_ns: int = 0) -> RecentAnswer:
    return RecentAnswer(begin, end, most, Bounds(epoch, end, end, 0, came_ns), None, b"records")


def test_an_answer_is_found_for_each_offset_that_it_has() -> None:
    known, first, second = RecentPartition(OPEN), answer(10, 15), answer(15, 20)
    known.answers.extend([first, second])

    found = {offset: known.find(offset, 3, 100, 1) for offset in (9, 10, 14, 15, 19, 20)}
    assert found == {9: None, 10: first, 14: first, 15: second, 19: second, 20: None}


def test_an_answer_of_another_leader_too_old_or_too_large_is_not_given() -> None:
    known, only = RecentPartition(OPEN), answer(10, 15)
    known.answers.append(only)

    assert known.find(10, 3, 100, FRESH_NS - 1) is only
    assert known.find(10, 3, 101, 0) is only
    assert known.find(10, 3, 100, FRESH_NS) is None
    assert known.find(10, 3, 99, 0) is None
    assert known.find(10, 4, 100, 0) is None
    assert known.find(10, -1, 100, 0) is None


def test_an_answer_is_given_longer_while_the_log_has_all_of_it() -> None:
    known, only = RecentPartition(OPEN), answer(10, 15)
    known.answers.append(only)

    known.note_bounds(Bounds(3, 15, 15, 10, KEPT_NS - 1))
    assert known.find(10, 3, 100, KEPT_NS - 1) is only
    assert known.find(10, 3, 100, KEPT_NS) is None
    assert known.find(10, 3, 99, KEPT_NS - 1) is None
    known.note_bounds(Bounds(3, 15, 15, 10, FRESH_NS))
    assert known.find(10, 3, 100, 2 * FRESH_NS - 1) is only
    assert known.find(10, 3, 100, 2 * FRESH_NS) is None, "nothing was told of the log since"


def test_an_answer_that_the_log_may_have_lost_is_not_given_longer() -> None:
    for epoch, begins, ends in ((3, 11, 15), (3, 0, 14), (4, 0, 15)):
        known = RecentPartition(OPEN)
        known.answers.append(answer(10, 15))
        known.note_bounds(Bounds(epoch, ends, ends, begins, FRESH_NS))
        for asked in (3, 4):
            assert known.find(10, asked, 100, FRESH_NS) is None


def test_an_answer_without_a_leader_epoch_is_not_given_longer() -> None:
    known, only = RecentPartition(OPEN), answer(10, 15, epoch=-1)
    known.answers.append(only)
    known.note_bounds(Bounds(-1, 15, 15, 0, FRESH_NS - 1))

    assert known.find(10, -1, 100, FRESH_NS - 1) is only
    assert known.find(10, -1, 100, FRESH_NS) is None


def test_the_bounds_of_a_log_hold_as_long_as_an_answer() -> None:
    known, bounds = RecentPartition(OPEN), Bounds(3, 20, 20, 0, 5)
    assert known.bounds(3, 5) is None
    known.note_bounds(bounds)

    assert known.bounds(3, 5 + FRESH_NS - 1) is bounds
    assert known.bounds(3, 5 + FRESH_NS) is None
    assert known.bounds(2, 5) is None
    known.forget()
    assert known.bounds(3, 5) is None


def test_answers_are_wanted_while_others_read() -> None:
    known = RecentPartition(OPEN)
    known.note_reader(1, 0, 0, is_part=False)
    known.note_reader(1, 5, 0, is_part=False)
    assert not known.is_wanted
    known.note_reader(2, 5, 9, is_part=False)
    assert known.is_wanted
    known.note_reader(2, 5, GONE_NS - 1, is_part=False)
    assert known.is_wanted
    known.note_reader(2, 5, GONE_NS, is_part=False)
    assert not known.is_wanted
    known.note_reader(2, 5, GONE_NS, is_part=True)
    assert known.is_wanted


def test_an_answer_is_needed_by_those_that_have_not_read_it() -> None:
    known, it = RecentPartition(OPEN), answer(10, 15)
    known.answers.append(it)
    assert not known.is_needed(it, 0)
    known.note_reader(1, 15, 0, is_part=True)
    assert not known.is_needed(it, 0)
    known.note_reader(2, 14, 0, is_part=True)

    assert known.is_needed(it, FRESH_NS - 1)
    assert not known.is_needed(it, FRESH_NS)


def test_an_answer_is_needed_by_those_that_come_to_it_through_others_without_a_gap() -> None:
    known, kept = RecentPartition(OPEN), [answer(10, 15), answer(15, 20), answer(30, 40)]
    known.answers.extend(kept)
    known.note_reader(1, 9, 0, is_part=True)
    assert not any(known.is_needed(one, 0) for one in kept)
    known.note_reader(2, 11, 0, is_part=True)

    assert [known.is_needed(one, 0) for one in kept] == [True, True, False]


def test_the_places_of_some_connections_are_known() -> None:
    known = RecentPartition(OPEN)
    for reader in range(MAX_READERS + 5):
        known.note_reader(reader, 0, 0, is_part=True)

    assert list(known.readers) == [*range(5, MAX_READERS + 5)]


def test_a_fetch_is_joined_by_one_for_the_same_that_waits_for_as_much() -> None:
    known, end = RecentPartition(OPEN), PollEnd()
    known.begin_poll(10, 3, 100, 50, end)

    assert known.poll(10, 3, 100, 50) is end
    assert known.poll(10, 3, 200, 60) is end
    assert known.poll(10, 3, 99, 50) is None
    assert known.poll(10, 3, 100, 49) is None
    assert known.poll(11, 3, 100, 50) is None
    assert known.poll(10, 4, 100, 50) is None
    end.come()
    assert known.poll(10, 3, 100, 50) is None


def test_fetches_at_several_places_can_be_joined() -> None:
    known, ends = RecentPartition(OPEN), [PollEnd() for _ in range(MAX_POLLS + 1)]
    known.begin_poll(10, 3, 100, 1, ends[0])
    known.begin_poll(10, 3, 100, 1, PollEnd())
    assert known.poll(10, 3, 100, 1) is ends[0]
    for number, end in enumerate(ends[1:], 1):
        known.begin_poll(10 + number, 3, 100, 1, end)

    assert [known.poll(10 + number, 3, 100, 1) for number in range(len(ends))] == [None, *ends[1:]]


def test_a_fetch_from_before_is_joined_as_far_as_the_last_answer_went() -> None:
    known, end = RecentPartition(OPEN), PollEnd()
    known.begin_poll(10, 3, 100, 1, end)
    assert known.poll(9, 3, 100, 1, takes_earlier=True) is None
    assert known.poll(1_000, 3, 100, 1, takes_earlier=True) is end
    known.note_records(0, 5, PollEnd(), 0)

    assert known.poll(14, 3, 100, 1, takes_earlier=True) is end
    assert known.poll(15, 3, 100, 1, takes_earlier=True) is None
    assert known.poll(14, 3, 100, 1) is None


def test_one_that_is_late_is_not_joined_where_there_are_records() -> None:
    known, late, new = RecentPartition(OPEN), PollEnd(), PollEnd()
    known.begin_poll(10, 3, 100, 1, late, 5)
    assert known.poll(10, 3, 100, 1, since_ns=5) is late
    assert known.poll(10, 3, 100, 1, since_ns=6) is None
    known.begin_poll(10, 3, 100, 1, new, 5 + LATE_NS)
    assert known.poll(10, 3, 100, 1, since_ns=6) is None
    known.begin_poll(10, 3, 100, 1, new, 6 + LATE_NS)

    assert known.poll(10, 3, 100, 1, since_ns=6) is new


def test_a_fetch_that_has_not_ended_though_there_are_records_is_slow() -> None:
    known, slow, other = RecentPartition(OPEN), PollEnd(), PollEnd()
    known.begin_poll(10, 3, 100, 1, slow)
    known.note_records(10, 15, slow, 0)
    known.note_records(9, 15, other, 0)
    assert known.poll(10, 3, 100, 1) is slow
    known.note_records(10, 15, other, 0)

    assert known.poll(10, 3, 100, 1) is None


def test_a_connection_that_has_just_begun_with_a_part_is_not_alone() -> None:
    known = RecentPartition(OPEN)
    known.note_reader(1, 0, 5, is_part=True)
    known.note_reader(1, 10, 5 + FRESH_NS // 2, is_part=True)
    assert known.has_company(1, 10, 4 + FRESH_NS)
    assert not known.has_company(1, 10, 5 + FRESH_NS)

    whole = RecentPartition(OPEN)
    whole.note_reader(1, 0, 5, is_part=False)
    assert not whole.has_company(1, 0, 5)
