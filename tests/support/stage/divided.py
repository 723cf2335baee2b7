"""Virtual partitions for a tenant of a Stage."""

from collections import Counter
from dataclasses import replace

from bifrost.filters.virtual.virtual_topics import TenantVirtualTopics
from bifrost.session.virtual_clusters import VirtualClusters
from bifrost.tenancy.recent_records.recent_records import RecentRecords
from bifrost.tenancy.virtual_partitions.index.index_table import IndexTable
from bifrost.tenancy.virtual_partitions.partition_map import PartitionMap
from bifrost.tenancy.virtual_partitions.partition_rules import PartitionRule
from support.stage.stage import Stage

FIVE_ON_TWO = PartitionMap(5, 2)
NOW_S = 1_800_000_000
"""When offsets are committed, in seconds since 1970."""


def divided(
    stage: Stage,
    *topics: str,
    partitions: PartitionMap = FIVE_ON_TWO,
    tenant: str = "acme",
    recent: RecentRecords | None = None,
    index: IndexTable | None = None,
) -> None:
    """Give topics of a tenant of the stage virtual partitions.

    Args:
        stage: that has the tenant.
        topics: as its clients call them.
        partitions: of each topic.
        tenant: whose they are.
        recent: keeps what is fetched.
        index: what is known of whole logs.
    """
    clusters = stage.shared.virtual_clusters
    roots = {name: clusters.of_tenant(name) for name in stage.namespaces}
    found = {name: one for name, one in roots.items() if one is not None}
    rules = TenantVirtualTopics(
        [PartitionRule(topics, partitions)], tenant, recent=recent, index=index, wall_s=lambda: NOW_S
    )
    found[tenant] = replace(found[tenant], virtual_partitions=rules)
    stage.shared.virtual_clusters = VirtualClusters(found, stage._new, clusters.models)


def hits_of(stage: Stage, tenant: str = "acme") -> Counter[tuple[str, str]]:
    """Return what limits of virtual partitions have refused, by the name of the limit and tenant."""
    cluster = stage.shared.virtual_clusters.of_tenant(tenant)
    assert cluster is not None
    assert cluster.virtual_partitions is not None
    return cluster.virtual_partitions.hits


def counts_of(stage: Stage, tenant: str = "acme") -> Counter[tuple[str, str]]:
    """Return what virtual partitions have cost, by tenant and number."""
    cluster = stage.shared.virtual_clusters.of_tenant(tenant)
    assert cluster is not None
    assert cluster.virtual_partitions is not None
    return cluster.virtual_partitions.counts
