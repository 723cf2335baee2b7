"""Moved and shared topics: whatever two writers do, each has one owner, and each place means one topic."""

from hypothesis import given, settings
from hypothesis import strategies as st

from bifrost.state.state_change import Change, StateConflict
from bifrost.state.state_table import StateTable
from bifrost.tenancy.namespaces.alias_table import (
    KIND,
    NAME_KIND,
    Access,
    AliasRefused,
    AliasTable,
    Place,
)
from bifrost.tenancy.namespaces.namespace_path import Path
from support.state_log import change, table

cheap = settings(max_examples=max(300, settings().max_examples))

PLACES = [Place(Path(path), topic) for path in (("a",), ("a", "x"), ("b",)) for topic in "st"]
places = st.sampled_from(PLACES)
operations = st.tuples(
    st.sampled_from(["move", "rename", "share", "revoke"]), places, places, st.sampled_from(Access)
)
Operation = tuple[str, Place, Place, Access]


def aliases(state: StateTable) -> AliasTable:
    return AliasTable([*state.of_kind(KIND), *state.of_kind(NAME_KIND)])


def planned(found: AliasTable, operation: Operation) -> list[Change]:
    """Return the changes of an operation; none when it is refused. There is a topic at each place at first."""
    what, source, target, access = operation
    if what != "revoke" and found.home_of(target) == target:
        return []
    try:
        match what:
            case "move":
                return found.move(source, target)
            case "rename":
                return found.move(source, target, keeps_name=True)
            case "share":
                return found.share(source, target, access)
        return found.revoke(source, target)
    except AliasRefused:
        return []


def check(state: StateTable) -> None:
    found = aliases(state)
    owners = [found.owner_of(home) for home in PLACES]
    assert len(set(owners)) == len(PLACES), "two topics have one owner's place"
    meant = [place for home in PLACES for place in found.places_of(home)]
    assert len(meant) == len(set(meant)), "a place means two topics"
    for home in PLACES:
        for place in found.places_of(home):
            assert found.home_of(place) == home
            assert found.access_at(place) is not None
    for place in set(PLACES) - set(meant):
        assert found.home_of(place) is None
        assert found.access_at(place) is None
    followed = AliasTable()
    for entry in state.entries():
        followed.apply(entry.record.key, state.get(entry.record.key))
    assert [followed.places_of(home) for home in PLACES] == [found.places_of(home) for home in PLACES]


@cheap
@given(st.lists(operations, max_size=15))
def test_each_topic_has_one_owner_and_each_place_one_topic(sequence: list[Operation]) -> None:
    state = table()
    for operation in sequence:
        changes = planned(aliases(state), operation)
        if changes:
            change(state, *changes)
        check(state)


@cheap
@given(st.lists(st.tuples(operations, operations, st.booleans()), max_size=8))
def test_two_writers_at_the_same_time_break_nothing(pairs: list[tuple[Operation, Operation, bool]]) -> None:
    state = table()
    for one, other, is_swapped in pairs:
        found = aliases(state)
        made = [planned(found, one), planned(found, other)]
        for changes in reversed(made) if is_swapped else made:
            try:
                if changes:
                    change(state, *changes)
            except StateConflict:
                continue
        check(state)
