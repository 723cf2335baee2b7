"""The virtual clusters of a gateway: the namespace that each account's clients see, and its physical cluster.

A tenant's own namespace is made when the gateway starts and kept. A namespace below a tenant (KIP-37) is made when the
first of its clients authenticates, and lives while one of them is connected: a token's claim may name any namespace.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from weakref import WeakSet, WeakValueDictionary

from bifrost.authentication.accounts import Account
from bifrost.filters.build import load_access_filters
from bifrost.session.fetch_sessions import FetchSessions
from bifrost.tenancy.acls.authority import Authority
from bifrost.tenancy.acls.stored_acls import StoredAcls
from bifrost.tenancy.namespace import Namespace
from bifrost.tenancy.namespaces.existing_namespaces import ExistingNamespaces
from bifrost.wire.entity import Entity

if TYPE_CHECKING:
    from bifrost.filters.records.tenant_records import ProcessRecords, TenantRecords
    from bifrost.filters.virtual.virtual_topics import TenantVirtualTopics
    from bifrost.tenancy.namespaces.topic_aliases import TopicAliases
    from bifrost.tenancy.policies.namespace_policies import NamespacePolicies
    from bifrost.tenancy.recent_records.recent_records import RecentRecords
    from bifrost.tenancy.topic_configs.namespace_configs import NamespaceConfigs
    from bifrost.tenancy.virtual_partitions.index.index_table import IndexTable


@dataclass(frozen=True)
class VirtualCluster:
    """One namespace on one physical cluster."""

    namespace: Namespace
    upstream: str
    """The configuration's name of the physical cluster."""
    fetch_sessions: FetchSessions
    """The fetch sessions of the physical cluster, of all its tenants."""
    authority: Authority | None = None
    """The rights in the tenant: by its ACLs, or an `OpenAuthority`; None: its users may do all that it may."""
    records: "TenantRecords | None" = None
    """The filters of the tenant's records; None: it has none."""
    virtual_partitions: "TenantVirtualTopics | None" = None
    """Which of the tenant's topics have virtual partitions; None: none."""

    @property
    def acl_mode(self) -> str | None:
        """Who keeps the tenant's ACLs, `gateway` or `broker`; None: it has none."""
        return None if self.authority is None else self.authority.mode


@dataclass
class Models:
    """What all virtual clusters of a process go by beside its configuration; a reload keeps it."""

    namespaces: ExistingNamespaces = field(default_factory=ExistingNamespaces)
    """Which namespaces exist."""
    acls: StoredAcls = field(default_factory=StoredAcls)
    """The ACLs of all tenants in the shared state."""
    policies: "NamespacePolicies | None" = None
    """Those of all namespaces; None: there are none, and no admin can make any."""
    aliases: "TopicAliases | None" = None
    """The topics that were moved or are shared; None: there can be none."""
    configs: "NamespaceConfigs | None" = None
    """What topics inherit from all namespaces; None: nothing."""
    records: "ProcessRecords | None" = None
    """What filters of records share; None: no tenant has had any, or policies about records."""
    partition_counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    """What virtual partitions have cost, by tenant and number (`NUMBERS` of partition_rules.py)."""
    recent: "RecentRecords | None" = None
    """What brokers have answered of late about physical partitions; None: nothing is kept."""
    indexes: "dict[str, IndexTable] | None" = None
    """What is known of whole logs of physical partitions, by physical cluster; None: there is no index."""

    def index_of(self, upstream: str) -> "IndexTable | None":
        """Return what is known of logs at a physical cluster; None: there is no index."""
        if self.indexes is None:
            return None
        # Memory, only if there are virtual partitions.
        from bifrost.tenancy.virtual_partitions.index.index_table import IndexTable

        return self.indexes.setdefault(upstream, IndexTable())


