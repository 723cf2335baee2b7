"""Which namespaces below each tenant exist now: the sets that the names of running gateways look into.

It is a `StateModel` of the kind `namespace`; the configuration names others. `NamespaceTree`, which makes changes, is
the counterpart. A set stays the same object, so whatever has it sees each change.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet

from bifrost.state.state_key import StateKey
from bifrost.state.state_record import StateRecord
from bifrost.tenancy.namespaces.namespace_tree import path_of

Tiers = tuple[str, ...]


class ExistingNamespaces:
    """The namespaces of all tenants."""

    def __init__(self) -> None:
        """Begin without namespaces."""
        self.changed: Callable[[str], None] = lambda _tenant: None
        """Is told each tenant whose namespaces have changed."""
        self._stored: defaultdict[str, set[Tiers]] = defaultdict(set)
        self._named: Mapping[str, Iterable[Tiers]] = {}
        """What `configure` was given last."""
        self._configured: dict[str, set[Tiers]] = {}
        self._existing: defaultdict[str, set[Tiers]] = defaultdict(set)

    def of(self, tenant: str) -> AbstractSet[Tiers]:
        """Return the tiers of a tenant's namespaces, in a set that changes with them."""
        return self._existing[tenant]

    def configure(self, namespaces: Mapping[str, Iterable[Tiers]]) -> None:
        """Take what the configuration names, by tenant; those above each exist as well."""
        before, self._named = self._named, namespaces
        if before == namespaces:
            return
        for tenant in before.keys() | namespaces.keys():
            named = namespaces.get(tenant, ())
            if before.get(tenant, ()) == named:
                continue
            old = self._configured.pop(tenant, set())
            new = {one[:length] for one in named for length in range(1, len(one) + 1)}
            if new:
                self._configured[tenant] = new
            if self._settle(tenant, old | new):
                self.changed(tenant)

    def apply(self, key: StateKey, record: StateRecord | None) -> None:
        """Take what the state has of a namespace; a key that names none has no effect."""
        for tenant in self.take(key, record):
            self.changed(tenant)

    def take(self, key: StateKey, record: StateRecord | None) -> tuple[str, ...]:
        """As `apply`; return the tenant if its namespaces have changed, for a caller that tells it later."""
        path = path_of(key)
        if path is None:
            return ()
        stored = self._stored[path[0]]
        (stored.discard if record is None else stored.add)(path[1:])
        return path[:1] if self._settle(path[0], (path[1:],)) else ()

    def _settle(self, tenant: str, tiers: Iterable[Tiers]) -> bool:
        """Put these tiers into the tenant's set, or take them out; return whether that has changed it."""
        existing, wanted = self._existing[tenant], (self._stored[tenant], self._configured.get(tenant, ()))
        is_changed = False
        for one in tiers:
            is_there = any(one in some for some in wanted)
            if is_there != (one in existing):
                (existing.add if is_there else existing.discard)(one)
                is_changed = True
        return is_changed
