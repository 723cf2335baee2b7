"""Which stored topics have virtual partitions by a configuration; for the drivers of jobs.

As in the gateway, a topic that was moved or shared has the partitions of the names that it had before: its records are
marked for these.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from bifrost.config.fields.tenants import Tenant
from bifrost.config.tiers import SEPARATOR
from bifrost.pipeline.errors import PipelineError
from bifrost.pipeline.stored.configured_topics import ConfiguredTenants
from bifrost.tenancy.virtual_partitions.partition_map import PartitionMap, partitions_of
from bifrost.tenancy.virtual_partitions.partition_rules import PartitionRule, PartitionRules


class VirtualTopic(NamedTuple):
    """A stored topic that a tenant sees with other partitions."""

    tenant: str
    name: str
    """What clients of the whole tenant call it, with `:` behind its namespaces."""
    physical: str
    partitions: PartitionMap
    separator: str = SEPARATOR
    """What they write in place of that."""

    @property
    def client_name(self) -> str:
        """What they ask a gateway for."""
        return self.name.replace(SEPARATOR, self.separator)


def virtual_topics(configured: ConfiguredTenants, physical: Iterable[str]) -> dict[str, VirtualTopic]:
    """Return those of many topics that have virtual partitions, by their physical names.

    Raises:
        PipelineError: two tenants see the same topic with different partitions.
    """
    names, found = sorted(physical), dict[str, VirtualTopic]()
    for tenant in configured.tenants:
        if not tenant.virtual_partitions:
            continue
        for topic in _of(configured, tenant, names):
            other = found.setdefault(topic.physical, topic)
            if other.partitions != topic.partitions:
                raise PipelineError(
                    f"{topic.physical} has other virtual partitions for {other.tenant} than for {topic.tenant}"
                )
    return found


def _of(configured: ConfiguredTenants, tenant: Tenant, physical: Iterable[str]) -> Iterator[VirtualTopic]:
    rules = PartitionRules(
        PartitionRule(one.topics, partitions_of(one.virtual, one.physical, one.ratio, is_keyed=one.compacted))
        for one in tenant.virtual_partitions
    )
    part = configured.aliases.get(tenant.name)
    for topic in physical:
        names = configured.paths(tenant, topic)
        if not names:
            continue
        origins = () if part is None else (one.full_name for one in part.origins(topic.encode()))
        for name in (*origins, names[0]):
            partitions = rules.map_of(name)
            if partitions is not None:
                yield VirtualTopic(tenant.name, names[0], topic, partitions, tenant.namespace_separator)
                break
