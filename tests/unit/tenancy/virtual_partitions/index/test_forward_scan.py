import pytest

from bifrost.tenancy.virtual_partitions.index.forward_scan import ForwardScan
from bifrost.tenancy.virtual_partitions.index.index_entry import NO_TOPIC_ID, IndexEntry
from bifrost.tenancy.virtual_partitions.index.log_piece import read_piece
from bifrost.tenancy.virtual_partitions.virtual_batches import UnfitBatch
from support.records.virtual_logs import batch, log_of

TOPIC_ID = b"i" * 16


def entry_of(*groups: int) -> IndexEntry:
    piece = read_piece(log_of(*groups), is_keyed=False)
    assert piece is not None
    return IndexEntry(TOPIC_ID, 0, piece.end, piece.last, piece.ends)


def test_a_log_without_an_entry_is_read_from_its_start() -> None:
    scan = ForwardScan(None, 6, start=1, topic_id=TOPIC_ID)
    assert (scan.offset, scan.is_to_check) == (1, False)
    assert scan.take(log_of(0, 1))
    assert (scan.offset, scan.is_done) == (4, False)
    assert scan.take(log_of(2, base=4))

    assert (scan.offset, scan.is_done) == (None, True)
    assert scan.entry == entry_of(0, 1, 2)._replace(begin=1)


def test_it_goes_on_behind_an_entry_that_the_log_proves() -> None:
    scan = ForwardScan(entry_of(0, 1), 8)
    assert (scan.offset, scan.is_trusted, scan.is_to_check) == (3, False, False)
    assert scan.take(log_of(1, 2, base=2))
    assert (scan.offset, scan.is_trusted) == (6, True)
    assert scan.take(log_of(0, base=6))

    assert scan.entry == entry_of(0, 1, 2, 0)
    assert scan.is_done


def test_an_entry_that_reaches_far_enough_is_only_proved() -> None:
    scan = ForwardScan(entry_of(0, 1), 4)
    assert (scan.offset, scan.is_to_check, scan.is_done) == (3, True, False)
    assert scan.take(batch(1, 2))

    assert (scan.is_trusted, scan.is_done, scan.offset) == (True, True, None)


def test_a_batch_that_fills_an_answer_proves_the_entry_alone() -> None:
    scan = ForwardScan(entry_of(0, 1), 6)
    assert scan.take(batch(1, 2))
    assert (scan.is_trusted, scan.offset) == (True, 4)
    assert scan.take(batch(0, 4))

    assert scan.entry == entry_of(0, 1, 0)


@pytest.mark.parametrize("records", [batch(0, 2), batch(1, 3), log_of(1, 1, base=4)])
def test_an_entry_about_another_log_is_distrusted(records: bytes) -> None:
    scan = ForwardScan(entry_of(0, 1), 8)
    assert not scan.take(records)

    assert (scan.is_distrusted, scan.is_trusted, scan.offset) == (True, False, None)
    assert scan.entry == entry_of(0, 1)


def test_an_empty_answer_proves_nothing() -> None:
    scan = ForwardScan(entry_of(0, 1), 4)
    assert not scan.take(b"")

    assert (scan.is_distrusted, scan.is_trusted, scan.is_done) == (False, False, False)


def test_a_log_that_ends_sooner_than_thought_is_read_no_further() -> None:
    scan = ForwardScan(None, 100, topic_id=NO_TOPIC_ID)
    assert scan.take(log_of(0))
    assert not scan.take(b"")

    assert scan.entry is not None
    assert scan.entry.end == 2


def test_a_batch_that_does_not_say_whose_it_is_ends_it() -> None:
    scan = ForwardScan(None, 100)
    with pytest.raises(UnfitBatch):
        scan.take(log_of(0)[:16] + b"\1" + log_of(0)[17:])
