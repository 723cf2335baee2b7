import pytest

from bifrost.state import state_change, state_table
from bifrost.state.state_change import (
    Author,
    StateConflict,
    Unchanged,
    decide,
    purge,
)
from bifrost.state.state_key import FLOOR
from bifrost.state.state_record import TooLarge
from bifrost.state.state_table import StateLimits
from support.state_log import AUTHOR, change, decided, in_log, key, put, table


def test_several_keys_change_together() -> None:
    one = table()

    records = in_log(decided(one, [put("a", 0, {"n": 1}), put("b", 0, {"n": 2})], (), AUTHOR, 5, "c1"))
    one.apply(records)

    found = one.get(key("b"))
    assert found is not None
    assert (found.version, found.at_ms, found.change) == (1, 5, "c1")
    assert (found.writer, found.on_behalf_of) == ("gw-1/4711", "User:alice")


def test_the_loser_learns_what_it_expected_what_is_there_and_whose_it_is() -> None:
    one = table()
    change(one, put("a", 0, {"n": 1}))
    change(one, put("a", 1, {"n": 2}), author=Author("gw-2/1", "User:bob"))

    with pytest.raises(StateConflict) as caught:
        change(one, put("b", 0, {}), put("a", 1, {"n": 3}))

    conflict = caught.value
    assert str(conflict) == "alias:a has changed: version 1 was expected, 2 was found, written by User:bob"
    assert (conflict.key, conflict.expected, conflict.found) == (key("a"), 1, 2)
    assert (conflict.writer, conflict.on_behalf_of) == ("gw-2/1", "User:bob")
    assert one.get(key("b")) is None


def test_to_create_what_exists_is_a_conflict() -> None:
    one = table()
    change(one, put("a", 0, {}))

    with pytest.raises(StateConflict, match="version 0 was expected, 1 was found"):
        change(one, put("a", 0, {}))


def test_to_change_what_was_deleted_is_a_conflict() -> None:
    one = table()
    change(one, put("a", 0, {}))
    change(one, put("a", 1, None), author=Author("gw-2/1"))

    with pytest.raises(StateConflict, match="version 1 was expected, 0 was found, written by gw-2/1"):
        change(one, put("a", 1, {}))


def test_to_change_what_never_was_is_a_conflict() -> None:
    with pytest.raises(StateConflict, match=r"version 3 was expected, 0 was found$"):
        change(table(), put("a", 3, {}))


def test_what_was_deleted_can_be_created_again_with_a_higher_version() -> None:
    one = table()
    change(one, put("a", 0, {}))
    change(one, put("a", 1, None))
    change(one, put("a", 0, {"again": True}))

    found = one.get(key("a"))
    assert found is not None
    assert found.version == 3


def test_what_a_change_relies_on_must_be_as_it_was_seen() -> None:
    one = table()
    change(one, put("org", 0, {}, "namespace"))
    below, above = put("org:apache", 0, {}, "namespace"), key("org", "namespace")

    assert decided(one, [below], [Unchanged(above, 1)], AUTHOR, 1, "c")
    change(one, put("org", 1, None, "namespace"))
    with pytest.raises(StateConflict, match="namespace:org has changed: version 1 was expected, 0 was found"):
        decided(one, [below], [Unchanged(above, 1)], AUTHOR, 1, "c")


def test_changes_that_make_no_sense_are_refused() -> None:
    one = table()
    for changes in ([], [put("a", 0, {}), put("a", 0, {})], [put("a", 0, None)]):
        with pytest.raises(ValueError):  # noqa: PT011 - each has its own text
            decided(one, changes, (), AUTHOR, 1, "c")
    with pytest.raises(ValueError, match="state:floor cannot be changed so"):
        decided(one, [put("floor", 0, {}, "state")], (), AUTHOR, 1, "c")


