"""Moved and shared topics in the names of clients: both directions agree, and no client sees what it was not given."""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from bifrost.state.state_table import StateTable
from bifrost.tenancy.names import PhysicalTopic, TenantNames, VirtualTopic
from bifrost.tenancy.namespaces.alias_table import (
    KIND,
    NAME_KIND,
    Access,
    AliasRefused,
    AliasTable,
    Place,
)
from bifrost.tenancy.namespaces.namespace_path import Path
from bifrost.tenancy.namespaces.topic_aliases import TenantPlace, TopicAliases
from support.physical_names import physical_name
from support.state_log import change, table

cheap = settings(max_examples=max(300, settings().max_examples))

TIERS = {"a": {("x",), ("x", "y")}, "b": {("x",)}}
PATHS = [Path((tenant, *tiers)) for tenant, below in TIERS.items() for tiers in [(), *sorted(below)]]
PLACES = [Place(path, topic) for path in PATHS for topic in ("s", "--t")]
TENANTS = {tenant: TenantPlace("main", physical_name(tenant, "")) for tenant in TIERS}

Operation = tuple[str, Place, Place, Access]
places = st.sampled_from(PLACES)
operations = st.tuples(
    st.sampled_from(["move", "rename", "share", "share", "revoke"]),
    places,
    places,
    st.sampled_from(Access),
)
allow_lists = st.none() | st.lists(st.sampled_from(["s", "x:s", "--t"]), max_size=2)


def apply(state: StateTable, operation: Operation) -> None:
    """Make a change, if it is not refused. There is a topic at each place at first."""
    what, source, target, access = operation
    found = AliasTable([*state.of_kind(KIND), *state.of_kind(NAME_KIND)])
    if what != "revoke" and found.home_of(target) == target:
        return
    try:
        match what:
            case "share":
                changes = found.share(source, target, access)
            case "revoke":
                changes = found.revoke(source, target)
            case _:
                changes = found.move(source, target, keeps_name=what == "rename")
    except AliasRefused:
        return
    change(state, *changes)


def viewer(
    path: Path, aliases: TopicAliases, allowed: list[str] | None = None, separator: str = ":"
) -> TenantNames:
    tenant, *tiers = path
    return TenantNames(
        tenant,
        allowed,
        tiers=tiers,
        namespaces=TIERS[tenant],
        separator=separator,
        aliases=aliases.parts,
        sees_shared=True,
    )


def name_in(path: Path, place: Place, separator: str = ":") -> VirtualTopic | None:
    """Return what a place is called in a namespace; None: it is not there."""
    if place.namespace[: len(path)] != path:
        return None
    return VirtualTopic(separator.join([*place.namespace[len(path) :], place.topic]).encode())


def home_name(home: Place) -> PhysicalTopic:
    names = TenantNames(home.namespace[0], tiers=home.namespace[1:], namespaces=TIERS[home.namespace[0]])
    return names.physical_topic(VirtualTopic(home.topic.encode()))


def check(names: TenantNames, path: Path, aliases: TopicAliases) -> None:
    called = [name for place in PLACES if (name := name_in(path, place)) is not None]
    physical = [names.physical_topic(one) for one in called]
    assert len(set(physical)) == len(called), "two names mean one topic"
    for name, topic in zip(called, physical, strict=True):
        assert names.virtual_topic(topic) == name
        assert (b"/" in topic) == (not names.is_allowed(name))
    for home in PLACES:
        topic, at = home_name(home), aliases.table.places_of(home)
        seen = names.virtual_topic(topic)
        inside = [one for one in at if name_in(path, one) is not None]
        if seen is None:
            assert names.allowed_topics is not None or not inside, "a topic that was given cannot be seen"
            continue
        assert names.physical_topic(seen) == topic
        meant = next(one for one in inside if name_in(path, one) == seen)
        most = {
            None if aliases.table.owner_of(home) == one else aliases.table.access_at(one) for one in inside
        }
        expected = None if aliases.table.owner_of(home) == meant else aliases.table.access_at(meant)
        assert names.access(seen.decode()) == expected
        assert expected != Access.READ or most == {Access.READ}, "another name of it may do more"
        if topic not in names.topics_elsewhere:
            assert names.topics.owns(topic)


@cheap
@given(st.lists(operations, max_size=12), st.randoms(use_true_random=False), allow_lists)
def test_both_directions_agree_whatever_was_moved_and_shared(
    sequence: list[Operation], random: Random, allowed: list[str] | None
) -> None:
    state, aliases = table(), TopicAliases()
    aliases.configure(TENANTS)
    seen = 0
    for operation in sequence:
        apply(state, operation)
        entries = list(state.entries())
        random.shuffle(entries)
        for entry in entries[: random.randrange(seen + 2)] + entries:  # In any order, and some of them twice.
            aliases.apply(entry.record.key, state.get(entry.record.key))
        seen = len(entries)
        for path in PATHS:
            check(viewer(path, aliases), path, aliases)
            check(viewer(path, aliases, allowed), path, aliases)


@cheap
@given(st.lists(operations, max_size=12))
def test_the_index_is_the_same_whenever_the_configuration_is_known(sequence: list[Operation]) -> None:
    state, early, late = table(), TopicAliases(), TopicAliases()
    early.configure(TENANTS)
    for operation in sequence:
        apply(state, operation)
        for entry in state.entries():
            early.apply(entry.record.key, state.get(entry.record.key))
    for entry in state.entries():
        late.apply(entry.record.key, state.get(entry.record.key))
    late.configure(TENANTS)

    def shown(aliases: TopicAliases) -> object:
        return {
            tenant: (one.topics, one.limited, one.standings, one.owners)
            for tenant, one in aliases.parts.items()
        }

    assert shown(late) == shown(early)


def test_a_tenant_on_another_cluster_has_no_share() -> None:
    state, aliases = table(), TopicAliases()
    change(state, *AliasTable().share(PLACES[0], Place(Path(("b",)), "p"), Access.READ))
    aliases.configure({"a": TENANTS["a"], "b": TenantPlace("other", TENANTS["b"].prefix)})
    for entry in state.entries():
        aliases.apply(entry.record.key, state.get(entry.record.key))

    names = viewer(Path(("b",)), aliases)

    assert names.virtual_topic(home_name(PLACES[0])) is None
    assert not names.is_allowed(VirtualTopic(b"p"))
