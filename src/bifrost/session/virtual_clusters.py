"""The virtual clusters of a gateway: the namespace that each account's clients see, and its physical cluster.

A tenant's own namespace is made when the gateway starts and kept. A namespace below a tenant (KIP-37) is made when the
first of its clients authenticates, and lives while one of them is connected: a token's claim may name any namespace.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from weakref import WeakValueDictionary

from bifrost.authentication.accounts import Account
from bifrost.session.fetch_sessions import FetchSessions
from bifrost.tenancy.namespace import Namespace


@dataclass(frozen=True)
class VirtualCluster:
    """One namespace on one physical cluster."""

    namespace: Namespace
    upstream: str
    """The configuration's name of the physical cluster."""
    fetch_sessions: FetchSessions
    """The fetch sessions of the physical cluster, of all its tenants."""


class VirtualClusters:
    """The virtual clusters of all tenants."""

    def __init__(
        self, roots: Mapping[str, VirtualCluster], new_below: Callable[[Account], VirtualCluster]
    ) -> None:
        """Take the virtual cluster of each tenant, by its name; `new_below` makes those of the namespaces below."""
        self._roots = roots
        self._new_below = new_below
        self._below: WeakValueDictionary[tuple[str, ...], VirtualCluster] = WeakValueDictionary()

    def of(self, account: Account) -> VirtualCluster:
        """Return the virtual cluster that the clients of an account see."""
        if not account.namespace:
            return self._roots[account.tenant]
        path = (account.tenant, *account.namespace)
        found = self._below.get(path)
        if found is None:
            found = self._below[path] = self._new_below(account)
        return found

    def keep(self, before: "VirtualClusters") -> Iterator[VirtualCluster]:
        """Take over from `before` the namespaces below tenants whose own object is the same, and yield them."""
        for path, cluster in list(before._below.items()):
            if self._roots.get(path[0]) is before._roots[path[0]]:
                self._below[path] = cluster
                yield cluster

    def of_tenant(self, tenant: str) -> VirtualCluster | None:
        """Return a tenant's own virtual cluster, None when there is no such tenant."""
        return self._roots.get(tenant)

    def __len__(self) -> int:
        return len(self._roots)
