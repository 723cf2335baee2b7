"""The namespaces of the platform, as `bifrost control` sees and changes them.

What may be created and deleted `tenancy.namespaces` decides. Here its changes are written, again from the newest state
when another writer was first, and the topics of a namespace are deleted before the namespace is: if that is
interrupted, the namespace is still there, and its deletion is begun again. Topics that were created meanwhile are
deleted afterwards, because nothing shows them any more. Its quotas and ACLs go in one transaction with the namespace.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from bifrost.config.model import Config
from bifrost.control.backend import Backend, Unavailable
from bifrost.control.stored_aliases import StoredAliases
from bifrost.state.state_change import Change, Dependents, StateConflict
from bifrost.state.state_key import StateKey
from bifrost.state.state_record import StateRecord
from bifrost.state.state_table import StateTable
from bifrost.tenancy.acls.stored_acls import KIND as ACL
from bifrost.tenancy.names import PhysicalTopic, TenantNames, VirtualTopic
from bifrost.tenancy.namespaces.alias_table import Place
from bifrost.tenancy.namespaces.namespace_path import Path
from bifrost.tenancy.namespaces.namespace_records import deletions, quota_deletions
from bifrost.tenancy.namespaces.namespace_tree import KIND, NamespaceTree, key_of, path_of
from bifrost.tenancy.quotas.quota_record import QUOTA

ATTEMPTS = 5
"""How often a change is decided anew after another writer was first; a namespace changes rarely."""


class TopicsRemain(Exception):
    """Topics of a namespace could not be deleted, so neither was the namespace."""

    def __init__(self, errors: dict[str, str]) -> None:
        """Name them, with Kafka's error of each."""
        self.errors = errors
        some = ", ".join(f"{name}: {error}" for name, error in sorted(errors.items())[:5])
        super().__init__(f"{len(errors)} topics could not be deleted ({some})")


@dataclass(frozen=True, slots=True)
class Deletion:
    """What a deletion takes."""

    namespaces: tuple[Path, ...]
    topics: tuple[str, ...]
    """Topics as their namespaces' clients know them, each with its namespace: `acme:eu/orders`."""
    quotas: int
    """Entities whose quotas went with the namespaces."""
    acls: int
    """ACLs that went with them."""
    remaining: dict[str, str]
    """Topics that were created while the namespaces were deleted and could not be deleted, with Kafka's error; `?`:
    the cluster did not say whether there are any."""


