"""Which stored topics the filters of a configuration are for, by their physical names; for the drivers of jobs.

A topic's records do not say who produced them, so a filter counts with any principals in its rules. A topic that
was moved or is shared counts with each name that a tenant has for it, as in a gateway, if the state is there.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from bifrost.config.fields.tenants import Tenant
from bifrost.config.records.record_filter import FilterName, RecordFilter
from bifrost.encryption.kek import Kek
from bifrost.pipeline.errors import PipelineError
from bifrost.pipeline.stored.filter_sealing import FilterSealing, says_how
from bifrost.pipeline.stored.kek_texts import KmsAccess
from bifrost.tenancy.names import PhysicalTopic, TenantNames
from bifrost.tenancy.namespaces.relative_names import RelativeNames
from bifrost.tenancy.namespaces.topic_aliases import TenantAliases
from bifrost.transforms.encryption.envelope_encryption import kek_of
from bifrost.transforms.record_transform import Direction
from bifrost.transforms.tenant_filters import EVERY_RECORD, TenantFilters


@dataclass(frozen=True, slots=True)
class ConfiguredTopic:
    """A stored topic of a tenant, and the filters of one kind that are for it."""

    tenant: str
    path: str
    """What clients of the whole tenant call it."""
    physical: str
    filters: tuple[RecordFilter, ...]


class Seals(NamedTuple):
    """How the sealed records of a topic open."""

    cluster: str
    """What their filter calls the cluster; empty: by Kafka's ID of it."""
    keks: tuple[Kek, ...]
    """Those of its filters; without: no filter seals it."""
    sealing: FilterSealing | None
    """Its filter, where envelopes alone do not say how."""


@dataclass(frozen=True, slots=True)
class ConfiguredTenants:
    """The tenants of one physical cluster."""

    tenants: Sequence[Tenant]
    aliases: Mapping[str, TenantAliases] = field(default_factory=dict)
    """Moved and shared topics by tenant (`TopicAliases.parts`)."""
    index_topic: str = ""
    """Where the index of their virtual partitions is (`proxy.partition_index`); empty: there is none."""

    def topics(
        self, physical: Iterable[str], name: FilterName, directions: Collection[Direction]
    ) -> list[ConfiguredTopic]:
        """Return those of many topics that filters of a kind are for, each by each tenant that has such a filter.

        Args:
            physical: names of topics at the brokers.
            name: the kind of filter.
            directions: a filter counts if it applies on one of these ways.
        """
        names = sorted(physical)
        return [found for tenant in self.tenants for found in self._of(tenant, names, name, directions)]

    def _of(
        self, tenant: Tenant, physical: Sequence[str], name: FilterName, directions: Collection[Direction]
    ) -> Iterator[ConfiguredTopic]:
        if all(one.name is not name for one in tenant.filters):
            return
        filters = TenantFilters(tenant.filters, is_dotted=tenant.namespace_encoding == "dotted")
        rules = tuple(
            (place, tuple(range(len(one.rules or (EVERY_RECORD,)))))
            for place, one in enumerate(tenant.filters)
        )
        for topic in physical:
            paths = self.paths(tenant, topic)
            if not paths:
                continue
            found = [one for way in directions for one in filters.applying(rules, set(paths), way)]
            own = tuple(one for one in filters.filters if one in found and one.name is name)
            if own:
                yield ConfiguredTopic(tenant.name, paths[0], topic, own)

    def seals(self, physical: str, access: KmsAccess) -> Seals:
        """Return how a topic's sealed records open.

        Args:
            physical: the topic at the brokers.
            access: how the job reaches the KEKs' services.
        Raises:
            PipelineError: filters of several tenants say it, and not the same.
        """
        topics = self.topics([physical], FilterName.ENVELOPE_ENCRYPTION, tuple(Direction))
        configs = [one.config for topic in topics for one in topic.filters]
        clusters = [one.cluster for one in configs if one.cluster]
        keks = dict.fromkeys(access.on(kek_of(one)) for one in configs)
        sealing = [
            FilterSealing(one.shown_name, one.config)
            for topic in topics
            for one in topic.filters
            if says_how(one.config)
        ]
        if sealing and any(one != sealing[0].config for one in configs):
            raise PipelineError(f"several tenants have filters that seal {physical}, and not in the same way")
        return Seals(clusters[0] if clusters else "", tuple(keks), sealing[0] if sealing else None)

    def paths(self, tenant: Tenant, topic: str) -> list[str]:
        """Return what clients of a whole tenant call a physical topic, the name by which it owns it first."""
        part, physical = self.aliases.get(tenant.name), topic.encode()
        if part is not None and (standings := part.standings.get(physical)) is not None:
            if not standings:
                return []  # It was moved away.
            owned = [one.place.full_name for one in standings if one.access is None]
            shared = [one.place.full_name for one in standings if one.access is not None]
            origins = [one.full_name for one in part.origins(physical)]
            return list(dict.fromkeys([*owned, *origins, *shared]))
        prefix = tenant.name_prefixes.topic
        if not topic.startswith(prefix):
            return []
        namespaces = None
        if tenant.namespace_encoding != "dotted":
            # A namespace that was deleted may have left its topics: their names show where they were.
            tiers = RelativeNames.tiers_behind(physical[len(prefix) :])
            namespaces = {tiers[:depth] for depth in range(1, len(tiers) + 1)}
        names = TenantNames(tenant.name, prefixes=tenant.name_prefixes, namespaces=namespaces)
        found = names.virtual_topic(PhysicalTopic(physical))
        return [] if found is None else [found.decode()]
