"""Makes the virtual clusters that sessions use from the configuration: a namespace for each tenant on its cluster."""

import os
from collections import Counter
from collections.abc import Callable
from typing import Any

from bifrost.config.fields.tenants import Tenant
from bifrost.config.model import Config
from bifrost.config.name_template import DEFAULT_MARK, NamePrefixes, NameTemplate
from bifrost.gateway.brokers.cluster import Cluster
from bifrost.gateway.brokers.clusters import Clusters
from bifrost.session.virtual_clusters import VirtualCluster, VirtualClusters
from bifrost.tenancy.names import TenantNames
from bifrost.tenancy.namespace import Namespace
from bifrost.tenancy.policy import ResourcePolicy
from bifrost.tenancy.topic_bounds import TopicBounds


def virtual_clusters(
    config: Config,
    clusters: Clusters,
    now_ms: Callable[[], int],
    before: VirtualClusters | None = None,
    hits: Counter[tuple[str, str]] | None = None,
) -> VirtualClusters:
    """Return the virtual clusters of a configuration.

    Args:
        config: the configuration with the tenants.
        clusters: its physical clusters.
        now_ms: a monotonic clock, in milliseconds.
        before: the virtual clusters of the configuration before this one. A tenant whose names keep their meaning, and
            which loses none, keeps its virtual cluster, and its clients keep their connections.
        hits: counts requests that are refused because of a limit.
    """
    tenants = {tenant.name: tenant for tenant in config.tenants}
    marks, namespaced = foreign_marks(config), config.namespaced_client_ids()
    bounds: dict[str, TopicBounds] = {}

    def build(tenant: Tenant, tiers: tuple[str, ...] = ()) -> VirtualCluster:
        cluster = clusters[config.cluster_of(tenant).name]
        names = _names(tenant, tiers, marks[tenant.name], is_namespaced=tenant.name in namespaced)
        namespace = Namespace(
            names,
            cluster.topic_ids,
            **_settings(config, tenant),
            now_ms=now_ms,
            new_id=lambda: os.urandom(16),
            bounds=bounds[tenant.name],
            pseudonym_key=_pseudonym_key(config),
            cluster_id=lambda: cluster.cluster_id,
        )
        return VirtualCluster(namespace, cluster.name, cluster.fetch_sessions)

    def change(cluster: VirtualCluster) -> None:
        tenant = tenants[cluster.namespace.tenant]
        cluster.namespace.change(tenant.allowed_topics, marks[tenant.name], **_settings(config, tenant))

    roots = {}
    for name, tenant in tenants.items():
        old = None if before is None else before.of_tenant(name)
        cluster = clusters[config.cluster_of(tenant).name]
        if old is not None and not _goes_on(old, tenant, cluster, is_namespaced=name in namespaced):
            old = None
        known = None if old is None else old.namespace.bounds
        bounds[name] = known or TopicBounds(now_ms, Counter() if hits is None else hits, name)
        _limit(bounds[name], config, tenant)
        if old is not None:
            change(old)
            roots[name] = old
        else:
            roots[name] = build(tenant)
    found = VirtualClusters(roots, lambda account: build(tenants[account.tenant], account.namespace))
    for below in found.keep(before) if before is not None else ():
        change(below)
    return found


def _names(
    tenant: Tenant, tiers: tuple[str, ...], marks: frozenset[str], *, is_namespaced: bool
) -> TenantNames:
    return TenantNames(
        tenant.name,
        tenant.allowed_topics,
        prefixes=_prefixes(tenant),
        tiers=tiers,
        namespaces_client_ids=is_namespaced,
        foreign_marks=marks,
    )


def _settings(config: Config, tenant: Tenant) -> dict[str, Any]:
    """Return the settings that a reload may change."""
    return {
        "allow_topic_deletion": tenant.allow_topic_deletion,
        "max_names": config.proxy.limits.max_names_per_namespace,
        "policy": ResourcePolicy(config.proxy.policy, tenant.policy),
    }


def _limit(bounds: TopicBounds, config: Config, tenant: Tenant) -> None:
    own, of_all = tenant.limits, config.proxy.limits
    bounds.limit(own.max_topics or of_all.max_topics, own.max_partitions or of_all.max_partitions)


def _goes_on(old: VirtualCluster, tenant: Tenant, cluster: Cluster, *, is_namespaced: bool) -> bool:
    """Whether all names of a tenant keep their meaning."""
    names = old.namespace.names
    root = _prefixes(tenant) or NamePrefixes.of_tenant(tenant.name, NameTemplate())
    is_same = (
        old.fetch_sessions is cluster.fetch_sessions
        and (names.client_id_prefix is not None) == is_namespaced
        and names.is_named_by(root)
    )
    if not is_same or tenant.allowed_topics is None:
        return is_same
    wanted = {topic.encode() for topic in tenant.allowed_topics}
    return names.allowed_topics is not None and names.allowed_topics <= wanted


def foreign_marks(config: Config) -> dict[str, frozenset[str]]:
    """Return, by tenant, the prefixes of all other tenants' names, which a text for the tenant must not contain."""
    literal = {
        tenant.name: {tenant.prefixes.topic, tenant.prefixes.group, tenant.prefixes.transactional_id}
        for tenant in config.tenants
        if tenant.prefixes is not None
    }
    users: Counter[str] = Counter(prefix for prefixes in literal.values() for prefix in prefixes)
    all_users = frozenset(users)
    return {
        tenant.name: (all_users - {one for one in literal.get(tenant.name, ()) if users[one] == 1})
        | {DEFAULT_MARK}
        for tenant in config.tenants
    }


def _pseudonym_key(config: Config) -> bytes:
    key = config.proxy.pseudonym_key
    return b"" if key is None else key.reveal()


def _prefixes(tenant: Tenant) -> NamePrefixes | None:
    prefixes = tenant.prefixes
    if prefixes is None:
        return None
    return NamePrefixes(prefixes.topic, prefixes.group, prefixes.transactional_id)