class VirtualClusters:
    """The virtual clusters of all tenants."""

    def __init__(
        self,
        roots: Mapping[str, VirtualCluster],
        new: Callable[[str, tuple[str, ...], Authority | None], VirtualCluster],
        models: Models | None = None,
    ) -> None:
        """Take the virtual cluster of each tenant.

        Args:
            roots: by the tenant's name.
            new: makes one of a tenant, or of a namespace below it by its tiers, with these rights.
            models: what they go by; None: nothing of the state.
        """
        self.models = found = models or Models()
        self.namespaces, self.acls, self.policies = found.namespaces, found.acls, found.policies
        self.aliases, self.configs = found.aliases, found.configs
        self._roots = dict(roots)
        self._new = new
        self.namespaces.changed = self._forget_names
        if self.policies is not None:
            self.policies.changed = self._change_policies
        self._below: WeakValueDictionary[tuple[str, ...], VirtualCluster] = WeakValueDictionary()
        self.has_displaced = False
        """Whether connections may be open that have to end (`SharedState.lost_place`); who ends them sets it back."""
        self._displaced: WeakSet[Namespace] = WeakSet()
        if self.aliases is not None:
            self.aliases.changed = self._move_topics
            for tenant in [name for name, part in self.aliases.parts.items() if part.limited]:
                self._guard_if_shared(tenant)

    @property
    def records(self) -> "ProcessRecords | None":
        """What filters of records share, see `Models`."""
        return self.models.records

    @property
    def partition_counts(self) -> Counter[tuple[str, str]]:
        """What virtual partitions have cost, see `Models`."""
        return self.models.partition_counts

    def of(self, account: Account) -> VirtualCluster:
        """Return the virtual cluster that the clients of an account see."""
        if not account.namespace:
            return self._roots[account.tenant]
        path = (account.tenant, *account.namespace)
        found = self._below.get(path)
        if found is None:
            authority = self._roots[account.tenant].authority
            found = self._below[path] = self._new(account.tenant, account.namespace, authority)
        return found

    def has_namespace(self, account: Account) -> bool:
        """Whether the namespace of an account exists, so that its clients may come in, and stay."""
        root = self._roots.get(account.tenant)
        return root is not None and root.namespace.names.has_namespace(account.namespace)

    def _forget_names(self, tenant: str) -> None:
        """Let the namespaces of a tenant look up anew which names are those of others below them."""
        for namespace in self._namespaces_of(tenant):
            namespace.forget_names()

    def _move_topics(self, tenants: Iterable[str]) -> None:
        """Let the namespaces of tenants look up anew which topics they see, and what they may do with them."""
        for tenant in tenants:
            for namespace in (*self._namespaces_of(tenant), *self._displaced):
                namespace.users.keep_former(namespace.to_physical.tables[Entity.TOPIC_NAME] or {})
                namespace.forget_names()
            self._guard_if_shared(tenant)

    def _namespaces_of(self, tenant: str) -> list[Namespace]:
        root = self._roots.get(tenant)
        below = [cluster.namespace for path, cluster in list(self._below.items()) if path[0] == tenant]
        return below if root is None else [root.namespace, *below]

    def _guard_if_shared(self, tenant: str) -> None:
        """Let the clients of a tenant without ACLs have guards if a topic is shared with it, for they may not do all.

        Those that are connected have lanes without rights: they see nothing of it, and are displaced.
        """
        root, part = self._roots.get(tenant), None if self.aliases is None else self.aliases.parts.get(tenant)
        if root is None or root.authority is not None or part is None or not part.limited:
            return
        from bifrost.tenancy.acls.open_authority import OpenAuthority  # memory, only where topics are shared

        load_access_filters()
        self._displace(tenant, OpenAuthority(tenant, self.acls))

    def _change_policies(self, tenant: str) -> None:
        """Let the namespaces of a tenant ask its policies anew.

        When one about records is the first, the tenant's clients have to come again, with lanes that let them be seen.
        """
        self._forget_names(tenant)
        root = self._roots.get(tenant)
        if root is None or self.policies is None or not self.policies.has_record_rules(tenant):
            return
        below = [cluster for path, cluster in list(self._below.items()) if path[0] == tenant]
        if not all(one.records is not None and one.records.has_rules for one in (root, *below)):
            self._displace(tenant, root.authority)

    def _displace(self, tenant: str, authority: Authority | None) -> None:
        """Let a tenant have another virtual cluster, with these rights; clients of the one before must come again."""
        self._displaced.update(self._namespaces_of(tenant))
        self._roots[tenant] = self._new(tenant, (), authority)
        self.has_displaced = True
        for path in [path for path in self._below if path[0] == tenant]:
            del self._below[path]

    def below(self) -> list[tuple[tuple[str, ...], VirtualCluster]]:
        """Return the virtual clusters of the namespaces below tenants that are in use, with their paths."""
        return list(self._below.items())

    def keep(self, before: "VirtualClusters") -> Iterator[tuple[tuple[str, ...], VirtualCluster]]:
        """Take over from `before` the namespaces below tenants whose own object is the same; yield each."""
        for path, cluster in before.below():
            if self._roots.get(path[0]) is before._roots[path[0]]:
                self._below[path] = cluster
                yield path, cluster

    def used_limits(self) -> Iterator[tuple[str, str, float] | None]:
        """Yield tenant, limit and used part of what the tenants make brokers keep; None is a step of the work."""
        for tenant, root in list(self._roots.items()):
            yield None
            kept = root.namespace.kept
            for limit, part in () if kept is None else kept.state.used():
                yield tenant, limit, part

    def of_tenant(self, tenant: str) -> VirtualCluster | None:
        """Return a tenant's own virtual cluster, None when there is no such tenant."""
        return self._roots.get(tenant)

    def __len__(self) -> int:
        return len(self._roots)
