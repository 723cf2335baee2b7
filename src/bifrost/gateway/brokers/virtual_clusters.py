"""Makes the virtual clusters that sessions use from the configuration: a namespace for each tenant on its cluster."""

import os
import time
from collections import Counter
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

from bifrost.config.fields.limits import Limits
from bifrost.config.fields.tenants import Tenant
from bifrost.config.model import Config
from bifrost.config.tiers import SEPARATOR
from bifrost.filters.build import load_record_filters, load_virtual_partitions
from bifrost.forwarding.clock import monotonic_ns
from bifrost.gateway.brokers.cluster import Cluster
from bifrost.gateway.brokers.clusters import Clusters
from bifrost.gateway.brokers.tenant_settings import TenantSettings
from bifrost.session.virtual_clusters import Models, VirtualCluster, VirtualClusters
from bifrost.tenancy.acls.acl_rules import binding_of
from bifrost.tenancy.acls.authority import Authority
from bifrost.tenancy.acls.stored_acls import Counters, StoredAcls
from bifrost.tenancy.broker_state.broker_state import BrokerState, StateLimits
from bifrost.tenancy.names import TenantNames
from bifrost.tenancy.namespace import Namespace
from bifrost.tenancy.policy import ResourcePolicy
from bifrost.tenancy.recent_records.recent_records import RecentRecords
from bifrost.tenancy.topic_bounds import TopicBounds
from bifrost.tenancy.virtual_partitions.partition_map import partitions_of
from bifrost.tenancy.virtual_partitions.partition_rules import PartitionRule

if TYPE_CHECKING:
    from bifrost.filters.records.tenant_records import ProcessRecords, TenantRecords
    from bifrost.filters.virtual.virtual_topics import TenantVirtualTopics
    from bifrost.tenancy.namespaces.topic_aliases import TopicAliases
    from bifrost.tenancy.policies.namespace_policies import NamespacePolicies
    from bifrost.tenancy.policies.namespace_rules import NamespaceRules
    from bifrost.tenancy.topic_configs.namespace_configs import NamespaceConfigs


def virtual_clusters(
    config: Config,
    settings: TenantSettings,
    clusters: Clusters,
    now_ms: Callable[[], int],
    hits: Counter[tuple[str, str]] | None = None,
    peers: Counters | None = None,
    before: VirtualClusters | None = None,
) -> Generator[None, None, VirtualClusters]:
    """Make the virtual clusters of a configuration, a tenant in each step, and return them at the end.

    Args:
        config: the configuration with the tenants.
        settings: what it says of them.
        clusters: its physical clusters.
        now_ms: a monotonic clock, in milliseconds.
        hits: counts requests that are refused because of a limit.
        peers: count denials of ACLs and what transforms do; None, with `before`: as before.
        before: the virtual clusters of the configuration before this one. A tenant whose names keep their meaning, and
            which loses none, keeps its virtual cluster, and its clients keep their connections: they see the new
            settings from the tenant's step on.
    """
    hits = Counter() if hits is None else hits
    models = _models(config, settings, peers, None if before is None else before.models)
    made = _Maker(config, settings, clusters, now_ms, models, hits, peers)
    roots = {}
    for name, tenant in settings.tenants.items():
        old = None if before is None else before.of_tenant(name)
        cluster = clusters[settings.upstreams[name]]
        if old is not None and not _goes_on(
            old, tenant, cluster, is_namespaced=name in settings.namespaced_client_ids
        ):
            old = None
        made.bound(tenant, None if old is None else old.namespace, hits)
        authority = _authority(tenant, models.acls, None if old is None else old.authority)
        if old is not None:
            made.change(old)
            roots[name] = old
        else:
            roots[name] = made.build(name, (), authority)
        yield
    below = [] if before is None else before.below()
    changed = {}
    for path, one in below:
        if before is not None and roots.get(path[0]) is before.of_tenant(path[0]):
            made.change(one)
            changed[path] = one
        yield
    # From here on without a step, for the models tell the new virtual clusters alone what changes.
    if models.records is not None:
        models.records.sources.configure([one for tenant in config.tenants for one in tenant.filters])
    found = VirtualClusters(roots, made.build, models)
    for path, one in () if before is None else found.keep(before):
        if changed.get(path) is not one:
            made.change(one)
    _configure(found, settings)
    return found


