"""The namespaces that exist, and the changes of the state that create and delete them.

A namespace exists when the state has a record of it (kind `namespace`, name `acme:analytics:eu`), or when the
configuration names it or one below it. A tenant's own always exists. Nothing creates a namespace but `create`.

The changes carry the versions that the tree was made from, so of two writers that contradict each other one gets a
conflict. `create` writes the namespace above once more, if it is in the state: its deletion at the same time then
conflicts, and no namespace is ever left below one that does not exist.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from bifrost.config.tiers import MAX_NAMESPACES
from bifrost.state.state_change import Change
from bifrost.state.state_key import StateKey
from bifrost.state.state_record import StateRecord
from bifrost.tenancy.namespaces.namespace_path import (
    InvalidNamespace,
    Path,
    check_tiers,
    parent,
    read_path,
    shown,
)

KIND = "namespace"
"""The kind of the records in the state."""


class NamespaceExists(ValueError):
    """The namespace that is to be created is there already."""

    def __init__(self, path: Path) -> None:
        """Name it."""
        super().__init__(f"namespace {shown(path)} exists already")
        self.path = path


class NamespaceInUse(ValueError):
    """The namespace cannot be deleted now; the text says why, and what to do."""

    def __init__(self, path: Path, nested: tuple[Path, ...], why: str) -> None:
        """Describe what stands against it."""
        super().__init__(why)
        self.path = path
        self.nested = nested
        """The namespaces below it that stand against its deletion; empty when it is something else."""


class TooManyNamespaces(ValueError):
    """The tenant has as many namespaces as it may have."""


class NamespaceTree:
    """The namespaces of all tenants of a configuration."""

    def __init__(
        self,
        tenants: Iterable[str],
        configured: Iterable[Path] = (),
        records: Iterable[StateRecord] = (),
    ) -> None:
        """Make the tree.

        Args:
            tenants: all tenants' names; records of other tenants stay in the state and are not in the tree.
            configured: the paths that the configuration names; those above them exist as well.
            records: what the state has of `KIND`. A record whose name is no path is not in the tree.
        """
        self._roots = frozenset(tenants)
        self._configured = frozenset(
            Path(path[:length])
            for path in configured
            if path[0] in self._roots
            for length in range(2, len(path) + 1)
        )
        self._stored: dict[Path, StateRecord] = {}
        for record in records:
            path = path_of(record.key)
            if path is not None and path[0] in self._roots and record.body is not None:
                self._stored[path] = record
        below: defaultdict[Path, set[Path]] = defaultdict(set)
        for path in self._configured | self._stored.keys():
            below[parent(path)].add(path)
        self._below: Mapping[Path, set[Path]] = dict(below)

    def exists(self, path: Path) -> bool:
        """Whether a namespace may be used. One of which a tier above is missing may not."""
        if not path or path[0] not in self._roots:
            return False
        return all(self._is_known(Path(path[:length])) for length in range(2, len(path) + 1))

    def is_configured(self, path: Path) -> bool:
        """Whether the configuration names a namespace, so that only a change of the configuration removes it."""
        return path in self._configured or (len(path) == 1 and path[0] in self._roots)

    def check(self, path: Path) -> None:
        """Check that a namespace exists.

        Raises:
            InvalidNamespace: it does not.
        """
        if not self.exists(path):
            raise InvalidNamespace(f"namespace {shown(path)} does not exist")

    def nested(self, under: Path) -> list[Path]:
        """Return all namespaces below one, in order; that one itself is not among them.

        Raises:
            InvalidNamespace: it does not exist.
        """
        self.check(under)
        found: list[Path] = []
        rest = [under]
        while rest:
            below = self._below.get(rest.pop(), set())
            found += below
            rest += below
        return sorted(found)

    def tiers_of(self, tenant: str) -> frozenset[tuple[str, ...]]:
        """Return the tiers of each namespace below a tenant; empty for a tenant without namespaces."""
        root = Path((tenant,))
        return frozenset(path[1:] for path in self.nested(root)) if self.exists(root) else frozenset()

    def create(self, path: Path) -> list[Change]:
        """Return the changes that create a namespace, with every tier that is missing.

        Raises:
            InvalidNamespace: there is no such tenant, or the path cannot be one.
            NamespaceExists: it is there already.
            TooManyNamespaces: see there.
        """
        self.check(Path(path[:1]))
        check_tiers(path[1:])
        if self.exists(path):
            raise NamespaceExists(path)
        missing = [
            one
            for one in (Path(path[:length]) for length in range(2, len(path) + 1))
            if not self._is_known(one)
        ]
        count = len(self.nested(Path(path[:1])))
        if count + len(missing) > MAX_NAMESPACES:
            raise TooManyNamespaces(f"tenant {path[0]} has {count} namespaces, and may have {MAX_NAMESPACES}")
        changes = [Change(key_of(one), 0, {}) for one in missing]
        above = self._stored.get(parent(missing[0]))
        if above is not None:  # Written anew, so that its deletion conflicts.
            changes.append(Change(above.key, above.version, above.body))
        return changes

    def delete(self, path: Path, *, recursive: bool = False) -> list[Change]:
        """Return the changes that delete a namespace. What is in it the caller deletes before.

        Args:
            path: the namespace.
            recursive: whether those below it go as well.
        Raises:
            InvalidNamespace: it does not exist.
            NamespaceInUse: namespaces are nested below it, or the configuration names it.
        """
        nested = tuple(self.nested(path))
        named = [one for one in (path, *nested) if self.is_configured(one)]
        if named:
            text = f"the configuration names {shown(named[0])}: remove it there"
            raise NamespaceInUse(path, tuple(one for one in named if one != path), text)
        if nested and not recursive:
            some = ", ".join(shown(one) for one in nested[:5]) + (", ..." if len(nested) > 5 else "")
            text = f"{len(nested)} namespaces are nested below {shown(path)} ({some}): delete them, or use --recursive"
            raise NamespaceInUse(path, nested, text)
        stored = [self._stored[one] for one in (path, *nested)]
        changes = [Change(one.key, one.version, None) for one in stored]
        above = self._stored.get(parent(path))
        if above is not None:  # Two deletions and a creation in between then have one order.
            changes.append(Change(above.key, above.version, above.body))
        return changes

    def _is_known(self, path: Path) -> bool:
        return len(path) == 1 or path in self._configured or path in self._stored


def key_of(path: Path) -> StateKey:
    """Return the key of a namespace in the state."""
    return StateKey(KIND, shown(path))


def path_of(key: StateKey) -> Path | None:
    """Return the namespace that a key names; None when it names none below a tenant."""
    if key.kind != KIND:
        return None
    try:
        path = read_path(key.name)
    except InvalidNamespace:
        return None
    return path if len(path) > 1 else None
