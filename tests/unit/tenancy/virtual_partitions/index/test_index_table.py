from typing import Any

import pytest

from bifrost.tenancy.virtual_partitions.index import index_table
from bifrost.tenancy.virtual_partitions.index.index_entry import IndexEntry
from bifrost.tenancy.virtual_partitions.index.index_table import GROWTH, LATEST_MS, IndexTable
from bifrost.tenancy.virtual_partitions.index.log_piece import BatchMark
from bifrost.tenancy.virtual_partitions.partition_end import STEP

FAR = 1_000 * STEP
PLACE, OTHER = (b"orders", 0), (b"orders", 1)
TOPIC_ID, NEW_ID = b"a" * 16, b"b" * 16


def entry(end: int, topic_id: bytes = TOPIC_ID, **fields: Any) -> IndexEntry:
    return IndexEntry(topic_id, 0, end, BatchMark(end - 1, 0, 7), {0: end})._replace(**fields)


def due(table: IndexTable, now_ms: int = 0, *, is_last: bool = False) -> list[tuple[object, IndexEntry]]:
    return list(table.due(now_ms, is_last=is_last))


def test_what_was_read_is_known_and_is_written_after_a_while_or_when_it_is_much() -> None:
    table = IndexTable()
    table.extend(PLACE, entry(100), 5)
    assert table.of(PLACE) == entry(100)
    assert due(table, 5 + LATEST_MS - 1) == []
    assert due(table, 5 + LATEST_MS) == due(table, is_last=True) == [(PLACE, entry(100))]

    table.written(PLACE, entry(100))
    assert due(table, 10**9, is_last=True) == []
    table.extend(PLACE, entry(100 + GROWTH), 6)
    assert due(table, 6) == [(PLACE, entry(100 + GROWTH))]


def test_what_has_grown_while_it_was_written_is_still_to_be_written() -> None:
    table = IndexTable()
    table.extend(PLACE, entry(100), 0)
    table.extend(PLACE, entry(200), 0)
    table.written(PLACE, entry(100))

    assert due(table, LATEST_MS) == [(PLACE, entry(200))]


def test_the_entry_that_covers_more_of_a_log_counts() -> None:
    table = IndexTable()
    table.take(PLACE, entry(100))
    table.take(PLACE, entry(50))
    assert table.of(PLACE) == entry(100)
    table.extend(PLACE, entry(150), 0)
    table.take(PLACE, entry(200))

    assert table.of(PLACE) == entry(200)
    # The topic has all of it.
    assert due(table, 10**9, is_last=True) == []


def test_another_process_may_have_written_the_same() -> None:
    table = IndexTable()
    table.extend(PLACE, entry(100), 0)
    table.take(PLACE, entry(100))

    assert due(table, 10**9) == []


def test_of_two_logs_the_one_counts_that_was_written_last() -> None:
    table = IndexTable()
    table.take(PLACE, entry(2 * STEP, moved={0: STEP}))
    table.note_moved(PLACE, 1, 3 * STEP, 0)
    table.take(PLACE, entry(20, NEW_ID))

    assert table.of(PLACE) == entry(20, NEW_ID)
    assert [table.moved_to(PLACE, group, FAR) for group in range(2)] == [0, 0]


def test_what_this_process_has_read_since_counts_before_another_log() -> None:
    table = IndexTable()
    table.extend(PLACE, entry(20, NEW_ID), 0)
    table.take(PLACE, entry(100))

    assert table.of(PLACE) == entry(20, NEW_ID)
    assert due(table, LATEST_MS) == [(PLACE, entry(20, NEW_ID))]


def test_what_the_log_has_disproved_is_forgotten() -> None:
    table = IndexTable()
    table.take(PLACE, entry(2 * STEP, moved={0: STEP}))
    table.distrust(PLACE, entry(90))
    assert table.of(PLACE) == entry(2 * STEP)
    table.distrust(PLACE, entry(2 * STEP))

    assert table.of(PLACE) is None
    assert table.moved_to(PLACE, 0, FAR) == 0
    assert (len(table), table.places()) == (0, [])


def test_a_deleted_topic_is_forgotten_unless_it_was_read_since() -> None:
    table = IndexTable()
    table.take(PLACE, entry(100))
    table.extend(OTHER, entry(100), 0)
    table.take(PLACE, None)
    table.take(OTHER, None)

    assert (table.of(PLACE), table.of(OTHER)) == (None, entry(100))


def test_a_consumer_was_moved_to_a_whole_number_of_steps() -> None:
    table = IndexTable()
    for offset in (0, -1, 5, STEP + 1, STEP, 3 * STEP, 2 * STEP):
        table.note_moved(PLACE, 1, offset, 0)

    found = [table.moved_to(*one, FAR) for one in ((PLACE, 1), (PLACE, 0), (OTHER, 1))]
    assert found == [3 * STEP, 0, 0]


def test_where_consumers_were_moved_is_written_at_once_with_the_entry() -> None:
    table = IndexTable()
    table.note_moved(PLACE, 1, STEP, 0)
    assert due(table, 10**9) == []
    table.take(PLACE, entry(2 * STEP))
    written = entry(2 * STEP, moved={1: STEP})
    assert due(table) == [(PLACE, written)]
    table.written(PLACE, written)
    assert due(table, 10**9) == []

    table.note_moved(PLACE, 1, 2 * STEP, 0)
    assert due(table) == [(PLACE, entry(2 * STEP, moved={1: 2 * STEP}))]
    # Another process has seen the same commit.
    table.take(PLACE, entry(2 * STEP, moved={1: 2 * STEP}))
    assert due(table, 10**9) == []


