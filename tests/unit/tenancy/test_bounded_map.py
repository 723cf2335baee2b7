import time

from bifrost.tenancy.bounded_map import BoundedMap


def test_it_is_a_map() -> None:
    entries: BoundedMap[str, int] = BoundedMap(2)

    entries.put("a", 1)
    entries.put("a", 2)

    assert (entries.get("a"), entries.get("b"), len(entries)) == (2, None, 1)


def test_the_oldest_entry_is_forgotten_and_told() -> None:
    entries: BoundedMap[str, int] = BoundedMap(2)
    assert (entries.put("a", 1), entries.put("b", 2)) == (None, None)

    assert entries.put("c", 3) == ("a", 1)

    assert (entries.get("a"), entries.get("b"), entries.get("c")) == (None, 2, 3)


def test_an_entry_that_is_set_anew_is_the_newest_and_costs_no_other() -> None:
    entries: BoundedMap[str, int] = BoundedMap(2)
    entries.put("a", 1)
    entries.put("b", 2)

    assert entries.put("a", 3) is None

    assert entries.put("c", 4) == ("b", 2)
    assert entries.get("a") == 3


def test_an_entry_can_be_dropped() -> None:
    entries: BoundedMap[str, int] = BoundedMap(2)
    entries.put("a", 1)

    entries.discard("a")
    entries.discard("b")

    assert (entries.get("a"), len(entries)) == (None, 0)


def test_a_full_map_takes_no_longer_than_an_empty_one() -> None:
    # With a plain dict as the queue this takes minutes: its oldest entry lies behind all that were deleted.
    entries: BoundedMap[int, int] = BoundedMap(50_000)
    started = time.process_time()
    for number in range(200_000):
        entries.put(number, number)

    assert len(entries) == 50_000
    assert time.process_time() - started < 5
