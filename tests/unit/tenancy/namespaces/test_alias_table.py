import pytest

from bifrost.state.state_change import Change, StateConflict
from bifrost.state.state_key import StateKey
from bifrost.tenancy.namespaces import alias_table
from bifrost.tenancy.namespaces.alias_table import (
    KIND,
    NAME_KIND,
    Access,
    AliasRefused,
    AliasTable,
    Place,
)
from bifrost.tenancy.namespaces.namespace_path import InvalidNamespace
from support.state_log import change, put, table


def place(text: str) -> Place:
    return Place.read(text)


HOME, BILLING, PARTNER = place("acme:eu/orders"), place("acme:billing/orders"), place("globex/partner.orders")


class State:
    """A state with aliases."""

    def __init__(self) -> None:
        self.table = table()

    @property
    def aliases(self) -> AliasTable:
        return AliasTable([*self.table.of_kind(KIND), *self.table.of_kind(NAME_KIND)])

    def make(self, changes: list[Change]) -> None:
        change(self.table, *changes)

    @property
    def keys(self) -> set[str]:
        return {str(one.key) for kind in (KIND, NAME_KIND) for one in self.table.of_kind(kind)}


def test_a_topic_that_was_never_moved_is_at_home() -> None:
    aliases = AliasTable()

    assert aliases.home_of(HOME) == HOME
    assert aliases.places_of(HOME) == [HOME]
    assert aliases.access_at(HOME) is Access.READ_WRITE
    assert len(aliases) == 0


def test_a_move_changes_the_owner_and_a_move_back_leaves_no_trace() -> None:
    state = State()
    state.make(state.aliases.move(HOME, BILLING))

    assert state.aliases.home_of(BILLING) == HOME
    assert state.aliases.home_of(HOME) is None
    assert state.aliases.owner_of(HOME) == BILLING
    assert state.keys == {"alias:acme:eu/orders", "alias-name:acme:billing/orders"}
    with pytest.raises(AliasRefused, match="acme:eu/orders was moved to acme:billing/orders"):
        state.aliases.move(HOME, PARTNER)

    state.make(state.aliases.move(BILLING, HOME))
    assert state.aliases.home_of(HOME) == HOME
    assert state.keys == set()


def test_a_share_shows_the_topic_at_another_place_until_it_is_revoked() -> None:
    state = State()
    state.make(state.aliases.share(HOME, PARTNER, Access.READ))
    assert state.aliases.places_of(HOME) == [HOME, PARTNER]
    assert (state.aliases.access_at(HOME), state.aliases.access_at(PARTNER)) == (
        Access.READ_WRITE,
        Access.READ,
    )

    state.make(state.aliases.share(HOME, PARTNER, Access.READ_WRITE))
    state.make(state.aliases.move(HOME, BILLING))
    assert state.aliases.shares_of(HOME) == {PARTNER: Access.READ_WRITE}
    with pytest.raises(AliasRefused, match="is shared by acme:billing/orders, which alone can"):
        state.aliases.share(PARTNER, place("acme:us/o"), Access.READ)

    state.make(state.aliases.revoke(BILLING, PARTNER))
    assert state.aliases.home_of(PARTNER) == PARTNER
    with pytest.raises(AliasRefused, match=r"is not shared to globex/partner\.orders"):
        state.aliases.revoke(BILLING, PARTNER)


def test_a_place_means_one_topic() -> None:
    state = State()
    other = place("acme:us/other")
    state.make(state.aliases.move(HOME, BILLING))

    with pytest.raises(AliasRefused, match="acme:billing/orders means another topic already"):
        state.aliases.move(other, BILLING)
    with pytest.raises(AliasRefused, match="means another topic already"):
        state.aliases.share(other, BILLING, Access.READ)
    state.make(state.aliases.move(other, HOME))
    assert state.aliases.home_of(HOME) == other
    with pytest.raises(AliasRefused, match="means another topic already"):
        state.aliases.move(BILLING, HOME)


def test_two_topics_that_want_one_place_conflict() -> None:
    state = State()
    other = place("acme:us/other")
    both = [state.aliases.move(HOME, BILLING), state.aliases.move(other, BILLING)]
    state.make(both[0])
    with pytest.raises(StateConflict):
        state.make(both[1])

    both = [state.aliases.move(BILLING, HOME), state.aliases.move(other, HOME)]
    state.make(both[1])
    with pytest.raises(StateConflict):
        state.make(both[0])


def test_a_topic_has_a_largest_number_of_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alias_table, "MAX_SHARES", 1)
    state = State()
    state.make(state.aliases.share(HOME, PARTNER, Access.READ))

    with pytest.raises(AliasRefused, match="is shared 1 times already"):
        state.aliases.share(HOME, BILLING, Access.READ)


@pytest.mark.parametrize("text", ["acme", "acme/", "/orders", "acme:/x"])
def test_what_is_no_place(text: str) -> None:
    with pytest.raises(InvalidNamespace):
        Place.read(text)


@pytest.mark.parametrize(
    "body",
    [{}, {"owner": "acme/x"}, {"owner": 1, "shares": {}}, {"owner": "acme/x", "shares": {"acme/y": "own"}}],
)
def test_a_record_that_is_no_alias_is_refused(body: dict[str, object]) -> None:
    state = table()
    change(state, put("acme:eu/orders", 0, body))
    with pytest.raises(ValueError, match=r"owner and shares|is not a valid Access"):
        AliasTable(state.of_kind(KIND))
    assert AliasTable().home_of(HOME) == HOME
    AliasTable().apply(StateKey(KIND, "acme:eu/orders"), None)
