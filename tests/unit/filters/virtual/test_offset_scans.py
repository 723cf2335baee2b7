"""The scans themselves; what a client sees of them is in test_listed_offsets.py."""

from __future__ import annotations

import struct

import pytest

from bifrost.filters.steps import StoredAt, StoredBatch, StoredBatches
from bifrost.filters.virtual import offset_scans
from bifrost.filters.virtual.logs.end_scan import EndScan
from bifrost.filters.virtual.offset_scans import (
    AGAIN,
    CHUNK,
    FIRST_CHUNK,
    FirstScan,
    Found,
    OffsetScans,
    StartScan,
)
from bifrost.tenancy.virtual_partitions import record_times
from bifrost.tenancy.virtual_partitions.logs.known_starts import KEPT_MS, KnownStart, KnownStarts
from bifrost.tenancy.virtual_partitions.logs.stretch import KnownStretches
from bifrost.tenancy.virtual_partitions.partition_map import PartitionGroup
from bifrost.wire.error_codes import ErrorCode
from support.clients.record_batches import TIMESTAMP_MS
from support.records.virtual_logs import batch, log_of

PLACE = (b"physical", 3)
FIRST, SECOND = PartitionGroup(0), PartitionGroup(1)
BROKER = Found(0, 77)
REFUSALS = (
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    ErrorCode.UNSUPPORTED_VERSION,
)


def first(time_ms: int = TIMESTAMP_MS, offset: int = 0) -> FirstScan:
    return FirstScan(PLACE, SECOND, offset, time_ms, BROKER)


def start(
    *groups: PartitionGroup,
    known: KnownStarts | None = None,
    bounds: tuple[int, int] = (0, 100),
    now_ms: int = 0,
) -> StartScan:
    scan = StartScan(PLACE, bounds, (FIRST, SECOND), known or KnownStarts(), now_ms)
    for group in groups:
        scan.want(group)
    return scan


def test_the_first_own_batch_is_looked_for_in_larger_and_larger_parts() -> None:
    scan = start(SECOND)
    asked = []
    for records in (log_of(0), log_of(0, 0, base=2), log_of(0, 1, 0, base=6)):
        asked.append(scan.wanted)
        scan.take(StoredBatch(0, records))

    assert asked == [StoredAt(*PLACE, 0, FIRST_CHUNK), StoredAt(*PLACE, 2, CHUNK), StoredAt(*PLACE, 6, CHUNK)]
    assert (scan.wanted, scan.first_of(FIRST), scan.first_of(SECOND), scan.end) == (None, 0, 8, 12)


def test_the_first_offset_is_not_before_the_log_begins() -> None:
    scan = start(SECOND, bounds=(5, 100))
    scan.take(StoredBatch(0, log_of(1, base=4)))

    assert scan.first_of(SECOND) == 5


def test_what_one_request_has_read_of_a_start_is_not_read_again() -> None:
    known = KnownStarts()
    start(FIRST, known=known).take(StoredBatch(0, log_of(0, 1)))
    again = start(SECOND, FIRST, known=known, now_ms=KEPT_MS - 1)
    assert (again.wanted, again.first_of(FIRST), again.first_of(SECOND)) == (None, 0, 2)

    late = start(SECOND, known=known, now_ms=KEPT_MS)
    assert late.wanted == StoredAt(*PLACE, 0, FIRST_CHUNK)


def test_the_next_request_goes_on_behind_what_was_read() -> None:
    known = KnownStarts()
    start(FIRST, known=known).take(StoredBatch(0, log_of(0, 0)))
    again = start(SECOND, known=known)
    assert again.wanted == StoredAt(*PLACE, 4, CHUNK)

    again.take(StoredBatch(0, log_of(0, 1, base=4)))
    assert (again.wanted, again.first_of(FIRST), again.first_of(SECOND)) == (None, 0, 6)
    assert known.of(PLACE, 0, 100, 0) == KnownStart(0, 8, {0: 0, 1: 6}, 0, near=8)


def test_a_partition_without_records_is_read_to_the_end_of_the_log() -> None:
    scan = start(SECOND)
    scan.take(StoredBatch(0, log_of(0)))
    scan.take(StoredBatch(0, b""))

    assert (scan.wanted, scan.first_of(SECOND), scan.end) == (None, None, 2)


