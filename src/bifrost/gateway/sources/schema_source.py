"""The source of schemas: what is in the cache is at hand; for the rest a thread asks the registry.

Each registry has its own threads, so that one that is slow holds up no other. Of several messages that need the same
schema one asks. While a registry is away, what it said before goes on serving (`SchemaCache`).
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import TYPE_CHECKING

import structlog

from bifrost.registry.errors import RegistryError
from bifrost.registry.schema_lookup import SchemaLookup
from bifrost.schemas.readers.reader import SchemaError
from bifrost.schemas.schema_cache import SchemaCache
from bifrost.schemas.schema_key import RegistrySettings, SchemaKey
from bifrost.schemas.wire_format import told
from bifrost.transforms.record_transform import Failure
from bifrost.transforms.schema_registry import registry_of

if TYPE_CHECKING:
    from bifrost.config.records.record_filter import RecordFilter
    from bifrost.gateway.sources.source_names import SourceContext

log = structlog.get_logger()

THREADS = 4
"""Requests to one registry at a time."""
MAX_ASKED = 1_000
"""Schemas of one registry that are asked for or wait for that: producers that name random ones get no further."""
RETRY_MS = 1_000
"""Least time between two questions about a schema when the first failed: a registry that struggles is not hammered."""
LOG_MS = 10_000
"""Least time between two log lines about one registry."""


class SchemaSource:
    """The schemas of a process; a `Source`."""

    def __init__(self, context: SourceContext) -> None:
        """Begin without any."""
        self._context = context
        self._registries: dict[RegistrySettings, _RegistryInUse] = {}

    def cached(self, key: SchemaKey) -> object | None:
        """Return what is known about a schema."""
        registry = self._of(key.registry)
        found = registry.cached(key)
        self._context.count(key.registry.url, "cache_misses" if found is None else "cache_hits")
        return found

    async def answers(self, keys: Collection[SchemaKey]) -> Mapping[SchemaKey, object]:
        """Return what the registries say; a question that is cancelled is answered for the next message."""
        try:
            asked = [asyncio.shield(asyncio.wrap_future(self._of(key.registry).ask(key))) for key in keys]
            return dict(zip(keys, await asyncio.gather(*asked), strict=True))
        finally:
            for registry in self._registries.values():
                registry.tell_counts()

    def configure(self, filters: Collection[RecordFilter]) -> None:
        """Keep the registries that these filters ask, and give up others."""
        wanted = {registry_of(one.config) for one in filters if one.config.registry_url is not None}
        for settings in self._registries.keys() - wanted:
            self._registries.pop(settings).close()

    def close(self) -> None:
        """Give up all registries."""
        self.configure(())

    def _of(self, settings: RegistrySettings) -> _RegistryInUse:
        found = self._registries.get(settings)
        if found is None:
            found = self._registries[settings] = _RegistryInUse(settings, self._context)
        return found


class _RegistryInUse:
    """One registry, what it said, and the threads that ask it."""

    def __init__(self, settings: RegistrySettings, context: SourceContext) -> None:
        self._settings, self._context = settings, context
        self._cache = SchemaCache(settings.max_schemas)
        self._lookup = SchemaLookup(settings)
        self._lock = Lock()
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="registry")
        self._asked: dict[SchemaKey, Future[object]] = {}
        self._told_ms: int | None = None
        self._counts: Counter[str] = Counter()
        """What threads have counted since it was told: only the loop's thread may count for all workers."""

    def _now_ms(self) -> int:
        return self._context.now_ns() // 1_000_000

    def cached(self, key: SchemaKey) -> object | None:
        """Return what is known about a schema without asking."""
        with self._lock:
            return self._cache.get(key, self._now_ms())

    def ask(self, key: SchemaKey) -> Future[object]:
        """Ask about a schema in a thread, or return the question that is under way."""
        under_way = self._asked.get(key)
        if under_way is not None:
            return under_way
        if len(self._asked) >= MAX_ASKED:
            full: Future[object] = Future()
            full.set_result(Failure("too many schemas are asked for", is_retriable=True))
            return full
        made = self._asked[key] = self._threads.submit(self._call, key)
        made.add_done_callback(lambda _: self._asked.pop(key, None))
        return made

    def _call(self, key: SchemaKey) -> object:
        """Return what the registry says about a schema; in a thread."""
        found = self.cached(key)
        if found is not None:
            return found
        began_ns = self._context.now_ns()
        answer, serves_ms = self._answer(key)
        with self._lock:
            self._counts["look_ups"] += 1
            self._counts["look_up_ns"] += self._context.now_ns() - began_ns
            self._cache.put(key, answer, self._now_ms() + serves_ms)
        return answer

    def _answer(self, key: SchemaKey) -> tuple[object, int]:
        """Return what the registry says, and how long it serves."""
        settings, named = self._settings, f"schema {told(key.schema_id)}"
        try:
            answer = self._lookup.answer(key)
        except SchemaError as error:
            self._tell(f"{settings.url}: {named}: {error}")
            return Failure(f"{named} cannot be used", is_retriable=False), settings.unknown_cache_ms
        except RegistryError as error:
            self._tell(str(error))
            with self._lock:
                self._counts["look_up_errors"] += 1
                before = self._cache.stale(key, self._now_ms())
            away = Failure("the schema registry cannot be asked now", is_retriable=True)
            return (away if before is None else before), RETRY_MS
        return answer, settings.cache_ms if answer.reason is None else settings.unknown_cache_ms

    def tell_counts(self) -> None:
        """Count what threads have done; on the loop, after each message that has waited for a registry."""
        with self._lock:
            counts, self._counts = self._counts, Counter()
        for number, amount in counts.items():
            self._context.count(self._settings.url, number, amount)

    def _tell(self, reason: str) -> None:
        """Log why there is no schema, not too often."""
        now_ms = self._now_ms()
        if self._told_ms is not None and now_ms - self._told_ms < LOG_MS:
            return
        self._told_ms = now_ms
        log.warning("schema_unavailable", reason=reason)

    def close(self) -> None:
        """Give it up; a question that is under way ends by itself."""
        self._threads.shutdown(wait=False)


def make(context: SourceContext) -> SchemaSource:
    """Return the source of schemas."""
    return SchemaSource(context)
