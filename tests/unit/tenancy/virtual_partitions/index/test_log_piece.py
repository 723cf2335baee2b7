import pytest

from bifrost.tenancy.virtual_partitions.index.log_piece import BatchMark, read_piece
from bifrost.tenancy.virtual_partitions.virtual_batches import UnfitBatch
from support.records.virtual_logs import batch, log_of


def mark_of(data: bytes) -> BatchMark:
    return BatchMark(
        int.from_bytes(data[:8], "big"),
        int.from_bytes(data[12:16], "big", signed=True),
        int.from_bytes(data[17:21], "big"),
    )


def test_a_piece_has_its_first_and_last_batch_and_where_groups_end() -> None:
    log = log_of(0, 2, 0, 1, base=10)
    piece = read_piece(log + log_of(3, base=18)[:-1], is_keyed=False)

    assert piece is not None
    assert (piece.first, piece.last) == (mark_of(log), mark_of(batch(1, 16)))
    assert (piece.end, piece.ends) == (18, {0: 16, 1: 18, 2: 14})


def test_a_single_batch_is_the_first_and_the_last() -> None:
    piece = read_piece(memoryview(batch(1, 4)), is_keyed=False)

    assert piece is not None
    assert piece.first == piece.last == mark_of(batch(1, 4))


@pytest.mark.parametrize("records", [b"", batch(0, 0)[:40], batch(0, 0)[:-1]])
def test_without_a_whole_batch_there_is_no_piece(records: bytes) -> None:
    assert read_piece(records, is_keyed=False) is None


def test_a_batch_that_does_not_say_whose_it_is_is_refused() -> None:
    with pytest.raises(UnfitBatch):
        read_piece(log_of(0)[:16] + b"\1" + log_of(0)[17:], is_keyed=False)


@pytest.mark.parametrize(
    "rest", [b"", b"\0", b"\0" * 16, b"\xff" * 16, batch(0, 600)[:60], batch(0, 600)[:-1]]
)
def test_what_is_not_whole_at_the_end_does_not_count(rest: bytes) -> None:
    log = log_of(*[0] * 200)
    piece = read_piece(log + rest, is_keyed=False)

    assert piece is not None
    assert (piece.last, piece.end) == (mark_of(batch(0, 398)), 400)
