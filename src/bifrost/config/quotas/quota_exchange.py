"""The exchange by which gateways have the budgets of quotas together: the section `proxy.quota_exchange`."""

from pydantic import Field

from bifrost.config.section import Section
from bifrost.config.values import Count, Name, TopicName

QUOTA_EXCHANGE_TOPIC = "__bifrost_quotas"
"""The default topic of the exchange: it belongs to no tenant, whatever the prefixes of the tenants are."""


class QuotaExchange(Section):
    """The exchange by which all gateways of a platform have each budget of a quota together, over a topic on a physical
    cluster.

    Every key has a default: `quota_exchange: {}` turns it on. Without the section each gateway has budgets of its own,
    and as long as no tenant has a quota no topic is created or read. See [quotas.md](quotas.md#several-gateways). A
    change needs a restart. All gateways of a platform need the same section and the same quotas.
    """

    upstream: Name | None = None
    """Name of the physical cluster that has the topic. Default: the only cluster; required where there are several."""

    topic: TopicName = QUOTA_EXCHANGE_TOPIC
    """Name of the topic. No tenant's prefix may be the start of it. Default `__bifrost_quotas`."""

    partitions: Count = Field(default=1, ge=1, le=10_000)
    """Partitions of the topic: 1, the default, and nothing else, because every gateway reads all records in one
    order."""

    replication_factor: Count = Field(default=-1, ge=-1, le=32767)
    """Replicas of the partition, if the gateway creates the topic. Default -1, the cluster's own
    `default.replication.factor`. While the partition has no leader, each gateway goes on with the shares that it
    has."""
