"""The virtual clusters of a gateway: the namespace that each account's clients see, and its physical cluster.

A tenant's own namespace is made when the gateway starts and kept. A namespace below a tenant (KIP-37) is made when the
first of its clients authenticates, and lives while one of them is connected: a token's claim may name any namespace.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from bifrost.authentication.accounts import Account
from bifrost.session.fetch_sessions import FetchSessions
from bifrost.tenancy.acls.authority import Authority
from bifrost.tenancy.acls.stored_acls import StoredAcls
from bifrost.tenancy.namespace import Namespace
from bifrost.tenancy.namespaces.existing_namespaces import ExistingNamespaces

if TYPE_CHECKING:
    from bifrost.tenancy.policies.namespace_policies import NamespacePolicies


@dataclass(frozen=True)
class VirtualCluster:
    """One namespace on one physical cluster."""

    namespace: Namespace
    upstream: str
    """The configuration's name of the physical cluster."""
    fetch_sessions: FetchSessions
    """The fetch sessions of the physical cluster, of all its tenants."""
    authority: Authority | None = None
    """The ACLs of the tenant; None: it has none, and its users may do all that it may."""


class VirtualClusters:
    """The virtual clusters of all tenants."""

    def __init__(
        self,
        roots: Mapping[str, VirtualCluster],
        new_below: Callable[[Account], VirtualCluster],
        namespaces: ExistingNamespaces | None = None,
        acls: StoredAcls | None = None,
        policies: "NamespacePolicies | None" = None,
    ) -> None:
        """Take the virtual cluster of each tenant.

        Args:
            roots: by the tenant's name.
            new_below: makes those of the namespaces below.
            namespaces: which of those exist; None: none.
            acls: the ACLs of all tenants in the shared state; None: none.
            policies: those of all namespaces; None: none.
        """
        self.policies = policies
        if policies is not None:
            policies.changed = self._forget_names
        self.acls = StoredAcls() if acls is None else acls
        self._roots = roots
        self._new_below = new_below
        self.namespaces = namespaces or ExistingNamespaces()
        self.namespaces.changed = self._forget_names
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

    def has_namespace(self, account: Account) -> bool:
        """Whether the namespace of an account exists, so that its clients may come in, and stay."""
        root = self._roots.get(account.tenant)
        return root is not None and root.namespace.names.has_namespace(account.namespace)

    def _forget_names(self, tenant: str) -> None:
        """Let the namespaces of a tenant look up anew which names are those of others below them."""
        if tenant in self._roots:
            self._roots[tenant].namespace.forget_names()
        for path, cluster in list(self._below.items()):
            if path[0] == tenant:
                cluster.namespace.forget_names()

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
