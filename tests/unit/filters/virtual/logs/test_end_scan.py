"""The search for ends by itself; what a client sees of it is in ../test_listed_offsets.py."""

from __future__ import annotations

import struct
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bifrost.filters.steps import StoredAt, StoredBatch
from bifrost.filters.virtual import offset_scans
from bifrost.filters.virtual.logs.end_scan import MAX_GAP, EndScan
from bifrost.filters.virtual.offset_scans import AGAIN, CHUNK, Found
from bifrost.tenancy.virtual_partitions import partition_end
from bifrost.tenancy.virtual_partitions.index.index_entry import IndexEntry
from bifrost.tenancy.virtual_partitions.index.index_table import IndexTable
from bifrost.tenancy.virtual_partitions.index.log_piece import read_piece
from bifrost.tenancy.virtual_partitions.logs.stretch import KnownStretches, Stretch
from bifrost.tenancy.virtual_partitions.partition_end import STEP, least_end
from bifrost.tenancy.virtual_partitions.partition_map import PartitionGroup
from bifrost.wire.error_codes import ErrorCode
from support.records.virtual_logs import batch, log_of

PLACE = (b"physical", 3)
FIRST, SECOND, THIRD = map(PartitionGroup, range(3))
TOPIC_ID = bytes(range(16))
END = 5 * STEP
LOW = least_end(END)


def wide(group: int, base: int, end: int) -> bytes:
    """Return a batch that takes all offsets up to an end: the last of two records has the last one."""
    made = bytearray(batch(group, base))
    struct.pack_into(">i", made, 23, end - 1 - base)
    return bytes(made)


