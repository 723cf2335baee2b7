"""The log is one of batches with an offset each; what is read at a time is a few of them, as a Fetch has it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bifrost.tenancy.virtual_partitions.logs import tail_scan
from bifrost.tenancy.virtual_partitions.logs.stretch import Stretch
from bifrost.tenancy.virtual_partitions.logs.tail_scan import FIRST_PART, TailScan
from bifrost.tenancy.virtual_partitions.virtual_batches import marked_batch
from support.clients.record_batches import build_batch

BATCHES = [
    batch
    if isinstance(batch := marked_batch(build_batch([b"v"], producer_id=7, base_sequence=0), group), bytes)
    else b"".join(batch)
    for group in range(4)
]


def log_of(groups: list[int], base: int = 0) -> list[bytes]:
    """Return a batch of each group, from an offset on."""
    return [(base + at).to_bytes(8, "big") + BATCHES[group][8:] for at, group in enumerate(groups)]


def scanned(
    groups: list[int], wanted: set[int], low: int = 0, known: Stretch | None = None, at_a_time: int = 7
) -> tuple[TailScan, list[int]]:
    """Read until all is known; return where was read."""
    log, asked = log_of(groups), list[int]()
    scan = TailScan(low, len(groups), wanted, known)
    while scan.offset is not None:
        assert low <= scan.offset < len(groups)
        asked.append(scan.offset)
        assert scan.take(b"".join(log[scan.offset :][:at_a_time]))
    return scan, asked


def last_of(groups: list[int], group: int) -> int:
    return max((at for at, one in enumerate(groups) if one == group), default=-1)


def test_where_all_are_written_to_a_little_is_read() -> None:
    groups = [0, 1, 2] * 500
    scan, asked = scanned(groups, {0, 1, 2}, at_a_time=1000)

    assert [scan.end_of(one) for one in range(3)] == [1498, 1499, 1500]
    assert asked == [1500 - FIRST_PART]


def test_an_empty_log_is_not_read() -> None:
    scan, asked = scanned([], {0, 1})

    assert (scan.end_of(0), scan.end_of(1), asked) == (0, 0, [])


def test_one_that_was_written_long_ago_ends_where_others_do_at_the_least() -> None:
    groups = [1] + [0] * 2000
    scan, _ = scanned(groups, {0, 1, 2}, low=1500)

    assert [scan.end_of(one) for one in range(3)] == [2001, 1500, 1500]


def test_what_is_known_is_not_read_again() -> None:
    groups = [1] + [0] * 2000
    scan, asked = scanned(groups, {0, 1, 2}, known=Stretch(0, 1990, {0: 1989, 1: 0}))

    assert [scan.end_of(one) for one in range(3)] == [2001, 1, 0]
    assert asked[0] == 1990
    assert scan.found == Stretch(0, 2001, {0: 2000, 1: 0})


def test_what_is_known_may_reach_beyond_the_end() -> None:
    """Another request has asked later, or an open transaction ends the log here."""
    scan, asked = scanned([0] * 10, {0, 1}, known=Stretch(0, 12, {0: 11, 1: 3}))

    assert (scan.end_of(0), scan.end_of(1), asked) == (10, 4, [])


def test_a_log_that_ends_before_its_end_is_told() -> None:
    scan = TailScan(0, 10, {0}, None)
    assert scan.offset == 0
    assert not scan.take(b"")


def test_the_end_is_behind_what_has_been_read_when_it_stops() -> None:
    groups = [1] + [0] * 2000
    scan, log = TailScan(0, len(groups), {1}, None), log_of(groups)
    assert scan.offset == 2001 - FIRST_PART
    assert scan.take(b"".join(log[scan.offset :]))

    # Group 1 has nothing in what was read; nothing is said about what is before.
    assert scan.end_of(1) == 2001 - FIRST_PART
    assert scan.end_of(0) == 2001


@given(
    st.lists(st.integers(0, 3), max_size=60),
    st.sets(st.integers(0, 3), min_size=1),
    st.integers(0, 60),
    st.integers(0, 60),
    st.integers(0, 60),
    st.integers(1, 20),
)
def test_ends_are_those_of_the_log(
    groups: list[int], wanted: set[int], low: int, begin: int, size: int, at_a_time: int
) -> None:
    low = min(low, len(groups))
    begin, end = min(begin, len(groups)), min(begin + size, len(groups))
    part = groups[begin:end]
    known = Stretch(begin, end, {one: begin + last_of(part, one) for one in part}) if part else None
    before, tail_scan.FIRST_PART = tail_scan.FIRST_PART, 4
    try:
        scan, _ = scanned(groups, wanted, low, known, at_a_time)
    finally:
        tail_scan.FIRST_PART = before
    for group in wanted:
        assert scan.end_of(group) == max(low, last_of(groups, group) + 1)
    for group, offset in scan.found.last.items():
        assert offset == last_of(groups, group)