@pytest.mark.parametrize("is_first", [False, True], ids=["with an entry", "before one"])
def test_an_offset_beyond_the_entry_is_written_once_the_log_was_read_so_far(is_first: bool) -> None:
    """A client may commit what it likes, and what is written stays."""
    table = IndexTable()
    if not is_first:
        table.extend(PLACE, entry(STEP), 0)
    table.note_moved(PLACE, 1, FAR, 0)
    table.note_moved(PLACE, 2, FAR // 2, 0)
    table.extend(PLACE, entry(STEP), 0)
    assert due(table, is_last=True) == [(PLACE, entry(STEP))]
    table.written(PLACE, entry(STEP))
    assert due(table, 10**9) == []

    table.extend(PLACE, entry(FAR // 2), 1)
    assert due(table, 1) == [(PLACE, entry(FAR // 2, moved={2: FAR // 2}))]
    table.take(PLACE, entry(FAR))
    assert due(table) == [(PLACE, entry(FAR, moved={1: FAR, 2: FAR // 2}))]


def test_an_offset_beyond_the_log_is_forgotten() -> None:
    """So one that was made up does not hide where consumers are."""
    table = IndexTable()
    table.extend(PLACE, entry(STEP), 0)
    for place in (PLACE, OTHER):
        table.note_moved(place, 1, FAR, 0)
        assert table.moved_to(place, 1, FAR - 1) == 0
        assert table.moved_to(place, 1, FAR) == 0
        table.note_moved(place, 1, 2 * STEP, 0)
        assert table.moved_to(place, 1, FAR) == 2 * STEP


def test_an_entry_of_another_process_may_have_no_such_offset() -> None:
    table = IndexTable()
    table.take(PLACE, entry(100, moved={1: FAR}))
    assert table.moved_to(PLACE, 1, FAR) == 0

    table.take(PLACE, entry(FAR))
    assert due(table, 10**9, is_last=True) == []


def test_a_move_that_an_own_record_has_overtaken_is_not_written() -> None:
    table = IndexTable()
    table.note_moved(PLACE, 0, STEP, 0)
    table.extend(PLACE, entry(2 * STEP), 0)
    assert table.moved_to(PLACE, 0, FAR) == STEP

    assert due(table, LATEST_MS) == [(PLACE, entry(2 * STEP))]


def test_others_moves_are_merged() -> None:
    table = IndexTable()
    table.take(PLACE, entry(4 * STEP, moved={1: STEP, 2: 2 * STEP}))
    table.take(PLACE, entry(3 * STEP, moved={1: 3 * STEP}))

    assert [table.moved_to(PLACE, group, FAR) for group in range(3)] == [0, 3 * STEP, 2 * STEP]


@pytest.mark.parametrize(("limit", "most"), [("MAX_PLACES", 3), ("MAX_GROUPS", 6)])
def test_beyond_the_bound_no_other_is_remembered(
    monkeypatch: pytest.MonkeyPatch, limit: str, most: int
) -> None:
    """To forget one for it would mean to read that log again."""
    monkeypatch.setattr(index_table, limit, most)
    table = IndexTable()
    for number in range(5):
        table.take((b"orders", number), entry(100, ends={0: 100, 1: 50}))
    assert (table.places(), table.is_full) == ([(b"orders", 0), (b"orders", 1), (b"orders", 2)], True)

    table.extend((b"orders", 4), entry(100), 0)
    table.take((b"orders", 0), entry(200, ends={0: 200, 1: 50}))
    assert table.of((b"orders", 4)) is None
    assert table.of((b"orders", 0)) == entry(200, ends={0: 200, 1: 50})
    table.take((b"orders", 1), None)
    table.take((b"orders", 4), entry(100))
    assert table.of((b"orders", 4)) == entry(100)


def test_an_entry_that_has_grown_beyond_the_bound_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_table, "MAX_GROUPS", 3)
    table = IndexTable()
    table.take(OTHER, entry(100))
    table.take(PLACE, entry(100))
    table.extend(PLACE, entry(200, ends={0: 200, 1: 150, 2: 120}), 0)
    assert table.places() == [OTHER]

    for group in range(1, 4):
        table.note_moved(OTHER, group, STEP, 0)
    assert table.places() == []


def test_commits_for_topics_that_there_are_not_push_no_entry_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_table, "MAX_AHEAD", 2)
    monkeypatch.setattr(index_table, "MAX_AHEAD_GROUPS", 3)
    table = IndexTable()
    table.take(OTHER, entry(100))
    for number in range(10):
        table.note_moved((b"none", number), 1, STEP, 0)
    assert [table.moved_to((b"none", number), 1, FAR) for number in range(10)] == [0] * 8 + [STEP] * 2
    for group in range(4):
        table.note_moved((b"none", 9), group, 2 * STEP, 0)

    assert (table.places(), table.of(OTHER)) == ([OTHER], entry(100))
    assert table.moved_to((b"none", 8), 1, FAR) == 0
    table.forget((b"none", 9))
    assert table.moved_to((b"none", 9), 1, FAR) == 0