def log_up_to(end: int) -> list[bytes]:
    """Return a log: a record of each of two groups, then batches of the first one, of a quarter step each."""
    bounds = [*range(4, end, STEP // 4), end]
    return [
        batch(1, 0),
        batch(0, 2),
        *(wide(0, base, last) for base, last in pairwise(bounds)),
    ]


def entry_of(log: list[bytes]) -> IndexEntry:
    piece = read_piece(b"".join(log), is_keyed=False)
    assert piece is not None
    return IndexEntry(TOPIC_ID, 0, piece.end, piece.last, piece.ends)


def read_from(log: list[bytes], offset: int, max_bytes: int = CHUNK) -> StoredBatch:
    """Answer as a broker does: the batch that has the offset, and those behind it that there is room for."""
    found = b""
    for one in log:
        base, delta = int.from_bytes(one[:8], "big"), int.from_bytes(one[23:27], "big")
        if base + delta >= offset and (not found or len(found) + len(one) <= max_bytes):
            found += one
    return StoredBatch(0, found)


def scan_of(index: IndexTable | None, *groups: PartitionGroup, start: int = 0) -> EndScan:
    return EndScan(PLACE, start, END, set(groups), KnownStretches(), 4, index=index)


def played(scan: EndScan, log: list[bytes]) -> list[StoredAt]:
    """Answer all that a scan asks; return what it was."""
    asked = []
    while scan.wanted is not None:
        asked.append(scan.wanted)
        scan.take(read_from(log, scan.wanted.offset, scan.wanted.max_bytes))
    return asked


def test_what_was_read_of_a_long_tail_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tail that is too long for one request is known after some."""
    known, log = KnownStretches(), log_of(1, *[0] * 599)
    size = len(batch(0, 0))
    monkeypatch.setattr(offset_scans, "MAX_SCAN_BYTES", 100 * size)
    answers = [AGAIN]
    while answers[-1] == AGAIN:
        scan = EndScan(PLACE, 0, 1200, {SECOND}, known, 4)
        while scan.wanted is not None:
            at = scan.wanted.offset // 2 * size
            scan.take(StoredBatch(0, log[at : at + 40 * size]))
        answers.append(scan.end_of(SECOND))

    assert len(answers) > 5
    assert answers[-1] == Found(2)
    assert known.of(PLACE, 4) == Stretch(0, 1200, {0: 1199, 1: 1})


def test_a_tail_whose_first_part_is_too_long_is_no_reason_to_ask_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The answer is behind the last own record, not always directly."""
    monkeypatch.setattr(offset_scans, "MAX_SCAN_BYTES", 2 * len(batch(0, 0)))
    scan = EndScan(PLACE, 0, 1200, {FIRST, SECOND}, KnownStretches(), 4)
    scan.take(StoredBatch(0, log_of(0, 0, base=1200 - 64)))

    assert scan.wanted is None
    assert (scan.end_of(FIRST), scan.end_of(SECOND)) == (Found(1200), Found(1200))


def test_nothing_is_read_of_what_is_known() -> None:
    known = KnownStretches()
    known.add(PLACE, 4, Stretch(0, 10, {0: 9, 1: 3}))
    scan = EndScan(PLACE, 0, 10, {FIRST, SECOND}, known, 4)

    assert scan.wanted is None
    assert (scan.end_of(FIRST), scan.end_of(SECOND)) == (Found(10), Found(4))


def test_nothing_before_the_start_of_the_log_is_read() -> None:
    scan = EndScan(PLACE, 8, 10, {FIRST, SECOND}, KnownStretches(), -1)
    assert scan.wanted == StoredAt(*PLACE, 8, CHUNK)
    scan.take(StoredBatch(0, log_of(0, base=8)))

    assert (scan.end_of(FIRST), scan.end_of(SECOND)) == (Found(10), Found(8))


def test_a_far_end_is_in_the_index_and_the_log_proves_it() -> None:
    index, log = IndexTable(), log_up_to(END)
    index.extend(PLACE, entry_of(log), 0)
    scan = scan_of(index, FIRST, SECOND)
    asked = played(scan, log)

    assert (scan.end_of(FIRST), scan.end_of(SECOND)) == (Found(END), Found(2))
    # To prove it one batch is read.
    assert asked[-1] == StoredAt(*PLACE, END - 1, 1)


def test_without_a_record_a_partition_ends_where_the_log_begins() -> None:
    index, log = IndexTable(), log_up_to(END)
    index.extend(PLACE, entry_of(log), 0)
    scan = scan_of(index, THIRD)
    played(scan, log)

    assert scan.end_of(THIRD) == Found(0)


def test_what_a_process_remembers_of_a_log_proves_nothing_far_from_its_end() -> None:
    index, log, known = IndexTable(), log_up_to(END), KnownStretches()
    known.add(PLACE, 4, Stretch(0, END, {0: END - 1, 1: 77}))
    for entry, end in ((None, LOW), (entry_of(log), 2)):
        if entry is not None:
            index.extend(PLACE, entry, 0)
        scan = EndScan(PLACE, 0, END, {SECOND}, known, 4, index=index)
        played(scan, log)

        assert scan.end_of(SECOND) == Found(end)


def test_what_lies_behind_the_index_is_read_and_remembered() -> None:
    index, log = IndexTable(), log_up_to(END)
    index.extend(PLACE, entry_of(log[:4]), 0)
    first = index.of(PLACE)
    assert first is not None
    scan = scan_of(index, SECOND)
    asked = played(scan, log)

    assert scan.end_of(SECOND) == Found(2)
    assert StoredAt(*PLACE, first.end - 1, CHUNK) in asked
    grown = index.of(PLACE)
    assert grown == entry_of(log)


def test_nothing_is_said_of_a_log_that_the_index_is_not_about() -> None:
    """A topic was made anew, or the log has lost its end: another batch is at the place."""
    index, log = IndexTable(), log_up_to(END)
    entry = entry_of(log)
    for changed in (
        entry.last_batch._replace(crc=1),
        entry.last_batch._replace(leader_epoch=entry.last_batch.leader_epoch + 1),
        entry.last_batch._replace(offset=entry.last_batch.offset - 1),
    ):
        index.extend(PLACE, entry._replace(last_batch=changed), 0)
        scan = scan_of(index, SECOND)
        played(scan, log)

        assert scan.end_of(SECOND) == Found(LOW)
        assert scan.is_distrusted
        assert index.of(PLACE) is None


def test_a_log_that_ends_before_the_index_is_another_one() -> None:
    index, log = IndexTable(), log_up_to(END)
    index.extend(PLACE, entry_of(log)._replace(end=END + 10), 0)
    scan = scan_of(index, SECOND)
    while scan.wanted is not None and scan.wanted.offset < END:
        scan.take(read_from(log, scan.wanted.offset))
    assert scan.wanted == StoredAt(*PLACE, END + 9, 1)
    scan.take(StoredBatch(int(ErrorCode.OFFSET_OUT_OF_RANGE)))

    assert scan.end_of(SECOND) == Found(LOW)
    assert (scan.is_distrusted, index.of(PLACE)) == (True, None)


@pytest.mark.parametrize("code", [ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.NOT_LEADER_OR_FOLLOWER])
def test_an_index_that_cannot_be_proved_now_is_kept(code: ErrorCode) -> None:
    index, log = IndexTable(), log_up_to(END)
    index.extend(PLACE, entry_of(log), 0)
    scan = scan_of(index, SECOND)
    while scan.wanted is not None and scan.wanted.max_bytes > 1:
        scan.take(read_from(log, scan.wanted.offset))
    scan.take(StoredBatch(int(code)))

    assert scan.end_of(SECOND) == Found(LOW)
    assert index.of(PLACE) == entry_of(log)


def test_a_batch_that_does_not_say_whose_it_is_leaves_the_floor() -> None:
    index, log = IndexTable(), log_up_to(END)
    index.extend(PLACE, entry_of(log), 0)
    scan = scan_of(index, SECOND)
    while scan.wanted is not None and scan.wanted.max_bytes > 1:
        scan.take(read_from(log, scan.wanted.offset))
    scan.take(StoredBatch(0, log[-1][:16] + b"\1" + log[-1][17:]))

    assert (scan.end_of(SECOND), scan.is_refused) == (Found(LOW), False)


def test_an_index_that_begins_behind_the_log_or_ends_far_before_its_end_is_not_used() -> None:
    log = log_up_to(END)
    for start, entry in (
        (0, entry_of(log)._replace(begin=5)),
        (LOW - 1, entry_of(log)._replace(end=LOW - 1)),
        (0, entry_of(log[:2])),
    ):
        index = IndexTable()
        index.extend(PLACE, entry, 0)
        end = END if entry.end > 10 else MAX_GAP + 4 * STEP
        scan = EndScan(PLACE, start, end, {SECOND}, KnownStretches(), 4, index=index)
        asked = played(scan, log_up_to(end))

        assert scan.end_of(SECOND) == Found(max(start, least_end(end)))
        assert all(one.offset >= least_end(end) for one in asked)


def test_a_long_way_from_the_index_takes_several_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has its bound, and each gets further."""
    index, log = IndexTable(), log_up_to(END)
    index.extend(PLACE, entry_of(log[:3]), 0)
    monkeypatch.setattr(offset_scans, "MAX_SCAN_BYTES", 9 * len(log[0]))
    known, answers = KnownStretches(), [AGAIN]
    while answers[-1] == AGAIN:
        scan = EndScan(PLACE, 0, END, {SECOND}, known, 4, index=index)
        while scan.wanted is not None:
            scan.take(read_from(log, scan.wanted.offset, len(log[0])))
        answers.append(scan.end_of(SECOND))

    assert len(answers) > 3
    assert answers[-1] == Found(2)


def test_a_partition_ends_where_its_consumers_were_moved() -> None:
    """Their committed offset is not beyond the end; but never beyond what the end would be without the index."""
    index, log = IndexTable(), log_up_to(END)
    index.extend(PLACE, entry_of(log), 0)
    for offset, end in ((STEP, STEP), (2 * STEP, 2 * STEP), (LOW + STEP, LOW)):
        index.note_moved(PLACE, SECOND, offset, 0)
        scan = scan_of(index, SECOND)
        played(scan, log)

        assert scan.end_of(SECOND) == Found(end)


def test_a_commit_beyond_the_log_moves_no_end() -> None:
    """Fetch moves no consumer there: it was made up."""
    index, log = IndexTable(), log_up_to(END)
    index.extend(PLACE, entry_of(log), 0)
    for offset, end in ((1_000 * STEP, 2), (STEP, STEP)):
        index.note_moved(PLACE, SECOND, offset, 0)
        scan = scan_of(index, SECOND)
        played(scan, log)

        assert scan.end_of(SECOND) == Found(end)
    assert [one.moved for _, one in index.due(0, is_last=True)] == [{1: STEP}]


@given(
    st.lists(st.integers(0, 3), min_size=1, max_size=60),
    st.integers(1, 60),
    st.integers(1, 5),
    st.booleans(),
)
def test_ends_by_the_index_are_those_of_the_log(
    groups: list[int], known: int, at_a_time: int, is_other_log: bool
) -> None:
    """With steps of four offsets most records are far from the end."""
    log = [batch(group, 2 * at) for at, group in enumerate(groups)]
    entry, index, end = entry_of(log[:known]), IndexTable(), 2 * len(groups)
    last = {group: 2 * at + 2 for at, group in enumerate(groups)}
    if is_other_log:
        entry = entry._replace(last_batch=entry.last_batch._replace(crc=1), ends={3: 1})
    index.extend(PLACE, entry, 0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(partition_end, "STEP", 4)
        low = least_end(end)
        wanted = set(map(PartitionGroup, range(4)))
        scan = EndScan(PLACE, 0, end, wanted, KnownStretches(), 4, index=index)
        while scan.wanted is not None:
            most = min(scan.wanted.max_bytes, at_a_time * len(log[0]))
            scan.take(read_from(log, scan.wanted.offset, most))
        found = [scan.end_of(group).offset for group in sorted(wanted)]

    exact = [last.get(group, 0) for group in range(4)]
    is_far = any(one <= low for one in exact) and low > 0
    assert found == (exact if not (is_other_log and is_far) else [max(low, one) for one in exact])
    assert scan.is_distrusted == (is_other_log and is_far)