class _Maker:
    """Makes the virtual clusters of one configuration, and changes those of the one before it."""

    def __init__(
        self,
        config: Config,
        settings: TenantSettings,
        clusters: Clusters,
        now_ms: Callable[[], int],
        models: Models,
        hits: Counter[tuple[str, str]],
        peers: Counters | None,
    ) -> None:
        self._models, self._hits, self._peers = models, hits, peers
        if models.records is not None:
            models.records.limit(config.proxy.limits)
        self._of_tenant: dict[str, TenantRecords] = {}
        self._partitions: dict[str, TenantVirtualTopics] = {}
        self._config, self._settings = config, settings
        self._aliases = {} if models.aliases is None else models.aliases.parts
        self._clusters, self._now_ms = clusters, now_ms
        self._pseudonym_key = _pseudonym_key(config)
        self.bounds: dict[str, TopicBounds] = {}
        """By tenant; `bound` makes it, before `build` is called."""
        self.states: dict[str, BrokerState] = {}
        """Likewise."""

    def bound(self, tenant: Tenant, old: Namespace | None, hits: Counter[tuple[str, str]]) -> None:
        """Set how much a tenant may have; what is counted for its namespace of before goes on."""
        name, own, of_all = tenant.name, tenant.limits, self._config.proxy.limits
        bounds = (None if old is None else old.bounds) or TopicBounds(self._now_ms, hits, name)
        bounds.limit(own.max_topics or of_all.max_topics, own.max_partitions or of_all.max_partitions)
        kept = None if old is None else old.kept
        state = BrokerState(self._now_ms, hits, name) if kept is None else kept.state
        limits = (getattr(own, one) or getattr(of_all, one) for one in StateLimits._fields)
        state.limit(StateLimits(*limits))
        self.bounds[name], self.states[name] = bounds, state

    def build(self, name: str, tiers: tuple[str, ...], authority: Authority | None) -> VirtualCluster:
        """Return a new virtual cluster of a tenant, or of a namespace below it, with these rights."""
        settings, tenant = self._settings, self._settings.tenants[name]
        cluster = self._clusters[settings.upstreams[name]]
        is_namespaced = name in settings.namespaced_client_ids
        namespace = Namespace(
            self._names(tenant, tiers, is_namespaced=is_namespaced, has_guards=authority is not None),
            cluster.topic_ids,
            **_settings(self._config, tenant),
            now_ms=self._now_ms,
            new_id=lambda: os.urandom(16),
            bounds=self.bounds[name],
            pseudonym_key=self._pseudonym_key,
            cluster_id=lambda: cluster.cluster_id,
        )
        namespace.rules = self._rules(namespace.names)
        namespace.kept = self.states[name].of(namespace.path)
        fetch_sessions, records = cluster.fetch_sessions, self._records_of(tenant)
        partitions = self._partitions_of(tenant)
        return VirtualCluster(namespace, cluster.name, fetch_sessions, authority, records, partitions)

    def _partitions_of(self, tenant: Tenant) -> "TenantVirtualTopics | None":
        """Return which topics of a tenant have virtual partitions: one object for all its namespaces."""
        if not tenant.virtual_partitions:
            return None
        made = self._partitions.get(tenant.name)
        if made is None:
            topics = load_virtual_partitions().TenantVirtualTopics
            counts, recent = self._models.partition_counts, self._models.recent
            rules = _partition_rules(tenant)
            index = self._models.index_of(self._settings.upstreams[tenant.name])
            made = topics(rules, tenant.name, counts, self._hits, recent, index, wall_s=time.time)
            self._partitions[tenant.name] = made
        return made

    def _records_of(self, tenant: Tenant) -> "TenantRecords | None":
        """Return the filters of a tenant: one object for all its namespaces, until its policies are about records."""
        policies, found = self._models.policies, self._of_tenant.get(tenant.name)
        has_rules = policies is not None and policies.has_record_rules(tenant.name)
        if found is not None and (found.has_rules or not has_rules):
            return found
        if not tenant.filters and not has_rules:
            return None
        if self._models.records is None:
            self._models.records = _process_records(self._config.proxy.limits, self._hits, self._peers)
        made = self._models.records.of_tenant(
            tenant.name, tenant.filters, is_dotted=_is_dotted(tenant), has_rules=has_rules
        )
        self._of_tenant[tenant.name] = made
        return made

    def _names(
        self, tenant: Tenant, tiers: tuple[str, ...], *, is_namespaced: bool, has_guards: bool
    ) -> TenantNames:
        return TenantNames(
            tenant.name,
            tenant.allowed_topics,
            prefixes=tenant.name_prefixes,
            tiers=tiers,
            namespaces=None if _is_dotted(tenant) else self._models.namespaces.of(tenant.name),
            separator=tenant.namespace_separator,
            namespaces_client_ids=is_namespaced,
            aliases=self._aliases,
            sees_shared=has_guards,
            foreign_marks=self._settings.foreign_marks,
        )

    def _rules(self, names: TenantNames) -> "NamespaceRules | None":
        if self._models.policies is None:
            return None
        from bifrost.tenancy.policies.namespace_rules import NamespaceRules

        return NamespaceRules(names, self._models.policies, self._hits, self._models.configs)

    def change(self, cluster: VirtualCluster) -> None:
        """Give an existing virtual cluster the settings of this configuration."""
        tenant = self._settings.tenants[cluster.namespace.tenant]
        marks = self._settings.foreign_marks
        cluster.namespace.rules = self._rules(cluster.namespace.names)
        cluster.namespace.change(tenant.allowed_topics, marks, **_settings(self._config, tenant))


