import pytest

from bifrost.tenancy.virtual_partitions import scanned_offsets
from bifrost.tenancy.virtual_partitions.scanned_offsets import ScannedOffsets

ONE, TWO = ("orders", 1), ("orders", 2)


@pytest.mark.parametrize(
    ("offset", "epoch", "expected"),
    [(9, 2, 9), (10, 2, 30), (29, 2, 30), (30, 2, 30), (31, 2, 31), (10, 3, 10), (10, -1, 10)],
)
def test_a_consumer_goes_on_behind_what_was_fetched(offset: int, epoch: int, expected: int) -> None:
    scanned = ScannedOffsets()
    scanned.note(ONE, 10, 30, 2)

    assert scanned.after(ONE, offset, epoch) == expected
    assert scanned.after(TWO, offset, epoch) == offset


def test_what_was_fetched_to_its_end_is_forgotten() -> None:
    scanned = ScannedOffsets()
    scanned.note(ONE, 10, 30, 2)
    scanned.note(ONE, 30, 30, 2)
    scanned.note(TWO, 10, 30, 2)
    scanned.forget(TWO)
    scanned.forget(("payments", 1))

    assert len(scanned) == 0
    assert scanned.after(ONE, 10, 2) == scanned.after(TWO, 10, 2) == 10


def test_partitions_have_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scanned_offsets, "MAX_PARTITIONS", 3)
    scanned = ScannedOffsets()
    scanned.note(ONE, 0, 1, 0)

    assert scanned.has_room(2)
    assert not scanned.has_room(3)


def test_a_log_is_read_from_its_beginning_once_for_a_consumer(monkeypatch: pytest.MonkeyPatch) -> None:
    scanned = ScannedOffsets()
    assert scanned.may_begin(ONE, 9)
    scanned.note_begun(ONE, 9)
    assert not scanned.may_begin(ONE, 9)
    assert scanned.may_begin(ONE, 8)
    assert scanned.may_begin(TWO, 9)

    monkeypatch.setattr(scanned_offsets, "MAX_PARTITIONS", 1)
    assert not scanned.may_begin(TWO, 9)
