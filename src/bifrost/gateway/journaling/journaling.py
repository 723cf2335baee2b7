"""The journal of a running gateway: when an interval ends, when snapshots of topics are taken, and the writer.

It runs in the background and keeps no client waiting: an interval's rows are made in slices, between which the event
loop serves clients.
"""

import asyncio
import contextlib
from collections import Counter, deque
from collections.abc import Generator, Iterable, Mapping, Sequence
from typing import Any

import structlog

from bifrost.config.fields.journal import Journal as JournalSettings
from bifrost.config.model import Config
from bifrost.forwarding.in_flight_limits import BROKER_TIME_LIMIT, TENANT_LIMIT, TIME_LIMIT, TOTAL_LIMIT
from bifrost.forwarding.look_up_turns import LOOK_UPS_LIMIT
from bifrost.gateway.brokers.cluster import Cluster
from bifrost.gateway.errors import BrokerError
from bifrost.gateway.journaling.context import JournalContext
from bifrost.gateway.journaling.journal_counts import JournalCounts
from bifrost.gateway.journaling.journal_snapshots import JournalSnapshots
from bifrost.gateway.journaling.journal_topic import journal_topic_settings
from bifrost.gateway.journaling.journal_writer import JournalWriter
from bifrost.gateway.loop.loop_guard import keep, report
from bifrost.gateway.loop.steps import in_steps
from bifrost.gateway.peers.journal_source import wall_ms
from bifrost.gateway.producing.upstream_topic import UpstreamTopic
from bifrost.gateway.reload_outcome import Outcome
from bifrost.journal.journal import Journal, JournalLimits
from bifrost.journal.told_aliases import ToldAliases
from bifrost.journal.topic_owners import TopicOwners, owner_marks
from bifrost.journal.topic_sizes import TopicSizes
from bifrost.session.close_reason import NOT_LET_IN, CloseReason, limit_of
from bifrost.session.decoded_request import REQUEST_BYTES_LIMIT, REQUEST_ITEMS_LIMIT
from bifrost.tenancy.topic_pages import LISTED_LIMIT

log = structlog.get_logger()

LAST_WORDS_S = 5.0
"""How long a gateway that stops waits until its last records are accepted, in addition to its drain."""

_TOLD_OF = {
    TENANT_LIMIT: "connections waited because of the tenant's limit",
    TOTAL_LIMIT: "connections waited because of the gateway's limit",
    TIME_LIMIT: "connections waited because the tenant used more than its share of the time",
    BROKER_TIME_LIMIT: "connections waited because the tenant used more than its share of the brokers' time",
    REQUEST_ITEMS_LIMIT: "requests with too many items were refused",
    REQUEST_BYTES_LIMIT: "requests that were too large to decode were refused",
    LOOK_UPS_LIMIT: "connections waited because the tenant named too many unknown topic IDs",
    LISTED_LIMIT: "the tenant has too many topics to list them alone when a client asks for all",
}
_TOLD_OF_OTHERS = "a limit was reached"
_FAILED_AUTHENTICATIONS = NOT_LET_IN | {
    CloseReason.AUTHENTICATION_TIMEOUT,
    CloseReason.NOT_AUTHENTICATED,
    CloseReason.SESSION_EXPIRED,
}