def _models(config: Config, settings: TenantSettings, peers: Counters | None, found: Models | None) -> Models:
    """Return what virtual clusters go by: that of the configuration before, with what this one has more."""
    has_state = config.proxy.state is not None
    has_policies = has_state or bool(settings.policies)
    if found is None:
        found = Models(
            acls=StoredAcls(peers),
            aliases=_new_aliases() if has_state else None,
            configs=_new_configs() if has_state else None,
            partition_counts=Counter() if peers is None else peers.counter("virtual_partitions"),
            recent=RecentRecords(monotonic_ns, None if peers is None else peers.counter("recent_bytes")),
            indexes={} if config.proxy.partition_index.enabled else None,
        )
    if found.policies is None and has_policies:
        found.policies = _new_policies()
    return found


def _new_policies() -> "NamespacePolicies":
    from bifrost.tenancy.policies.namespace_policies import (
        NamespacePolicies,  # memory, only if there can be some
    )

    return NamespacePolicies()


def _new_configs() -> "NamespaceConfigs":
    from bifrost.tenancy.topic_configs.namespace_configs import (
        NamespaceConfigs,  # memory, only if there is a state
    )

    return NamespaceConfigs()


def _new_aliases() -> "TopicAliases":
    from bifrost.tenancy.namespaces.topic_aliases import TopicAliases  # memory, only if there is a state

    return TopicAliases()


def _configure(found: VirtualClusters, settings: TenantSettings) -> None:
    """Put what the configuration says of namespaces into force."""
    found.namespaces.configure(settings.namespaces)
    if found.policies is not None:
        found.policies.configure(settings.policies)
    if found.aliases is not None:
        found.aliases.configure(settings.places)


def _is_dotted(tenant: Tenant) -> bool:
    return tenant.namespace_encoding == "dotted"


def _settings(config: Config, tenant: Tenant) -> dict[str, Any]:
    """Return the settings that a reload may change."""
    return {
        "allow_topic_deletion": tenant.allow_topic_deletion,
        "max_names": config.proxy.limits.max_names_per_namespace,
        "policy": ResourcePolicy(config.proxy.policy, tenant.policy),
    }


def _authority(tenant: Tenant, acls: StoredAcls, known: Authority | None) -> Authority | None:
    """Return the ACLs of a tenant; `known`, if there are any, with what the configuration says now."""
    if tenant.acls is None:
        return None
    if tenant.acls.mode == "broker":
        from bifrost.tenancy.acls.broker_authority import BrokerAuthority  # memory, only where it is needed

        by_broker = known if isinstance(known, BrokerAuthority) else BrokerAuthority(tenant.name, acls)
        by_broker.take_accounts(
            {
                one.username: one.upstream_sasl.account
                for one in tenant.auth.credentials
                if one.upstream_sasl is not None
            }
        )
        by_broker.max_stored = tenant.acls.max_stored
        return by_broker
    authority = Authority(tenant.name, acls) if known is None else known
    authority.change(
        (binding_of(rule) for rule in tenant.acls.rules),
        tenant.acls.super_users,
        allow_everyone_if_no_acl_found=tenant.acls.allow_everyone_if_no_acl_found,
        max_stored=tenant.acls.max_stored,
    )
    return authority


def _process_records(
    limits: Limits, hits: Counter[tuple[str, str]], peers: Counters | None
) -> "ProcessRecords":
    """Return what filters of records share, for a tenant that has the first one."""
    from bifrost.gateway.sources.process_sources import ProcessSources  # memory, only where it is needed

    counts: Counter[Any] = Counter() if peers is None else peers.counter("transforms")
    sources = ProcessSources(limits, hits, counts, monotonic_ns)
    made: ProcessRecords = load_record_filters().ProcessRecords(limits, hits, monotonic_ns, counts, sources)
    return made


def _goes_on(old: VirtualCluster, tenant: Tenant, cluster: Cluster, *, is_namespaced: bool) -> bool:
    """Whether all names of a tenant keep their meaning."""
    names = old.namespace.names
    is_same = (
        old.fetch_sessions is cluster.fetch_sessions
        and (names.client_id_prefix is not None) == is_namespaced
        and names.is_named_by(tenant.name_prefixes)
        and (names.is_dotted, names.separator) == (_is_dotted(tenant), tenant.namespace_separator)
        and old.acl_mode == (None if tenant.acls is None else tenant.acls.mode)
        and (() if old.records is None else old.records.filters.filters) == tenant.filters
        and (() if old.virtual_partitions is None else old.virtual_partitions.rules.rules)
        == _partition_rules(tenant)
    )
    if not is_same or tenant.allowed_topics is None:
        return is_same
    wanted = {topic.replace(SEPARATOR, names.separator).encode() for topic in tenant.allowed_topics}
    return names.configured_topics is not None and names.configured_topics <= wanted


def _partition_rules(tenant: Tenant) -> tuple[PartitionRule, ...]:
    return tuple(
        PartitionRule(one.topics, partitions_of(one.virtual, one.physical, one.ratio, is_keyed=one.compacted))
        for one in tenant.virtual_partitions
    )


def _pseudonym_key(config: Config) -> bytes:
    key = config.proxy.pseudonym_key
    return b"" if key is None else key.reveal()
