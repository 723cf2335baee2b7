from collections.abc import Sequence

import pytest

from bifrost.records.batch_reader import LogRecord
from bifrost.state.state_key import FLOOR, StateKey
from bifrost.state.state_record import UnreadableState
from bifrost.state.state_table import StateLimits
from support.state_log import change, key, put, table


def test_the_newest_version_is_stored() -> None:
    one = table()
    change(one, put("a", 0, {"n": 1}), put("b", 0, {"n": 2}))
    change(one, put("a", 1, {"n": 3}))

    found = one.get(key("a"))
    assert found is not None
    assert (found.version, found.body) == (2, {"n": 3})
    assert sorted(record.key.name for record in one.of_kind("alias")) == ["a", "b"]
    assert list(one.of_kind("namespace")) == []
    assert len(one) == 2


def test_a_deleted_key_is_not_stored_and_keeps_its_version() -> None:
    one = table()
    change(one, put("a", 0, {}))
    change(one, put("a", 1, None))

    assert one.get(key("a")) is None
    assert list(one.of_kind("alias")) == []
    assert (len(one), one.next_version(key("a"))) == (1, 3)


def test_a_version_that_is_not_newer_is_ignored_and_reported() -> None:
    one, other = table(), table()
    winner = change(one, put("a", 0, {"by": "winner"}))
    loser = change(other, put("a", 0, {"by": "loser"}))
    both = table()

    assert both.apply(winner) == ({key("a")}, [])
    changed, [ignored] = both.apply(loser)

    assert changed == set()
    assert (ignored.record.body, ignored.found, ignored.offset) == ({"by": "loser"}, 1, loser[0].offset)
    assert both.get(key("a")) == one.get(key("a"))


def test_a_version_that_skips_some_counts_because_compaction_removes_versions() -> None:
    one = table()
    first = change(one, put("a", 0, {"n": 1}))
    change(one, put("a", 1, {"n": 2}))
    third = change(one, put("a", 2, {"n": 3}))
    reader = table()

    reader.apply(first)
    assert reader.apply(third) == ({key("a")}, [])
    assert reader.get(key("a")) == one.get(key("a"))


def test_a_record_without_a_value_removes_its_key() -> None:
    one = table()
    change(one, put("a", 0, {}))
    size = one.size

    assert one.apply([LogRecord(7, 0, b"alias:a", None)]) == ({key("a")}, [])
    assert one.apply([LogRecord(8, 0, b"alias:a", None)]) == (set(), [])
    assert (len(one), one.size, list(one.of_kind("alias"))) == (0, 0, [])
    assert size > 0


def test_watchers_hear_of_their_kind_once_for_each_transaction() -> None:
    one, heard = table(), list[tuple[str, Sequence[StateKey]]]()
    one.watch("alias", lambda keys: heard.append(("first", keys)))
    one.watch("alias", lambda keys: heard.append(("second", keys)))
    one.watch("namespace", lambda keys: heard.append(("other", keys)))

    for call in one.calls([key("a"), key("b")]):
        call()

    assert [name for name, _ in heard] == ["first", "second"]
    assert {*heard[0][1]} == {key("a"), key("b")}


def test_a_table_read_anew_takes_its_place_and_says_what_differs() -> None:
    one, fresh, heard = table(), table(), list[Sequence[StateKey]]()
    one.watch("alias", heard.append)
    same = change(one, put("same", 0, {}))
    change(one, put("gone", 0, {}), put("other", 0, {"n": 1}))
    fresh.apply(same)
    change(fresh, put("other", 0, {"n": 2}), put("new", 0, {}))

    changed = one.become(fresh)

    assert changed == {key("gone"), key("other"), key("new")}
    assert (len(one), one.size, one.get(key("gone"))) == (3, fresh.size, None)
    [call] = one.calls(changed)
    call()
    assert len(heard) == 1


def test_nothing_of_a_transaction_that_cannot_be_read_is_taken() -> None:
    one, other = table(), table()
    good = change(other, put("a", 0, {}))

    with pytest.raises(UnreadableState, match="offset 9"):
        one.apply([*good, LogRecord(9, 0, b"alias:b", b"{")])

    assert len(one) == 0