class Journaling:
    """The journal of one gateway process."""

    def __init__(self, gateway: JournalContext, settings: JournalSettings, config: Config) -> None:
        """Write nothing yet.

        Args:
            gateway: the gateway that the journal is about.
            settings: the configuration's section of the journal.
            config: the whole configuration.
        """
        self._gateway, self._settings = gateway, settings
        self._upstream = settings.upstream or config.clusters[0].name
        source = gateway.peers.journal_source(settings)
        limits = JournalLimits(
            settings.buffer_bytes,
            settings.max_usage_rows,
            settings.max_usage_rows_per_tenant,
            settings.max_events_per_tenant,
        )
        peers = gateway.peers
        self.journal = Journal(
            source, limits, wall_ms, known_topics=peers.known_topics, counter=peers.counter
        )
        self.writer: JournalWriter | None = None
        self._snapshot_turn = peers.snapshot_turn
        self._snapshot_ends: dict[str, tuple[int, int]] = {}
        """For each physical cluster the time of this process's last snapshot, and the number of the record after it."""
        self._told_hits: Counter[tuple[str, str]] = Counter()
        self._untold_tenants: deque[str] = deque()
        self._untold_aliases: dict[str, None] = {}
        self._told_aliases = ToldAliases()
        self._wakes_teller = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    # -- what happens in the gateway

    def note_end(
        self, reason: CloseReason, tenant: str | None, peer: str, detail: str, mechanism: str | None = None
    ) -> None:
        """Write an event if a connection ended by a failed authentication or a limit."""
        limit = limit_of(reason, tenant)
        if reason in _FAILED_AUTHENTICATIONS:
            self.journal.event(
                "authentication",
                "failure",
                tenant,
                client_address=peer,
                mechanism=mechanism,
                rule=str(reason),
                detail=detail,
            )
        elif limit is not None:
            self.journal.event("limit", "hit", tenant, client_address=peer, rule=limit, detail=detail)

    def note_reload(self, outcome: str, detail: str) -> None:
        """Write the outcome of a reload and, if it was applied, soon how tenants' names are made."""
        self.note_events([{"type": "reload", "outcome": outcome, "detail": detail}])

    def note_events(self, events: Iterable[Mapping[str, Any]]) -> None:
        """Write events of the gateway as a whole, soon; each has the arguments of `Journal.event`."""
        for one in events:
            fields = dict(one)
            type_, outcome = fields.pop("type"), fields.pop("outcome")
            self.journal.event(type_, outcome, **fields)
            if (type_, outcome) == ("reload", Outcome.APPLIED):
                self._begin_to_tell_tenants()
        if self.writer is not None:
            self.writer.wake()

    def note_aliases(self, tenants: Iterable[str]) -> None:
        """Write soon what tenants have of topics that were moved or are shared."""
        self._untold_aliases.update(dict.fromkeys(tenants))
        self._wakes_teller.set()

    def note_drain(self, outcome: str, detail: str) -> None:
        """Write that the gateway drains, or has drained."""
        self.journal.event("drain", outcome, detail=detail)

    # -- for the metrics

    def counts(self) -> JournalCounts:
        """Return the current counts; other threads may call this."""
        state, journal = self.state(), self.journal
        return JournalCounts(
            journal.buffer.drops.copy(),
            journal.table.folded.copy(),
            0 if self.writer is None else self.writer.written,
            state["buffer_bytes"],
            state["usage_rows"],
            bool(state["is_up"]),
        )

    def state(self) -> dict[str, int]:
        """Return the numbers that go up and down."""
        writer = self.writer
        return {
            "buffer_bytes": self.journal.buffer.size,
            "usage_rows": len(self.journal.table),
            "is_up": int(writer is not None and not writer.is_failing),
        }

    # -- life

    def begin(self) -> None:
        """Start writing; the brokers of the clusters are known."""
        timeout_ms = self._gateway.limits.upstream_connect_timeout_ms
        topic = UpstreamTopic(self._cluster, journal_topic_settings(self._settings), timeout_ms)
        self.writer = JournalWriter(
            topic, self.journal.buffer, timeout_ms, self._gateway.peers.counter("journal_written")
        )
        self.journal.event("start", "done", detail=f"{len(self._gateway.config.tenants)} tenants")
        self._begin_to_tell_tenants()
        loop = asyncio.get_running_loop()
        works = [
            ("journal_writer", self.writer.run),
            ("journal_interval", self._count),
            ("journal_tenants", self._tell),
        ]
        if self._settings.snapshot_interval_ms:
            works.append(("journal_snapshot", self._take_snapshots))
        self._tasks = [loop.create_task(keep(*one)) for one in works]
        log.info("journal_begun", gateway_id=self.journal.source.gateway_id, epoch=self.journal.source.epoch)
        self.writer.wake()

    async def end(self) -> None:
        """Write the remaining records, within a time limit."""
        buffer, writer = self.journal.buffer, self.writer
        if writer is None:
            return
        writing, *others = self._tasks
        await _cancel(others)
        await self._end_interval()
        writer.finish()
        until_s = asyncio.get_running_loop().time() + LAST_WORDS_S
        await asyncio.wait({writing}, timeout=LAST_WORDS_S)
        if writing.done():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout_at(until_s):
                    await self._write_last(writer)
        await _cancel([writing])
        await writer.close()
        self._note_snapshots()
        self._snapshot_turn.leave()
        log.info("journal_ended", written=writer.written, not_written=buffer.sequence - writer.written)

    async def _write_last(self, writer: JournalWriter) -> None:
        """Write the remaining records, then the last event: the gateway stops."""
        await self._end_interval()
        while len(self.journal.buffer):
            await writer.write_all()
            await self._end_interval()
        self.journal.event("stop", "done")
        await writer.write_all()

    def _begin_to_tell_tenants(self) -> None:
        """Have it written for every tenant how a reader finds out which physical names are the tenant's."""
        self._untold_tenants = deque(tenant.name for tenant in self._gateway.config.tenants)
        self._wakes_teller.set()

    def _tell_tenants(self) -> Generator[None, None, None]:
        while self._untold_tenants:
            tenant = self._untold_tenants.popleft()
            cluster = self._gateway.shared.virtual_clusters.of_tenant(tenant)
            if cluster is not None:
                marks = owner_marks(cluster.namespace.names)
                self.journal.event("tenant", "applied", tenant, upstream=cluster.upstream, after=marks)
                self._untold_aliases[tenant] = None
            yield
        aliases = self._gateway.shared.virtual_clusters.aliases
        while self._untold_aliases and aliases is not None:
            tenant = next(iter(self._untold_aliases))
            del self._untold_aliases[tenant]
            for one in self._told_aliases.news(tenant, aliases.parts.get(tenant)):
                self.journal.event(
                    "alias",
                    "begun" if one.is_begun else "done",
                    tenant,
                    resource_type="topic",
                    resource_name=one.place,
                    physical_name=one.physical,
                    after={"access": one.access},
                )
                yield

    async def _tell(self) -> None:
        """Write what is to be told of tenants, whenever there is something, for ever."""
        while True:
            await self._wakes_teller.wait()
            self._wakes_teller.clear()
            await in_steps(self._tell_tenants())
            if self.writer is not None:
                self.writer.wake()

    async def _count(self) -> None:
        """End an interval every `interval_ms`, for ever."""
        loop = asyncio.get_running_loop()
        due = loop.time()
        while True:
            due = max(due + self._settings.interval_ms / 1000, loop.time())
            await asyncio.sleep(due - loop.time())
            try:
                await self._end_interval()
            except Exception as error:
                report("journal_interval", error)

    async def _end_interval(self) -> None:
        await in_steps(self._tell_tenants())
        await in_steps(self._tell_hits())
        await in_steps(self._tell_unenforced())
        self._note_snapshots()
        await in_steps(self.journal.end_interval())
        if self.writer is not None:
            self.writer.wake()

    def _tell_hits(self) -> Generator[None, None, None]:
        """Write how often requests hit limits, one event per limit and tenant: thousands a second may hit one."""
        hits = self._gateway.shared.lanes.in_flight_limits.hits
        for (limit, tenant), count in list(hits.items()):
            yield
            new = count - self._told_hits[limit, tenant]
            if new:
                self._told_hits[limit, tenant] = count
                self.journal.event(
                    "limit",
                    "hit",
                    tenant or None,
                    rule=limit,
                    detail=_TOLD_OF.get(limit, _TOLD_OF_OTHERS),
                    count=new,
                )

    def _tell_unenforced(self) -> Generator[None, None, None]:
        """Write what passed though a filter of records would refuse it, one event for each place and interval."""
        clusters = self._gateway.shared.virtual_clusters
        if clusters.records is None:
            return
        for place, count, reason in clusters.records.unenforced.take():
            yield
            root = clusters.of_tenant(place.tenant)
            self.journal.event(
                "records",
                "unenforced",
                place.tenant,
                upstream=None if root is None else root.upstream,
                namespace=place.namespace,
                principal=None if place.user is None else f"User:{place.user}",
                api="Produce",
                resource_type="topic",
                resource_name=place.topic,
                physical_name=place.physical,
                rule=place.filter,
                detail=reason,
                count=count,
            )

    # -- sizes

    async def _take_snapshots(self) -> None:
        while True:
            for cluster in self._gateway.clusters if self._snapshot_turn.is_mine() else ():
                try:
                    await self._take_snapshot(cluster)
                except BrokerError as error:
                    log.warning("journal_snapshot_failed", upstream=cluster.name, error=str(error))
                except Exception as error:
                    report("journal_snapshot", error)
            await asyncio.sleep(self._settings.snapshot_interval_ms / 1000)

    async def _take_snapshot(self, cluster: Cluster) -> None:
        """Write the sizes of all tenants' topics on a cluster, once all of them are known."""
        snapshots = JournalSnapshots(cluster, self._gateway.limits.upstream_connect_timeout_ms)
        found: deque[tuple[str, str, TopicSizes]] = deque()
        owners = await in_steps(self._owners_on(cluster))
        async for topics in snapshots.take(lambda name: owners.of(name) is not None):
            for topic in topics:
                owner = owners.of(topic.name)
                if owner is not None:
                    found.append((*owner, topic))
        now_ms = wall_ms()
        own = self._snapshot_ends.get(cluster.name)
        last_ms = self._snapshot_turn.last_ms(cluster.name) if own is None else own[0]
        interval = (now_ms if last_ms is None else min(last_ms, now_ms), now_ms)
        await in_steps(self._tell_sizes(cluster.name, interval, found))
        self._snapshot_ends[cluster.name] = now_ms, self.journal.buffer.sequence
        if self.writer is not None:
            self.writer.wake()

    def _tell_sizes(
        self, upstream: str, interval: tuple[int, int], found: deque[tuple[str, str, TopicSizes]]
    ) -> Generator[None, None, None]:
        """Write the sizes down, and forget them on the way: to free all at once would take long."""
        while found:
            tenant, virtual, topic = found.popleft()
            fields = topic.snapshot(upstream, virtual)
            fields["is_last"] = not found
            self.journal.snapshot(tenant, interval, fields)
            self.journal.known_topics.learn(upstream, topic.name, interval[1], topic.facts())
            yield

    def _note_snapshots(self) -> None:
        """Tell the other workers which snapshots are written: the successor of a dead worker covers the rest."""
        for upstream, (at_ms, sequence) in self._snapshot_ends.items():
            if sequence <= self.journal.buffer.settled:
                self._snapshot_turn.note(upstream, at_ms)

    def _owners_on(self, cluster: Cluster) -> Generator[None, None, TopicOwners]:
        owners = TopicOwners()
        for tenant in self._gateway.config.tenants:
            virtual = self._gateway.shared.virtual_clusters.of_tenant(tenant.name)
            if virtual is not None and virtual.upstream == cluster.name:
                owners.add(virtual.namespace.names)
            yield
        return owners

    @property
    def _cluster(self) -> Cluster:
        return self._gateway.clusters[self._upstream]


async def _cancel(tasks: Sequence[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
