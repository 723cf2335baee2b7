"""A bounded set of hashes, which forgets what was not used for a day."""

import random

import pytest

from bifrost.tenancy.broker_state.entry_set import HALF_DAY_MS, EntrySet


class Clock:
    now_ms = 0

    def __call__(self) -> int:
        return self.now_ms


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_what_was_entered_has_room_from_then_on(clock: Clock) -> None:
    entries = EntrySet(2, clock)

    assert entries.enter(1)
    assert entries.enter(2)
    assert not entries.enter(3)
    assert entries.enter(1)
    assert entries.enter(2)
    assert len(entries) == 2


def test_a_set_without_room_takes_nothing(clock: Clock) -> None:
    assert not EntrySet(0, clock).enter(1)


def test_an_entry_is_forgotten_a_day_after_its_last_use_at_most(clock: Clock) -> None:
    entries = EntrySet(2, clock)
    entries.enter(1)
    entries.enter(2)

    clock.now_ms = HALF_DAY_MS
    assert not entries.enter(3)
    assert entries.enter(1)
    assert len(entries) == 2

    clock.now_ms = 2 * HALF_DAY_MS
    assert len(entries) == 1
    assert entries.enter(3)
    assert not entries.enter(2)


def test_what_is_used_is_not_forgotten_where_nothing_new_comes(clock: Clock) -> None:
    entries = EntrySet(1, clock)
    entries.enter(1)
    for _ in range(10):
        clock.now_ms += HALF_DAY_MS
        assert entries.enter(1)

    assert not entries.enter(2)
    clock.now_ms += HALF_DAY_MS
    assert entries.enter(2)


def test_a_limit_that_is_lowered_keeps_what_is_there(clock: Clock) -> None:
    entries = EntrySet(3, clock)
    for one in (1, 2, 3):
        entries.enter(one)
    entries.most = 1

    assert entries.enter(2)
    assert not entries.enter(4)
    assert len(entries) == 3


@pytest.mark.parametrize("seed", range(5))
def test_it_is_a_set_of_two_generations(seed: int, clock: Clock) -> None:
    """Random entries and times, beside a model of dictionaries."""
    chance = random.Random(seed)
    most = chance.choice([1, 10, 300, 5_000])
    entries, now, before, turn_ms = EntrySet(most, clock), set[int](), set[int](), HALF_DAY_MS
    for _ in range(20_000):
        clock.now_ms += chance.choice([0] * 200 + [HALF_DAY_MS // 20])
        one = chance.randrange(1, 3 * most + 2) * 0x9E37_79B9_7F4A_7C15 & (2**64 - 1)
        if clock.now_ms >= turn_ms and one not in now:
            before, now, turn_ms = now, set(), clock.now_ms + HALF_DAY_MS
        has_room = one in now or one in before or len(now | before) < most
        if has_room:
            now.add(one)

        assert entries.enter(one) == has_room
    if clock.now_ms < turn_ms:
        assert len(entries) == len(now | before)
