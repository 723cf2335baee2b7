from hypothesis import given
from hypothesis import strategies as st

from bifrost.state.state_key import StateKey
from bifrost.state.state_record import Body, StateRecord
from bifrost.tenancy.namespaces.alias_table import KIND, Access, Alias, Place
from bifrost.tenancy.namespaces.new_alias import put_new
from bifrost.tenancy.namespaces.topic_aliases import NOWHERE, Standing, TenantPlace, TopicAliases
from support.physical_names import physical_name

PLACES = ["a/s", "a/t", "a:x/s", "a:y/s", "b/s", "nobody/s"]
places = st.sampled_from(PLACES)
bodies = st.fixed_dictionaries(
    {"owner": places, "shares": st.dictionaries(places, st.sampled_from(["read", "read-write"]), max_size=2)}
)


class Careful(TopicAliases):
    """Takes each topic for an unusual one."""

    def _settle_new(self, home: Place, alias: Alias) -> list[str] | None:
        return None


def configured(found: TopicAliases) -> TopicAliases:
    found.configure({name: TenantPlace("main", physical_name(name, "")) for name in "ab"})
    return found


@given(st.lists(st.tuples(places, st.none() | bodies), max_size=12))
def test_a_usual_topic_is_put_as_every_topic_is(records: list[tuple[str, Body | None]]) -> None:
    quick, careful = configured(TopicAliases()), configured(Careful())
    for name, body in records:
        key = StateKey(KIND, name)
        record = None if body is None else StateRecord(key, 1, 0, "c", "w", None, body)

        assert quick.take(key, record) == careful.take(key, record)
        for part in (*quick.parts.values(), *careful.parts.values()):
            part.version, part.home_of = 0, place_itself
        assert quick.parts == careful.parts


def place_itself(place: Place) -> Place:
    return place


def test_what_is_not_put_changes_nothing() -> None:
    home, owner, other = Place.read("a/s"), Place.read("a:x/s"), Place.read("b/s")
    for alias, known in (
        (Alias(home), {}),
        (Alias(other), {}),
        (Alias(owner, ((other, Access.READ),)), {}),
        (Alias(owner, ((owner, Access.READ),)), {}),
        (Alias(owner), {home: b"p"}),
        (Alias(owner), {owner: b"p"}),
    ):
        topics, limited, standings, owners = dict(known), set[Place](), {}, {}

        assert not put_new(home, alias, b"p", topics, limited, standings, owners, Standing, NOWHERE)
        assert (topics, limited, standings, owners) == (known, set(), {}, {})
