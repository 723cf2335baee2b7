import pytest

from bifrost.tenancy.virtual_partitions.logs import stretch
from bifrost.tenancy.virtual_partitions.logs.stretch import KnownStretches, Stretch, joined

PLACE = (b"physical", 3)


def test_stretches_that_touch_are_one() -> None:
    older, newer = Stretch(10, 20, {0: 12, 1: 19}), Stretch(20, 30, {0: 25, 2: 21})

    assert joined(older, newer) == joined(newer, older) == Stretch(10, 30, {0: 25, 1: 19, 2: 21})
    assert joined(None, newer) is newer
    assert joined(Stretch(0, 100, {0: 90}), newer) == Stretch(0, 100, {0: 90, 2: 21})


def test_of_two_with_a_gap_the_later_one_is_kept() -> None:
    older, newer = Stretch(10, 19, {0: 12}), Stretch(20, 30, {0: 25})

    assert joined(older, newer) == joined(newer, older) == newer


def test_what_was_read_under_another_leader_is_not_known() -> None:
    known = KnownStretches()
    known.add(PLACE, 4, Stretch(0, 10, {0: 1}))
    known.add(PLACE, 4, Stretch(10, 20, {1: 11}))

    assert known.of(PLACE, 4) == known.of(PLACE, -1) == Stretch(0, 20, {0: 1, 1: 11})
    assert known.of(PLACE, 5) is None
    assert known.of((b"physical", 4), 4) is None
    known.add(PLACE, 5, Stretch(15, 18, {}))
    assert known.of(PLACE, 5) == Stretch(15, 18, {})


def test_what_was_not_asked_for_the_longest_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stretch, "MAX_REMEMBERED", 3)
    known = KnownStretches()
    for partition in range(3):
        known.add((b"physical", partition), 0, Stretch(0, 1, {}))
    known.of((b"physical", 0), 0)
    known.add((b"physical", 3), 0, Stretch(0, 1, {}))

    assert [known.of((b"physical", one), 0) is not None for one in range(4)] == [True, False, True, True]


def test_all_stretches_together_have_a_bound_on_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stretch, "MAX_GROUPS", 5)
    known = KnownStretches()
    for partition in range(2):
        known.add((b"physical", partition), 0, Stretch(0, 9, {0: 1, 1: 2}))
    known.add((b"physical", 0), 0, Stretch(9, 12, {2: 10}))

    known.add((b"physical", 2), 0, Stretch(0, 9, {0: 1}))
    assert [known.of((b"physical", one), 0) is not None for one in range(3)] == [True, False, True]


def test_all_of_it_can_be_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stretch, "MAX_GROUPS", 2)
    known = KnownStretches()
    known.add(PLACE, 4, Stretch(0, 10, {0: 1, 1: 2}))
    known.forget()
    assert known.of(PLACE, 4) is None

    known.add((b"physical", 4), 4, Stretch(0, 10, {0: 1, 1: 2}))
    assert known.of((b"physical", 4), 4) is not None
