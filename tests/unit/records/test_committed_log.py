import pytest

from bifrost.records.batch_reader import LogRecord, UnreadableBatch
from bifrost.records.committed_log import CommittedLog
from support.clients.log import batch_at, marker_at


def values(transactions: list[list[LogRecord]]) -> list[list[bytes | None]]:
    return [[one.value for one in records] for records in transactions]


def test_a_transaction_comes_as_a_whole() -> None:
    log = CommittedLog()
    data = batch_at(0, [b"a", b"b"], 7) + batch_at(2, [b"c"], 7) + marker_at(3, 7, is_commit=True)

    assert values(log.read(data, (), 4)) == [[b"a", b"b", b"c"]]
    assert log.next_offset == 4


def test_its_records_wait_for_the_marker_in_a_later_answer() -> None:
    log = CommittedLog()

    assert log.read(batch_at(0, [b"a"], 7), (), 3) == []
    assert log.read(batch_at(1, [b"b"], 7), (), 3) == []
    assert values(log.read(marker_at(2, 7, is_commit=True), (), 3)) == [[b"a", b"b"]]


def test_an_aborted_transaction_is_dropped_and_the_producers_next_is_not() -> None:
    log = CommittedLog()
    data = batch_at(0, [b"a"], 7) + marker_at(1, 7, is_commit=False)
    data += batch_at(2, [b"b"], 7) + marker_at(3, 7, is_commit=True)

    assert values(log.read(data, [(7, 0)], 4)) == [[b"b"]]


def test_an_aborted_transaction_over_two_answers_is_dropped() -> None:
    log = CommittedLog()

    assert log.read(batch_at(0, [b"a"], 7), [(7, 0)], 3) == []
    assert log.read(batch_at(1, [b"b"], 7) + marker_at(2, 7, is_commit=False), [(7, 0)], 3) == []
    assert log.next_offset == 3


def test_producers_do_not_mix() -> None:
    log = CommittedLog()
    data = batch_at(0, [b"a"], 7) + batch_at(1, [b"b"], 8) + batch_at(2, [b"c"], 7)
    data += marker_at(3, 8, is_commit=True) + marker_at(4, 7, is_commit=True)

    assert values(log.read(data, (), 5)) == [[b"b"], [b"a", b"c"]]


def test_where_compaction_took_the_marker_the_last_stable_offset_ends_it() -> None:
    log = CommittedLog()

    assert log.read(batch_at(0, [b"a"], 7), (), 10) == []
    assert values(log.read(batch_at(9, [b"b"]), (), 10)) == [[b"b"], [b"a"]]


def test_records_without_a_transaction_come_at_once() -> None:
    assert values(CommittedLog().read(batch_at(0, [b"a", b"b"]), (), 2)) == [[b"a", b"b"]]


def test_what_was_read_before_is_not_read_again() -> None:
    log = CommittedLog()
    log.next_offset = 1

    assert values(log.read(batch_at(0, [b"a", b"b"]), (), 2)) == [[b"b"]]


def test_a_batch_that_cannot_be_read_says_where() -> None:
    log = CommittedLog()
    broken = batch_at(1, [b"b"])[:-1] + b"!"

    with pytest.raises(UnreadableBatch, match="offset 1"):
        log.read(batch_at(0, [b"a"]) + broken, (), 2)