def test_a_record_above_its_limit_is_refused_and_one_at_the_limit_is_not() -> None:
    sample = decided(table(), [put("a", 0, {"x": "y" * 50})], (), AUTHOR, 1, "c")
    size = sum(len(one[1] or b"") + len(one[2] or b"") for one in sample)

    decided(table(StateLimits(9, size, 10_000)), [put("a", 0, {"x": "y" * 50})], (), AUTHOR, 1, "c")
    with pytest.raises(TooLarge, match=f"alias:a has {size + 1} bytes, and max_record_bytes is {size}"):
        decided(table(StateLimits(9, size, 10_000)), [put("a", 0, {"x": "y" * 51})], (), AUTHOR, 1, "c")


def test_a_table_at_its_limit_takes_changes_and_no_new_keys() -> None:
    one = table(StateLimits(2, 1000, 100_000))
    change(one, put("a", 0, {}), put("b", 0, {}))

    change(one, put("a", 1, {"n": 1}))
    with pytest.raises(TooLarge, match="the state has 3 records, and max_records is 2"):
        change(one, put("c", 0, {}))


def test_bytes_of_all_records_have_a_limit() -> None:
    one = table(StateLimits(9, 1000, 200))
    change(one, put("a", 0, {}))

    with pytest.raises(TooLarge, match="and max_bytes is 200"):
        change(one, put("b", 0, {"x": "y" * 100}))


def test_old_deletions_are_purged_and_a_key_never_has_a_version_twice() -> None:
    one = table()
    change(one, put("a", 0, {}), put("b", 0, {}))
    change(one, put("a", 1, None), now_ms=1000)
    change(one, put("b", 1, None), now_ms=5000)

    assert purge(one, AUTHOR, 2000, "p", keep_ms=1000) == []
    records = purge(one, AUTHOR, 2001, "p", keep_ms=1000)
    one.apply(in_log(records))

    assert [(record[1], record[2] is None) for record in records] == [
        (b"alias:a", True),
        (FLOOR.to_bytes(), False),
    ]
    assert one.entry(key("a")) is None
    assert one.entry(key("b")) is not None
    assert (one.floor, one.next_version(key("a"))) == (2, 3)
    with pytest.raises(StateConflict):
        change(one, put("a", 1, {}))


def test_a_purge_spares_what_the_same_change_creates_and_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    one = table()
    names = ["a", "b", "c", "d"]
    change(one, *(put(name, 0, {}) for name in names))
    change(one, *(put(name, 1, None) for name in names))
    monkeypatch.setattr(state_change, "MAX_PURGED", 2)

    records = purge(one, AUTHOR, 10_000, "p", keep_ms=0, spared=[put("a", 0, {})])

    assert [record[1] for record in records] == [b"alias:b", b"alias:c", b"state:floor"]


def test_a_purge_looks_at_few_deletions_that_are_too_young(monkeypatch: pytest.MonkeyPatch) -> None:
    one, names = table(), [f"a{number}" for number in range(10)]
    change(one, *(put(name, 0, {}) for name in names))
    for number, name in enumerate(names):
        # One gateway's clock is ahead, so that old deletions are behind younger ones.
        change(one, put(name, 1, None), now_ms=9_000 if number % 3 else 1_000)

    monkeypatch.setattr(state_table, "MAX_YOUNGER", 3)
    records = purge(one, AUTHOR, 5_000, "p", keep_ms=1_000)

    assert [record[1] for record in records] == [b"alias:a0", b"alias:a3", b"state:floor"]


def test_a_large_change_is_decided_in_steps() -> None:
    one = table()
    changes = [put(f"a{number}", 0, {"n": number}) for number in range(100)]

    steps, count = decide(one, changes, (Unchanged(key("b"), 0),), AUTHOR, 5, "c1"), 0
    while True:
        try:
            next(steps)
        except StopIteration as ended:
            made = ended.value
            break
        count += 1

    assert count >= 3 * 100, "each key is compared, written and measured"
    assert made == decided(one, changes, (Unchanged(key("b"), 0),), AUTHOR, 5, "c1")