def test_a_batch_that_does_not_say_whose_it_is_leaves_the_brokers_answer() -> None:
    scan = start(SECOND)
    scan.take(StoredBatch(0, log_of(0)[:16] + b"\1" + log_of(0)[17:]))

    assert (scan.wanted, scan.is_refused) == (None, True)


def test_a_batch_whose_late_record_is_before_the_offset_is_passed_over() -> None:
    """Records need not be in the order of their times."""
    late = bytearray(batch(1, 0))
    struct.pack_into(">q", late, 35, TIMESTAMP_MS + 100)
    scan = first(TIMESTAMP_MS + 50)
    scan.take(StoredBatch(0, bytes(late) + log_of(1, base=2)))
    assert scan.wanted == StoredAt(*PLACE, 2, CHUNK)
    scan.take(StoredBatch(0, b""))

    assert (scan.is_at_end, scan.found) == (True, None)


def test_a_batch_with_one_time_has_it_from_its_first_record_on() -> None:
    scan = first(TIMESTAMP_MS + 1)
    scan.take(StoredBatch(0, batch(1, 4, attributes=0x08)))

    assert scan.answer == Found(4, TIMESTAMP_MS + 1)


def test_the_marker_of_a_transaction_is_passed_over() -> None:
    scan = first(TIMESTAMP_MS + 1)
    scan.take(StoredBatch(0, batch(1, 4, attributes=0x30) + batch(1, 6)))

    assert scan.answer.offset in (6, 7)


def test_a_batch_that_is_too_large_or_broken_has_its_first_record(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_times, "MAX_UNPACKED", 1)
    large = first(TIMESTAMP_MS + 1)
    large.take(StoredBatch(0, batch(1, 4, compression_type=1)))
    broken = first(TIMESTAMP_MS + 1)
    broken.take(StoredBatch(0, batch(1, 4, attributes=4)))

    assert large.answer == broken.answer == Found(4, TIMESTAMP_MS + 1)


def test_the_search_for_the_first_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offset_scans, "MAX_SCAN_BYTES", 2 * len(batch(0, 0)))
    scan, earliest = first(), start(SECOND)
    for one in (scan, earliest):
        one.take(StoredBatch(0, log_of(0)))
        assert one.wanted is not None
        one.take(StoredBatch(0, log_of(0, base=2)))

    assert (scan.wanted, scan.found, scan.answer) == (None, None, Found(4, 77))
    assert (earliest.wanted, earliest.first_of(SECOND), earliest.end) == (None, None, 4)


def test_those_that_want_the_same_share_it() -> None:
    scans, one, two = OffsetScans(), start(SECOND), first()
    for scan in (one, two):
        scans.add(scan)
    need = scans.next_need(None)
    assert need == StoredBatches((StoredAt(*PLACE, 0, FIRST_CHUNK),), message=need.message if need else None)
    assert need is not None
    scans.take(StoredBatches(need.wanted, {need.wanted[0]: StoredBatch(0, log_of(1))}, waited_ns=5))

    assert (one.first_of(SECOND), two.answer) == (0, Found(0, TIMESTAMP_MS))
    assert scans.next_need(None) is None
    assert len(scans) == 2


def test_a_client_asks_again_after_any_error_but_a_missing_right() -> None:
    later = [one for one in ErrorCode if one not in (ErrorCode.NONE, *REFUSALS)]
    found = set()
    for code in later:
        ends, by_time = EndScan(PLACE, 0, 8, {SECOND}, KnownStretches(), -1), first()
        earliest = start(SECOND)
        for scan in (ends, by_time, earliest):
            scan.take(StoredBatch(int(code)))
            assert (scan.wanted, scan.is_refused) == (None, False), code
        found |= {ends.end_of(SECOND), by_time.answer, earliest.error}
    assert found == {AGAIN}

    for code in REFUSALS:
        ends, by_time = EndScan(PLACE, 0, 8, {SECOND}, KnownStretches(), -1), first()
        for scan in (ends, by_time, start(SECOND)):
            scan.take(StoredBatch(int(code)))
            assert scan.is_refused, code
        assert by_time.answer == BROKER
