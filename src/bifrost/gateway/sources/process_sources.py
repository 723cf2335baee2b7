"""The sources of one process, and how long a message waits for them."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from bifrost.filters.records.transform_meter import TransformKey
from bifrost.gateway.sources.refusal_log import RefusalLog
from bifrost.gateway.sources.source_names import make_source
from bifrost.transforms.quarantine import SOURCE as QUARANTINE
from bifrost.transforms.record_transform import Failure
from bifrost.transforms.transform_kind import kind_of

if TYPE_CHECKING:
    from bifrost.config.fields.limits import Limits
    from bifrost.config.records.record_filter import RecordFilter
    from bifrost.filters.records.sources import RefusedRecords, Source, Upstream
    from bifrost.filters.steps import RecordNeeds
    from bifrost.gateway.sources.source_names import SourceContext
    from bifrost.transforms.record_transform import Key

LIMIT = "max_record_wait_ms"


class ProcessSources:
    """The sources of one process; see `Sources`, of which this is one."""

    def __init__(
        self,
        limits: Limits,
        hits: Counter[tuple[str, str]],
        counts: Counter[TransformKey],
        now_ns: Callable[[], int],
        make: Callable[[str, SourceContext], Source] = make_source,
    ) -> None:
        """Begin without a source.

        Args:
            limits: how long messages wait.
            hits: counts how often they waited too long, by the setting and the tenant.
            counts: counts what sources do, as if they were filters of no direction.
            now_ns: a monotonic clock, in nanoseconds.
            make: makes a source by its name.
        """
        self._hits, self._counts, self.now_ns, self._make = hits, counts, now_ns, make
        self._sources: dict[str, Source] = {}
        self._upstreams: dict[str, Upstream] = {}
        self._refusals = RefusalLog(now_ns)
        self.limit(limits)

    def limit(self, limits: Limits) -> None:
        """Use other limits from now on."""
        self._max_wait_ns = limits.max_record_wait_ms * 1_000_000

    def configure(self, filters: Collection[RecordFilter]) -> None:
        """Make the sources that these filters use, and close those that they use no more."""
        users: dict[str, list[RecordFilter]] = defaultdict(list)
        for one in filters:
            kind = kind_of(one.name)
            for name in kind.sources | kind.sources_of(one.config):
                users[name].append(one)
            if one.config.quarantine_topic is not None:
                users[QUARANTINE].append(one)
        self._upstreams.clear()
        for name in self._sources.keys() - users.keys():
            self._sources.pop(name).close()
        for name, using in users.items():
            self._of(name).configure(using)

    def close(self) -> None:
        """Close all sources."""
        self.configure(())

    def cached(self, key: Key) -> object | None:
        """Return the answer to a key if its source has it at hand, else None."""
        return self._of(key.source).cached(key)

    def tell_refused(self, refused: RefusedRecords) -> None:
        """Log that records do not reach a consumer; for each partition once in a while."""
        self._refusals.tell(refused)

    async def meet(self, tenant: str, need: RecordNeeds, upstream: Upstream) -> RecordNeeds:
        """Return a need with the answers to all of its keys, within the time that a message may wait.

        A key that has no answer by then has a `Failure` that may pass by itself.
        """
        # A reload may have replaced it.
        self._upstreams[tenant] = upstream
        began_ns = self.now_ns()
        left_s = max(self._max_wait_ns - need.waited_ns, 0) / 1e9
        by_source: dict[str, list[Key]] = defaultdict(list)
        for key in need.keys:
            by_source[key.source].append(key)
        found: dict[Key, object] = {}
        for answers in await asyncio.gather(
            *(self._ask(tenant, name, keys, left_s) for name, keys in by_source.items())
        ):
            found.update(answers)
        known = {**need.known, **found}
        return replace(need, known=known, waited_ns=need.waited_ns + self.now_ns() - began_ns)

    async def _ask(self, tenant: str, name: str, keys: list[Key], left_s: float) -> Mapping[Key, object]:
        source, began_ns = self._of(name), self.now_ns()
        found: dict[Key, object] = {}
        try:
            async with asyncio.timeout(left_s):
                found.update(await source.answers(keys))
        except TimeoutError:
            self._hits[LIMIT, tenant] += 1
        self._note(tenant, name, "waits", 1)
        self._note(tenant, name, "wait_ns", self.now_ns() - began_ns)
        for key in keys:
            if found.get(key) is None:
                at_hand = source.cached(key)
                late = Failure(
                    f"{name}: no answer within the time that a message may wait", is_retriable=True
                )
                found[key] = late if at_hand is None else at_hand
        return found

    def upstream_of(self, tenant: str) -> Upstream | None:
        """Return the physical cluster of a tenant whose messages have waited."""
        return self._upstreams.get(tenant)

    def note_limit(self, limit: str, tenant: str) -> None:
        """Count that a bound of a source was reached."""
        self._hits[limit, tenant] += 1

    def count(self, source: str, number: str, amount: int = 1, tenant: str = "") -> None:
        """Count something that a source did, by its name or that of a filter; for one tenant, if it was for one."""
        self._note(tenant, source, number, amount)

    def _note(self, tenant: str, source: str, number: str, amount: int) -> None:
        self._counts[TransformKey(tenant, source, "", number)] += amount

    def _of(self, name: str) -> Source:
        found = self._sources.get(name)
        if found is None:
            # Also one that a reload has closed: a message of a connection that is about to end may still need it.
            found = self._sources[name] = self._make(name, self)
        return found
