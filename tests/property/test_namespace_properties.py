"""The tree of namespaces: after any sequence of changes it is a tree, whoever of two writers was first."""

from hypothesis import given, settings
from hypothesis import strategies as st

from bifrost.state.state_change import Change, StateConflict
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