@pytest.mark.parametrize(
    ("limits", "text"),
    [
        (StateLimits(1, 1000, 1000), "the state has 2 records, and max_records is 1"),
        (StateLimits(9, 100, 1000), "bytes, and max_record_bytes is 100"),
        (StateLimits(9, 1000, 150), "bytes, and max_bytes is 150"),
    ],
)
def test_more_than_the_limits_cannot_be_read(limits: StateLimits, text: str) -> None:
    other, one = table(), table(limits)
    records = change(other, put("a", 0, {}), put("b", 0, {}))

    with pytest.raises(UnreadableState, match=text):
        one.apply(records)


def test_as_much_as_the_limits_is_read() -> None:
    other = table()
    records = change(other, put("a", 0, {}), put("b", 0, {}))
    largest = max(len(one.key or b"") + len(one.value or b"") for one in records)
    one = table(StateLimits(2, largest, other.size))

    one.apply(records)

    assert len(one) == 2


def test_the_floor_is_where_versions_of_unknown_keys_begin() -> None:
    one = table()
    assert (one.floor, one.next_version(key("a"))) == (0, 1)

    value = (
        b'{"schema":1,"version":4,"at":1,"change":"c","writer":"w","on_behalf_of":null,"body":{"version":17}}'
    )
    one.apply([LogRecord(0, 0, FLOOR.to_bytes(), value)])

    assert (one.floor, one.next_version(key("a"))) == (17, 18)


def test_the_changes_that_were_folded_last_are_known() -> None:
    one, other = table(), table()
    first = change(one, put("a", 0, {"n": 1}))
    both = change(one, put("a", 1, {"n": 2}), put("b", 0, {}))

    other.apply(both)
    [changed] = other.last_changes
    assert {record.change for record in other.of_kind("alias")} == {changed}
    other.apply(first)
    assert other.last_changes == set()


def test_the_keys_of_all_kinds_that_differ_are_told_when_a_table_is_read_anew() -> None:
    one, other = table(), table()
    same = change(one, put("same", 0, {"n": 1}))
    other.apply(same)
    change(one, put("gone", 0, {}), put("changed", 0, {"n": 1}))
    change(other, put("changed", 0, {"n": 2}), put("new", 0, {}))

    assert one.become(other) == {key("gone"), key("changed"), key("new")}
    assert (len(one), one.size) == (3, other.size)


def test_what_is_stored_is_counted_by_kind_without_what_was_deleted() -> None:
    counted = table()
    change(counted, put("a", 0, {}), put("b", 0, {}), put("x", 0, {}, "acl"))
    change(counted, put("b", 1, None))

    assert counted.counts() == {"alias": 1, "acl": 1}


def test_transactions_may_be_folded_together() -> None:
    one, together = table(), table()
    log = [
        *change(one, put("a", 0, {"n": 1}), put("b", 0, {"n": 1})),
        *change(one, put("a", 1, {"n": 2}), put("c", 0, {"n": 1})),
        *change(one, put("b", 1, None)),
        *change(one, put("d", 0, {}), put("a", 2, {"n": 3})),
        *change(one, put("e", 0, {})),
    ]
    log.insert(4, log[0])  # A writer that lost a race.

    changed, ignored = together.apply(log)

    assert changed == {key(name) for name in "abcde"}
    assert [(late.record.version, late.found) for late in ignored] == [(1, 2)]
    assert list(together.entries()) == list(one.entries())
    assert (len(together), together.size, together.counts()) == (len(one), one.size, one.counts())
    assert len(together.last_changes) == 5


def test_deleted_keys_are_counted_by_the_tenant_until_they_are_purged_or_created_again() -> None:
    one = table()
    names = ("acme:a", "acme:b", "acme/x", "acme-too:a", "acme:eu/orders")
    change(one, *(put(name, 0, {}) for name in names))
    change(one, *(put(name, 1, None) for name in names))
    assert (one.deleted_of("acme"), one.deleted_of("acme-too"), one.deleted_of("other")) == (4, 1, 0)

    change(one, put("acme:a", 0, {}))
    one.apply([LogRecord(99, 0, key("acme:b").to_bytes(), None)])
    assert one.deleted_of("acme") == 2

    anew = table()
    anew.become(one)
    assert anew.deleted_of("acme") == 2
