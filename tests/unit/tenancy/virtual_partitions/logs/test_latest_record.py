"""The log is one of batches with a time each; what is read at a time is a few of them, as a Fetch has it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bifrost.records.codec.columns import ColumnRecord
from bifrost.tenancy.virtual_partitions.logs.latest_record import LatestSearch
from bifrost.tenancy.virtual_partitions.logs.tail_scan import FIRST_PART
from bifrost.tenancy.virtual_partitions.partition_map import PartitionGroup
from bifrost.tenancy.virtual_partitions.record_times import TimedRecord
from bifrost.tenancy.virtual_partitions.virtual_batches import latest_batches, marked_batch
from support.records.record_columns import batch_of

A, B, C = (PartitionGroup(one) for one in range(3))
GROUPS = (A, B, C)


def batch(group: int, base: int, *times: int) -> bytes:
    """Return a batch of records with these times."""
    records = [ColumnRecord(at, time - times[0], None, b"v", ()) for at, time in enumerate(times)]
    made = marked_batch(batch_of(records, base_timestamp_ms=times[0], producer=(7, 0, 0)), group)
    whole = b"".join(made) if isinstance(made, tuple) else bytes(made)
    return base.to_bytes(8, "big") + whole[8:]


class Log:
    """Records, each with its group and its time."""

    def __init__(self, records: list[tuple[int, int]]) -> None:
        self.records = records
        self.batches = [batch(group, at, time) for at, (group, time) in enumerate(records)]
        self.asked: list[int] = []

    def first_since(self, time_ms: int) -> int:
        """Return what a broker answers."""
        return next((at for at, (_, time) in enumerate(self.records) if time >= time_ms), -1)

    def search(
        self, *groups: PartitionGroup, start: int = 0, count: int = 1000, most: int = 10**6
    ) -> LatestSearch:
        found = LatestSearch(start, len(self.records), groups)
        while len(self.asked) < most:
            if found.time_ms is not None:
                found.take_first(self.first_since(found.time_ms))
            elif found.offset is not None:
                self.asked.append(found.offset)
                assert found.take(b"".join(self.batches[found.offset :][:count]))
            else:
                break
        return found

    def latest(self, group: int, start: int = 0) -> tuple[int, int] | None:
        """Return the record with the latest time, of several the first."""
        own = [(at, time) for at, (one, time) in enumerate(self.records) if one == group and at >= start]
        return max(own, key=lambda one: (one[1], -one[0]), default=None)


def shown(record: TimedRecord | None) -> tuple[int, int] | None:
    return None if record is None else (record.offset, record.timestamp_ms)


def test_where_times_grow_a_little_is_read() -> None:
    log = Log([(at % 3, at) for at in range(2000)])
    found = log.search(A, B, C)

    assert [shown(found.latest(one)) for one in GROUPS] == [(1998, 1998), (1999, 1999), (1997, 1997)]
    assert log.asked == [2000 - FIRST_PART]


def test_an_earlier_record_that_is_later_is_found() -> None:
    log = Log([(at % 2, 10_000 if at == 7 else at) for at in range(2000)])
    found = log.search(A, B)

    assert [shown(found.latest(one)) for one in (A, B)] == [(1998, 1998), (7, 10_000)]


def test_a_later_record_of_another_partition_makes_more_to_be_read() -> None:
    log = Log([(B, 10_000), *((A, at) for at in range(1, 2000))])
    found = log.search(A)

    assert shown(found.latest(A)) == (1999, 1999)
    assert log.asked[-1] == 0


def test_of_records_that_are_as_late_the_first_counts() -> None:
    found = Log([(A, 5)] * 1000).search(A)

    assert shown(found.latest(A)) == (0, 5)


def test_a_partition_without_a_record_has_none() -> None:
    found = Log([(A, at) for at in range(300)]).search(B)

    assert (found.is_known(B), found.latest(B)) == (True, None)
    empty = Log([]).search(A)
    assert (empty.is_known(A), empty.latest(A)) == (True, None)


def test_what_is_not_decided_is_not_known() -> None:
    found = Log([(A, at) for at in range(3000)]).search(A, B, most=2)

    assert (found.is_known(A), found.is_known(B)) == (True, False)


def test_the_record_of_a_batch_is_the_first_that_is_so_late() -> None:
    search = LatestSearch(0, 3, [A])
    assert search.take(batch(A, 0, 4, 9, 9))

    assert search.latest(A) == TimedRecord(1, 9, -1)


def test_records_without_a_time_are_no_question_for_brokers() -> None:
    found = Log([(A, -1)] * 500).search(A)

    assert shown(found.latest(A)) == (0, -1)


def test_a_log_that_ends_too_early_is_told() -> None:
    assert not LatestSearch(0, 5, [A]).take(b"")


def test_batches_behind_the_end_do_not_count() -> None:
    records = batch(A, 0, 5) + batch(A, 1, 6)

    assert latest_batches(records, 1) == (1, {A: (5, records[: len(records) // 2])})


@given(
    st.lists(st.tuples(st.sampled_from(GROUPS), st.integers(0, 30)), max_size=300),
    st.integers(0, 100),
    st.integers(1, 50),
)
def test_it_is_the_latest_of_all(records: list[tuple[int, int]], start: int, count: int) -> None:
    log, begin = Log(records), min(start, len(records))
    found = log.search(*GROUPS, start=begin, count=count)

    assert all(found.is_known(one) for one in GROUPS)
    assert [shown(found.latest(one)) for one in GROUPS] == [log.latest(one, begin) for one in GROUPS]
