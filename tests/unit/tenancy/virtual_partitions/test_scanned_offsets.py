import pytest

from bifrost.tenancy.virtual_partitions import scanned_offsets
from bifrost.tenancy.virtual_partitions.scanned_offsets import ScannedOffsets, ScannedRoom

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


def test_connections_of_a_tenant_share_a_room() -> None:
    room = ScannedRoom(5)
    one, other = ScannedOffsets(room), ScannedOffsets(room)
    for number in range(3):
        one.note(("orders", number), 10, 20, 1)
    one.note(("orders", 0), 20, 30, 1)
    other.note_begun(("orders", 7), 0)
    other.note_begun(("orders", 7), 1)

    assert room.used == 4
    assert other.has_room(1)
    assert not other.has_room(2)
    assert other.may_begin(("orders", 8), 0)

    other.note(("orders", 9), 10, 20, 1)
    assert not one.has_room(1)
    assert not one.may_begin(("orders", 8), 0)

    one.forget(("orders", 1))
    assert (room.used, other.has_room(1)) == (4, True)


def test_a_connection_that_ends_gives_its_places_back() -> None:
    room = ScannedRoom(10)
    ended, kept = ScannedOffsets(room), ScannedOffsets(room)
    for number in range(4):
        ended.note(("orders", number), 10, 20, 1)
    ended.note_begun(("orders", 5), 0)
    kept.note(("orders", 0), 10, 20, 1)

    del ended

    assert room.used == 1
