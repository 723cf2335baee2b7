from collections.abc import Iterable, Sequence

import pytest

from bifrost.state.state_change import Change, StateConflict
from bifrost.state.state_key import StateKey
from bifrost.tenancy.namespaces import namespace_tree
from bifrost.tenancy.namespaces.namespace_path import InvalidNamespace, Path, read_path, shown
from bifrost.tenancy.namespaces.namespace_tree import (
    KIND,
    NamespaceExists,
    NamespaceInUse,
    NamespaceTree,
    TooManyNamespaces,
    key_of,
    path_of,
)
from support.state_log import change, table


class State:
    """A state, and the tree that it makes."""

    def __init__(self, configured: Iterable[str] = ()) -> None:
        self.table = table()
        self._configured = [read_path(one) for one in configured]

    @property
    def tree(self) -> NamespaceTree:
        return NamespaceTree(("acme", "globex"), self._configured, self.table.of_kind(KIND))

    def make(self, changes: Sequence[Change]) -> None:
        change(self.table, *changes)

    def create(self, path: str) -> None:
        self.make(self.tree.create(read_path(path)))

    def list(self, under: str = "acme") -> list[str]:
        return [shown(path) for path in self.tree.nested(read_path(under))]


def test_creation_makes_every_tier() -> None:
    state = State()
    state.create("acme:org:apache:kafka")

    assert state.list() == ["acme:org", "acme:org:apache", "acme:org:apache:kafka"]
    assert state.list("acme:org:apache") == ["acme:org:apache:kafka"]
    assert state.list("globex") == []
    assert state.tree.tiers_of("acme") == {("org",), ("org", "apache"), ("org", "apache", "kafka")}


def test_what_exists() -> None:
    state = State(configured=["globex:eu:de"])
    state.create("acme:eu")
    tree = state.tree

    there = ["acme", "acme:eu", "globex", "globex:eu", "globex:eu:de"]
    assert [one for one in there if not tree.exists(read_path(one))] == []
    for one in ("other", "acme:us", "acme:eu:de", "globex:de"):
        assert not tree.exists(read_path(one))
        with pytest.raises(InvalidNamespace, match=f"InvalidNamespace: namespace {one} does not exist"):
            tree.check(read_path(one))
    assert not tree.exists(Path(()))
    assert tree.tiers_of("other") == frozenset()


def test_a_namespace_of_which_a_tier_is_missing_does_not_exist() -> None:
    state = State()
    state.make([Change(StateKey(KIND, "acme:eu:de"), 0, {})])

    assert not state.tree.exists(read_path("acme:eu:de"))
    assert state.list() == []
    state.create("acme:eu")
    assert state.tree.exists(read_path("acme:eu:de"))


def test_records_that_name_nothing_are_ignored() -> None:
    state = State()
    state.make([Change(StateKey(KIND, name), 0, {}) for name in ("acme", "acme:", "x/y:z", "other:eu")])

    assert state.list() == []


def test_what_exists_is_not_created_again() -> None:
    state = State(configured=["acme:us"])
    state.create("acme:eu")

    for path in ("acme:eu", "acme:us", "acme"):
        with pytest.raises(NamespaceExists, match=f"namespace {path} exists already"):
            state.create(path)
    with pytest.raises(InvalidNamespace):
        state.create("other:eu")
    with pytest.raises(InvalidNamespace):
        state.tree.create(Path(("acme", "a:b")))


def test_a_tenant_has_a_largest_number_of_namespaces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(namespace_tree, "MAX_NAMESPACES", 3)
    state = State()
    state.create("acme:a:b")

    with pytest.raises(TooManyNamespaces, match="tenant acme has 2 namespaces, and may have 3"):
        state.create("acme:c:d")
    state.create("acme:c")


def test_deletion_refuses_nested_namespaces_unless_it_is_recursive() -> None:
    state = State()
    for path in ("acme:eu:de", "acme:eu:fr:paris", "acme:us"):
        state.create(path)

    with pytest.raises(NamespaceInUse, match=r"3 namespaces are nested below acme:eu .*--recursive") as info:
        state.tree.delete(read_path("acme:eu"))
    assert len(info.value.nested) == 3
    state.make(state.tree.delete(read_path("acme:eu:de")))
    state.make(state.tree.delete(read_path("acme:eu"), recursive=True))

    assert state.list() == ["acme:us"]
    with pytest.raises(InvalidNamespace):
        state.tree.delete(read_path("acme:eu"))


def test_what_the_configuration_names_is_not_deleted() -> None:
    state = State(configured=["acme:eu:de"])
    state.create("acme:eu:fr")

    for path in ("acme", "acme:eu", "acme:eu:de"):
        with pytest.raises(NamespaceInUse, match="the configuration names"):
            state.tree.delete(read_path(path), recursive=True)
    state.make(state.tree.delete(read_path("acme:eu:fr")))
    assert state.list() == ["acme:eu", "acme:eu:de"]
    assert state.tree.is_configured(read_path("acme:eu"))
    assert not state.tree.is_configured(read_path("acme:us"))


@pytest.mark.parametrize("first", [0, 1])
def test_creation_below_and_deletion_at_the_same_time_conflict(first: int) -> None:
    state = State()
    state.create("acme:eu")
    tree = state.tree
    both = [tree.create(read_path("acme:eu:de")), tree.delete(read_path("acme:eu"))]
    state.make(both[first])

    with pytest.raises(StateConflict):
        state.make(both[1 - first])


def test_a_namespace_that_was_deleted_can_be_created_again() -> None:
    state = State()
    state.create("acme:eu")
    state.make(state.tree.delete(read_path("acme:eu")))
    state.create("acme:eu")

    assert state.list() == ["acme:eu"]


def test_keys_and_paths_are_each_other_s_reverse() -> None:
    path = read_path("acme:eu:a.b_c")

    assert path_of(key_of(path)) == path
    assert path_of(StateKey("alias", "acme:eu")) is None