class Namespaces:
    """The namespaces of all tenants."""

    def __init__(self, config: Config, backend: Backend) -> None:
        """Read the tree from the state whenever it has changed.

        Args:
            config: the configuration with the tenants.
            backend: the state and the clusters.
        """
        self._backend = backend
        self._tenants = {one.name: one for one in config.tenants}
        self._configured = tuple(
            Path((one.name, *tiers)) for one in config.tenants for tiers in one.configured_namespaces
        )
        self.aliases = StoredAliases(backend)
        """The topics that were moved or are shared."""
        self._tree: NamespaceTree | None = None
        backend.table.watch(KIND, self._forget)

    @property
    def tree(self) -> NamespaceTree:
        """The namespaces that exist."""
        if self._tree is None:
            self._tree = NamespaceTree(self._tenants, self._configured, self._backend.table.of_kind(KIND))
        return self._tree

    def below(self, under: Path | None = None) -> list[Path]:
        """Return the namespaces below one, in order; None: all of all tenants, with their own.

        Raises:
            InvalidNamespace: `under` does not exist.
        """
        if under is not None:
            return self.tree.nested(under)
        return [
            one
            for tenant in sorted(self._tenants)
            for one in (Path((tenant,)), *self.tree.nested(Path((tenant,))))
        ]

    def record(self, path: Path) -> StateRecord | None:
        """Return what the state has of a namespace that exists; None: it is the configuration's.

        Raises:
            InvalidNamespace: it does not exist.
        """
        self.tree.check(path)
        return self._backend.table.get(key_of(path))

    async def create(self, path: Path, on_behalf_of: str) -> tuple[Path, ...]:
        """Create a namespace with every tier that is missing, and return what was created.

        Raises:
            InvalidNamespace, NamespaceExists, TooManyNamespaces: as `NamespaceTree.create`.
            StateConflict: other writers were first each time. And the other errors of `Backend.change`.
        """
        created: tuple[Path, ...] = ()

        def decide() -> list[Change]:
            nonlocal created
            changes = self.tree.create(path)
            created = tuple(_paths(one.key for one in changes if one.expected == 0))
            return changes

        def leftovers(table: StateTable) -> Iterable[Change]:
            # A quota that was written after an earlier namespace of this name was gone. Users of dotted tiers may have
            # set some before: their namespaces need no record.
            return () if self._is_dotted(path) else quota_deletions(table, created)

        await self._change(decide, on_behalf_of, leftovers)
        return created

    def plan_deletion(self, path: Path, *, recursive: bool) -> tuple[Path, ...]:
        """Return the namespaces that a deletion takes.

        Raises:
            InvalidNamespace, NamespaceInUse: as `NamespaceTree.delete`.
            TopicsElsewhere: a moved or shared topic has a place in one of them.
        """
        return self._deletion(path, recursive=recursive)[0]

    def _deletion(self, path: Path, *, recursive: bool) -> tuple[tuple[Path, ...], list[Change]]:
        changes = self.tree.delete(path, recursive=recursive)
        taken = tuple(_paths(one.key for one in changes if one.body is None))
        self.aliases.check_unused(taken)
        return taken, changes

    def count_records(self, paths: Sequence[Path]) -> Counter[str]:
        """Return how many quotas and ACLs go with namespaces of one tenant, by their kind of record."""
        changes = deletions(self._backend.table, paths, is_dotted=self._is_dotted(paths[0]))
        return Counter(one.key.kind for one in changes)

    async def topics_in(self, paths: Sequence[Path]) -> dict[str, str]:
        """Return the topics that were created in namespaces of one tenant: for each physical name, the namespace and
        its name there.

        Raises:
            Unavailable: the cluster does not answer.
        """
        tenant = self._tenants[paths[0][0]]
        # The longest path first: as long as a namespace's names begin with those above it, it is the owner.
        owners = [
            (
                path,
                TenantNames(
                    tenant.name,
                    prefixes=tenant.name_prefixes,
                    tiers=path[1:],
                    namespaces=None if tenant.namespace_encoding == "dotted" else frozenset(),
                ),
            )
            for path in sorted(paths, key=len, reverse=True)
        ]
        found = {}
        for name in await self._backend.topics_of(tenant.name):
            physical = PhysicalTopic(name.encode())
            for path, names in owners:
                virtual = names.virtual_topic(physical)
                if virtual is not None:
                    found[name] = f"{':'.join(path)}/{virtual.decode()}"
                    break
        return found

    async def topics_owned_in(self, paths: Sequence[Path]) -> dict[str, str]:
        """Return likewise the topics that namespaces of one tenant own: without those that were moved away, and with
        those that were moved there, which may not exist.

        Raises:
            Unavailable: the cluster does not answer, or the records of moved topics cannot be understood.
        """
        known = await self.topics_in(paths)
        try:
            table = self.aliases.table
        except ValueError as error:
            raise Unavailable(f"moved topics: {error}") from None
        for home in table.homes():
            physical, owner = self.physical_topic(home), table.owner_of(home)
            if physical is not None:
                known.pop(physical, None)
                if owner.namespace in paths:
                    known[physical] = str(owner)
        return known

    def physical_topic(self, home: Place) -> str | None:
        """Return the physical name of a topic that was created at a place; None: its tenant is not configured."""
        tenant = self._tenants.get(home.namespace[0])
        if tenant is None:
            return None
        names = TenantNames(tenant.name, prefixes=tenant.name_prefixes, tiers=home.namespace[1:])
        return names.physical_topic(VirtualTopic(home.topic.encode())).decode()

    async def delete(
        self, path: Path, on_behalf_of: str, *, recursive: bool, expected: int | None = None
    ) -> Deletion:
        """Delete a namespace, and its topics before.

        Args:
            path: the namespace.
            on_behalf_of: who asks for it.
            recursive: whether those below it go as well.
            expected: the version of its record that the caller has seen; None: any.
        Raises:
            InvalidNamespace, NamespaceInUse, TopicsElsewhere: as `plan_deletion`. Nothing was deleted.
            TopicsRemain: see there.
            StateConflict: it has another version, or other writers were first each time. And the other errors of
                `Backend.change`.
        """
        found = self.record(path)
        if expected is not None and (found is None or found.version != expected):
            raise StateConflict(key_of(path), expected, found)
        taken = self.plan_deletion(path, recursive=recursive)
        topics, errors = await self._delete_topics(taken)
        if errors:
            raise TopicsRemain(errors)

        def decide() -> list[Change]:
            nonlocal taken
            taken, changes = self._deletion(path, recursive=recursive)
            return changes

        counts: Counter[str] = Counter()

        def dependents(table: StateTable) -> list[Change]:
            nonlocal counts
            changes = list(deletions(table, taken, is_dotted=self._is_dotted(path)))
            counts = Counter(one.key.kind for one in changes)
            return changes

        await self._change(decide, on_behalf_of, dependents)
        try:
            later, errors = await self._delete_topics(taken)
        except Unavailable as error:
            later, errors = [], {"?": str(error)}
        found_topics = tuple(sorted({*topics, *later}))
        return Deletion(taken, found_topics, counts[QUOTA], counts[ACL], errors)

    async def _delete_topics(self, paths: Sequence[Path]) -> tuple[list[str], dict[str, str]]:
        """Delete the topics of namespaces; return those that are gone, and the errors of the others."""
        known = await self.topics_in(paths)
        if not known:
            return [], {}
        errors = await self._backend.delete_topics(paths[0][0], list(known))
        gone = [shown for name, shown in known.items() if name not in errors]
        return gone, {known[name]: error for name, error in errors.items()}

    def _is_dotted(self, path: Path) -> bool:
        return self._tenants[path[0]].namespace_encoding == "dotted"

    async def _change(
        self, decide: Callable[[], list[Change]], on_behalf_of: str, dependents: Dependents
    ) -> None:
        """Write changes, and decide anew when another writer was first."""
        for attempt in range(ATTEMPTS):
            try:
                await self._backend.change(decide(), on_behalf_of, dependents=dependents)
                return
            except StateConflict:
                if attempt + 1 == ATTEMPTS:
                    raise

    def _forget(self, _changed: Sequence[StateKey]) -> None:
        self._tree = None


def _paths(keys: Iterable[StateKey]) -> list[Path]:
    return sorted(path for path in map(path_of, keys) if path is not None)
