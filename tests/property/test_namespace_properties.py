"""Namespaces: their tree is a tree after any sequence of changes, and the names of two namespaces never meet."""

from hypothesis import given, settings
from hypothesis import strategies as st

from bifrost.config.name_template import fold
from bifrost.state.state_change import Change, StateConflict
from bifrost.tenancy.names import PhysicalTopic, TenantNames, VirtualGroup, VirtualTopic
from bifrost.tenancy.namespaces.namespace_path import InvalidNamespace, Path, parent
from bifrost.tenancy.namespaces.namespace_tree import KIND, NamespaceExists, NamespaceInUse, NamespaceTree
from support.state_log import change, table

cheap = settings(max_examples=max(200, settings().max_examples))

paths = st.lists(st.sampled_from("ab"), min_size=1, max_size=4).map(lambda tiers: Path(("acme", *tiers)))
operations = st.tuples(st.sampled_from(["create", "delete", "delete all"]), paths)


def planned(tree: NamespaceTree, what: str, path: Path) -> list[Change]:
    """Return the changes of an operation; none when the tree refuses it."""
    try:
        return tree.create(path) if what == "create" else tree.delete(path, recursive=what == "delete all")
    except (InvalidNamespace, NamespaceExists, NamespaceInUse):
        return []


@cheap
@given(st.lists(operations, max_size=20))
def test_the_tree_is_what_a_set_of_paths_would_be(sequence: list[tuple[str, Path]]) -> None:
    state = table()
    expected: set[Path] = set()
    for what, path in sequence:
        changes = planned(NamespaceTree(["acme"], (), state.of_kind(KIND)), what, path)
        if changes:
            change(state, *changes)
        nested = {one for one in expected if one[: len(path)] == path}
        if what == "create":
            expected |= {Path(path[:length]) for length in range(2, len(path) + 1)}
        elif what == "delete all" or nested == {path}:
            expected -= nested
        tree = NamespaceTree(["acme"], (), state.of_kind(KIND))

        assert set(tree.nested(Path(("acme",)))) == expected
        assert all(tree.exists(one) for one in expected)


@cheap
@given(st.lists(st.tuples(operations, operations, st.booleans()), max_size=8))
def test_two_writers_never_leave_a_namespace_without_the_one_above(
    pairs: list[tuple[tuple[str, Path], tuple[str, Path], bool]],
) -> None:
    state = table()
    for one, other, is_swapped in pairs:
        tree = NamespaceTree(["acme"], (), state.of_kind(KIND))
        made = [planned(tree, *one), planned(tree, *other)]
        for changes in reversed(made) if is_swapped else made:
            try:
                if changes:
                    change(state, *changes)
            except StateConflict:
                continue
        found = {Path(tuple(record.key.name.split(":"))) for record in state.of_kind(KIND)}

        assert all(len(path) == 2 or parent(path) in found for path in found)


Tiers = tuple[str, ...]

# Few characters, so that tiers and names meet often.
tiers = st.text("a._-", min_size=1, max_size=4).filter(lambda tier: tier not in (".", ".."))
trees = st.lists(st.lists(tiers, min_size=1, max_size=3), max_size=4).map(
    lambda found: frozenset(tuple(one[:length]) for one in found for length in range(1, len(one) + 1))
)
topics = st.text("a._-", min_size=1, max_size=6).filter(lambda name: name not in (".", ".."))
group_ids = st.text("a:._-", max_size=8)


def names_of(tree: frozenset[Tiers], path: Tiers, separator: str = ":") -> TenantNames:
    return TenantNames("a", tiers=path, namespaces=tree, separator=separator)


@cheap
@given(trees, st.data(), topics, topics)
def test_two_topics_of_two_namespaces_never_meet(
    tree: frozenset[Tiers], data: st.DataObject, one: str, other: str
) -> None:
    paths = sorted({(), *tree})
    first, second = data.draw(st.sampled_from(paths)), data.draw(st.sampled_from(paths))
    physical = [
        names_of(tree, path).physical_topic(VirtualTopic(name.encode())).decode()
        for path, name in ((first, one), (second, other))
    ]

    assert (physical[0] == physical[1]) == ((first, one) == (second, other))
    if first != second:
        assert fold(physical[0]) != fold(physical[1])


@cheap
@given(trees, st.data(), topics | group_ids, st.sampled_from([":", "..", "__"]))
def test_a_name_of_a_namespace_is_seen_from_above_and_nowhere_else(
    tree: frozenset[Tiers], data: st.DataObject, name: str, separator: str
) -> None:
    paths = sorted({(), *tree})
    path, viewer = data.draw(st.sampled_from(paths)), data.draw(st.sampled_from(paths))
    group = names_of(tree, path, separator).physical_group(VirtualGroup(name.encode()))

    seen = names_of(tree, viewer, separator).virtual_group(group)

    if seen is not None:
        assert path[: len(viewer)] == viewer or separator in name
        assert names_of(tree, viewer, separator).physical_group(seen) == group
    if viewer == path:
        assert seen == name.encode()
    elif separator == ":" and ":" not in name and name and path[: len(viewer)] == viewer:
        assert seen == ":".join((*path[len(viewer) :], name)).encode()


@cheap
@given(trees, st.data(), st.text("a:/._-", max_size=10), st.booleans())
def test_every_topic_comes_back(
    tree: frozenset[Tiers], data: st.DataObject, name: str, is_physical: bool
) -> None:
    names = names_of(tree, data.draw(st.sampled_from(sorted({(), *tree}))))
    if not is_physical:
        assert names.virtual_topic(names.physical_topic(VirtualTopic(name.encode()))) == name.encode()
        return
    physical = PhysicalTopic(names.topics.shared_prefix + name.encode())
    virtual = names.virtual_topic(physical)
    assert virtual is None or names.physical_topic(virtual) == physical
