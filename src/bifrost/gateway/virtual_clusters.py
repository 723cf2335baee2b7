"""What the configuration says of tenants, as the sessions use it: a namespace for each on its physical cluster."""

import os
from collections import Counter
from collections.abc import Callable

from bifrost.config.model import Config
from bifrost.config.name_template import DEFAULT_MARK, NamePrefixes
from bifrost.config.tenants import Tenant
from bifrost.gateway.clusters import Clusters
from bifrost.session.accounts import Account
from bifrost.session.virtual_clusters import VirtualCluster, VirtualClusters
from bifrost.tenancy.names import TenantNames
from bifrost.tenancy.namespace import Namespace


def virtual_clusters(config: Config, clusters: Clusters, now_ms: Callable[[], int]) -> VirtualClusters:
    """Return the virtual clusters of a configuration.

    Args:
        config: whose tenants.
        clusters: its physical clusters.
        now_ms: a monotonic clock, in milliseconds.
    """
    tenants = {tenant.name: tenant for tenant in config.tenants}
    marks = foreign_marks(config)

    def build(tenant: Tenant, tiers: tuple[str, ...] = ()) -> VirtualCluster:
        cluster = clusters[config.cluster_of(tenant).name]
        names = TenantNames(
            tenant.name,
            tenant.allowed_topics,
            prefixes=_prefixes(tenant),
            tiers=tiers,
            foreign_marks=marks[tenant.name],
        )
        namespace = Namespace(
            names,
            cluster.topic_ids,
            allow_topic_deletion=tenant.allow_topic_deletion,
            max_names=config.proxy.limits.max_names_per_namespace,
            now_ms=now_ms,
            new_id=lambda: os.urandom(16),
        )
        return VirtualCluster(namespace, cluster.name, cluster.fetch_sessions)

    def build_below(account: Account) -> VirtualCluster:
        return build(tenants[account.tenant], account.namespace)

    return VirtualClusters({name: build(tenant) for name, tenant in tenants.items()}, build_below)


def foreign_marks(config: Config) -> dict[str, frozenset[str]]:
    """Return, by tenant, what stands before the names of all others: in a text for the tenant it must not be."""
    literal = {
        tenant.name: {tenant.prefixes.topic, tenant.prefixes.group, tenant.prefixes.transactional_id}
        for tenant in config.tenants
        if tenant.prefixes is not None
    }
    users: Counter[str] = Counter(prefix for prefixes in literal.values() for prefix in prefixes)
    everybody = frozenset(users)
    return {
        tenant.name: (everybody - {one for one in literal.get(tenant.name, ()) if users[one] == 1})
        | {DEFAULT_MARK}
        for tenant in config.tenants
    }


def _prefixes(tenant: Tenant) -> NamePrefixes | None:
    prefixes = tenant.prefixes
    if prefixes is None:
        return None
    return NamePrefixes(prefixes.topic, prefixes.group, prefixes.transactional_id)
