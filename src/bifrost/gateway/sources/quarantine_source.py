"""The source that writes bad records to topics of quarantine, with acks=all, before their producer is told.

Each topic has its own connections and one request at a time, so that a topic whose leader is slow holds up no other. A
record may be written twice: the answer of a broker can be lost, and the producer sends its batch again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, NamedTuple

import structlog

from bifrost.gateway.errors import BrokerError, RecordsRefused
from bifrost.gateway.sources.quarantine_batches import batches_of
from bifrost.records.codec.errors import RecordsError
from bifrost.transforms.quarantine import QUARANTINED, ToQuarantine
from bifrost.transforms.record_transform import Failure

if TYPE_CHECKING:
    from bifrost.config.records.record_filter import RecordFilter
    from bifrost.filters.records.sources import TopicWriter, Upstream
    from bifrost.gateway.sources.source_names import SourceContext

log = structlog.get_logger()

MAX_WAITING = 64
"""Batches that wait for one topic: producers that send bad records faster than they can be put aside are told to try
again."""
LIMIT = "quarantine_batches"
"""What that bound is called where limits are counted."""
LOG_MS = 10_000
"""Least time between two log lines about one topic."""


class _Place(NamedTuple):
    tenant: str
    physical: bytes


class QuarantineSource:
    """The topics of quarantine of a process; a `Source`."""

    def __init__(self, context: SourceContext) -> None:
        """Begin without a connection."""
        self._context = context
        self._topics: dict[_Place, _QuarantineTopic] = {}
        self._closing: set[asyncio.Task[None]] = set()

    def cached(self, key: ToQuarantine) -> object | None:
        """Have nothing at hand: each batch is written."""
        return None

    async def answers(self, keys: Collection[ToQuarantine]) -> Mapping[ToQuarantine, object]:
        """Return of each batch whether its bad records are written."""
        found = await asyncio.gather(*(self._answer(key) for key in keys))
        return dict(zip(keys, found, strict=True))

    async def _answer(self, key: ToQuarantine) -> object:
        place, given = key.place, key.given
        batch, columns = given.batch, given.columns
        given.batch = given.columns = None
        upstream = self._context.upstream_of(place.tenant)
        if place.unusable is not None:
            return self._failed(key, place.unusable, is_retriable=False)
        if batch is None or columns is None or upstream is None:
            return self._failed(key, "the records are not there any more", is_retriable=True)
        topic = self._topic(_Place(place.tenant, place.physical), upstream)
        if topic.waiting >= MAX_WAITING:
            self._context.note_limit(LIMIT, place.tenant)
            return self._failed(key, "too many batches wait for it", is_retriable=True)
        try:
            # Building takes longer than a turn of the loop.
            count = len(given.reasons(len(columns)))
            await topic.write(lambda: batches_of(key, batch, columns, given), key.partition)
        except (RecordsRefused, RecordsError) as error:
            return self._failed(key, f"it does not take the records: {error}", is_retriable=False)
        except BrokerError as error:
            return self._failed(key, str(error), is_retriable=True)
        self._context.count(key.filter, "quarantined", count, place.tenant)
        return QUARANTINED

    def _failed(self, key: ToQuarantine, reason: str, *, is_retriable: bool) -> Failure:
        self._context.count(key.filter, "unquarantined", 1, key.place.tenant)
        topic = self._topics.get(_Place(key.place.tenant, key.place.physical))
        if topic is None or topic.may_tell(self._context.now_ns() // 1_000_000):
            log.warning(
                "quarantine_failed",
                tenant=key.place.tenant,
                filter=key.filter,
                topic=key.place.quarantine,
                reason=reason,
            )
        # The text of a broker could name what the tenant must not know.
        return Failure(f"bad records cannot be written to {key.place.quarantine}", is_retriable)

    def _topic(self, place: _Place, upstream: Upstream) -> _QuarantineTopic:
        found = self._topics.get(place)
        if found is not None and found.cluster is not upstream.cluster:
            self._give_up(self._topics.pop(place))
            found = None
        if found is None:
            writer = upstream.open(upstream.cluster, place.physical.decode(), "quarantine_topic")
            found = self._topics[place] = _QuarantineTopic(upstream.cluster, writer)
        return found

    def configure(self, filters: Collection[RecordFilter]) -> None:
        """Begin anew after a reload: topics and clusters may be others."""
        self.close()

    def close(self) -> None:
        """Close all connections, each when what waits for it has ended."""
        for place in list(self._topics):
            self._give_up(self._topics.pop(place))

    def _give_up(self, topic: _QuarantineTopic) -> None:
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return  # The process ends, or has no loop yet.
        task = loop.create_task(topic.close())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)


class _QuarantineTopic:
    """One topic of quarantine."""

    def __init__(self, cluster: object, writer: TopicWriter) -> None:
        self.cluster, self._writer = cluster, writer
        self.waiting = 0
        self._turn = asyncio.Lock()
        self._told_ms: int | None = None

    def may_tell(self, now_ms: int) -> bool:
        """Whether the last line of the log is long ago; then this one counts."""
        if self._told_ms is not None and now_ms - self._told_ms < LOG_MS:
            return False
        self._told_ms = now_ms
        return True

    async def write(self, build: Callable[[], list[bytes]], partition: int) -> None:
        """Write batches when it is their turn, one after the other.

        Args:
            build: returns them; it is called in a thread.
            partition: of the client's topic: records of one partition stay in one.
        Raises:
            BrokerError: they could not be written now, or never (RecordsRefused).
            RecordsError: they cannot be built.
        """
        self.waiting += 1
        try:
            async with self._turn:
                for one in await asyncio.to_thread(build):
                    await self._writer.write(one, partition)
        finally:
            self.waiting -= 1

    async def close(self) -> None:
        """Close the connections behind what is being written."""
        async with self._turn:
            await self._writer.close()


def make(context: SourceContext) -> QuarantineSource:
    """Return the source of a process."""
    return QuarantineSource(context)
