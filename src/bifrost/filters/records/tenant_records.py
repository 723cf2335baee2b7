"""What a gateway has for the filters of records: memory, counters, and the filters of each tenant."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from bifrost.filters.records.fetched_records import FetchedRecordsFilter, SharedRecordsFilter
from bifrost.filters.records.offsets_by_time import OffsetsByTimeFilter
from bifrost.filters.records.produced_records import ProducedRecordsFilter
from bifrost.filters.records.read_orders import ReadOrders
from bifrost.filters.records.record_memory import RecordMemory
from bifrost.filters.records.record_topics import RecordTopics
from bifrost.filters.records.sources import NoSources
from bifrost.filters.records.transform_meter import TransformKey, TransformMeter
from bifrost.filters.records.unenforced_records import UnenforcedRecords
from bifrost.transforms.tenant_filters import TenantFilters
from bifrost.transforms.transform_kind import kind_of
from bifrost.wire.api_keys import ApiKey

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bifrost.config.fields.limits import Limits
    from bifrost.config.records.record_filter import RecordFilter
    from bifrost.filters.filter import AnyFilter
    from bifrost.filters.records.sources import Sources
    from bifrost.filters.virtual.virtual_topics import VirtualTopics
    from bifrost.tenancy.acls.guard import Guard
    from bifrost.tenancy.namespace import Namespace
    from bifrost.transforms.record_transform import Direction
    from bifrost.transforms.tenant_filters import Rules

_FILTERS: dict[int, AnyFilter] = {
    ApiKey.PRODUCE: ProducedRecordsFilter(),
    ApiKey.FETCH: FetchedRecordsFilter(),
    ApiKey.SHARE_FETCH: SharedRecordsFilter(),
    ApiKey.LIST_OFFSETS: OffsetsByTimeFilter(),
}


class ProcessRecords:
    """What all tenants of a process share."""

    def __init__(
        self,
        limits: Limits,
        hits: Counter[tuple[str, str]],
        now_ns: Callable[[], int],
        counts: Counter[TransformKey] | None = None,
        sources: Sources | None = None,
    ) -> None:
        """Begin with nothing used and nothing counted.

        Args:
            limits: how much memory records may take.
            hits: counts how often a limit was reached.
            now_ns: a monotonic clock, in nanoseconds.
            counts: counts what filters do; None: a counter of its own.
            sources: where transforms get what they need; None: they need nothing.
        """
        self.memory = RecordMemory(limits, hits)
        self.unenforced = UnenforcedRecords()
        self.orders = ReadOrders()
        self.counts: Counter[TransformKey] = Counter() if counts is None else counts
        self.now_ns = now_ns
        self.sources: Sources = NoSources() if sources is None else sources

    def limit(self, limits: Limits) -> None:
        """Use other limits from now on."""
        self.memory.limit(limits)
        self.sources.limit(limits)

    def of_tenant(
        self,
        tenant: str,
        filters: Sequence[RecordFilter],
        *,
        is_dotted: bool = False,
        has_rules: bool = False,
    ) -> TenantRecords:
        """Return the filters of a tenant, which has some, or whose policies are about records (`has_rules`)."""
        return TenantRecords(self, tenant, TenantFilters(filters, is_dotted=is_dotted), has_rules=has_rules)


class TenantRecords:
    """The filters of one tenant."""

    def __init__(
        self, process: ProcessRecords, tenant: str, filters: TenantFilters, *, has_rules: bool = False
    ) -> None:
        """Take the filters, and load what they need; see `ProcessRecords.of_tenant`."""
        self.process, self.tenant, self.filters = process, tenant, filters
        self.has_rules = has_rules
        """Whether all that is produced is compared with policies of namespaces, which may change."""
        self._topics: WeakValueDictionary[
            tuple[Namespace, Rules, Guard | None, VirtualTopics | None], RecordTopics
        ] = WeakValueDictionary()
        for one in filters.filters:
            kind_of(one.name)

    def topics(
        self, namespace: Namespace, user: str, guard: Guard | None, virtual: VirtualTopics | None = None
    ) -> RecordTopics | None:
        """Return what happens to the topics of a user's clients: one object for all to whom the same rules apply.

        None: no filter is for anything that they write or read, and no policy.
        """
        rules = self.filters.rules_for(f"User:{user}")
        if not rules and not self.has_rules:
            return None
        key = (namespace, rules, guard, virtual)
        found = self._topics.get(key)
        if found is None:
            found = self._topics[key] = RecordTopics(self, namespace, rules, guard, virtual)
        return found

    def filter_of(self, api_key: int) -> AnyFilter | None:
        """Return the filter that sees messages of an API that have records, or tell offsets by their timestamps."""
        return _FILTERS.get(api_key)

    def meter(self, direction: Direction, counts: Counter[TransformKey]) -> TransformMeter:
        """Return what counts the transforms of one message in `counts`."""
        return TransformMeter(counts, self.process.now_ns, self.tenant, direction)
