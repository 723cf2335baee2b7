"""Reads logs for the index that no client asks about: behind the entries, and where there is none from their start.

every ten seconds:  topics of each account ──▶ where their logs end ──▶ those of which much is not in the index
                    ──a part of each in turn──▶ entries

A bounded number of bytes is read in a second. A log of which less than the last 8,192 offsets is missing is left alone:
ListOffsets finds these itself.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from typing import NamedTuple

import structlog

from bifrost.forwarding.work import Work
from bifrost.gateway.brokers.broker_login import Login
from bifrost.gateway.brokers.cluster import Cluster
from bifrost.gateway.errors import BrokerError
from bifrost.gateway.loop.later import turn_until_ns
from bifrost.gateway.loop.loop_guard import report
from bifrost.gateway.loop.steps import LEAST_NS, STEP_S, Breaks
from bifrost.gateway.partition_index.context import IndexContext
from bifrost.gateway.partition_index.leader_logs import Bounds, LeaderLogs, TopicAtBrokers
from bifrost.tenancy.names import PhysicalTopic
from bifrost.tenancy.virtual_partitions.index.forward_scan import ForwardScan
from bifrost.tenancy.virtual_partitions.index.index_entry import NO_TOPIC_ID, Place
from bifrost.tenancy.virtual_partitions.index.index_table import IndexTable
from bifrost.tenancy.virtual_partitions.partition_end import STEP
from bifrost.tenancy.virtual_partitions.virtual_batches import UnfitBatch
from bifrost.wire.error_codes import ErrorCode

log = structlog.get_logger()

PART_BYTES = 512 * 1024
"""Bytes that are read at a time, or one batch."""
PARTS = 16
"""Parts of one log until it is the next one's turn."""
LOOK_S = 10.0
"""How long a look goes on before all is looked at anew."""
LIST_MS = 30_000
"""How long a list of topics is used."""
MAX_UNFIT = 10_000
"""Logs that are remembered because they cannot be read on; others are tried again each time."""
PLACE = "partition_index_scan"
"""The place of errors of the gateway's own."""
SCANNED, DISTRUSTED = "index_scanned_bytes", "index_distrusted"
"""What is counted; in `NUMBERS` of partition_rules.py."""


class _Log(NamedTuple):
    """A physical partition that has virtual ones."""

    tenant: str
    topic_id: bytes
    leader: int
    is_keyed: bool


class _Listed(NamedTuple):
    """What an account has seen."""

    at_ms: int
    logs: dict[Place, _Log]


class LogScans:
    """What one process does at one physical cluster."""

    def __init__(
        self,
        gateway: IndexContext,
        cluster: Cluster,
        table: IndexTable,
        bytes_per_second: int,
        now_ms: Callable[[], int],
    ) -> None:
        """Read nothing yet.

        Args:
            gateway: whose tenants' logs are read.
            cluster: where they are.
            table: the entries.
            bytes_per_second: most bytes that are read in a second, more than 0.
            now_ms: the time, by a monotonic clock.
        """
        self._gateway, self._cluster, self._table = gateway, cluster, table
        self._rate, self._now_ms = bytes_per_second, now_ms
        self._listed: dict[Login | None, _Listed] = {}
        self._unfit: dict[Place, tuple[bytes, int]] = {}
        """Logs with a batch that does not say whose it is: the topic's ID, and the offset."""
        self._missed: dict[Login | None, set[Place]] = {}
        """Entries whose topic was not in the last list of an account."""
        self.deleted: list[Place] = []
        """Entries whose topics are gone: the topic of the index has to say so."""
        self._problems: dict[str, str] = {}
        self._problem = ""

    async def look(self) -> bool:
        """Read some of what is missing; return whether all was read."""
        by_login: dict[Login | None, list[str]] = {}
        security, is_whole, self._problem = self._cluster.security, True, ""
        for tenant in self._tenants():
            login = None if security is None else security.login_of(tenant, "")
            by_login.setdefault(login, []).append(tenant)
        self._listed = {login: one for login, one in self._listed.items() if login in by_login}
        for login, tenants in by_login.items():
            logs, problem = LeaderLogs(self._cluster, login), ""
            try:
                is_whole &= await self._look_as(logs, login, tenants)
            except Exception as error:  # The tenants of other accounts do not wait for it to be mended.
                if not isinstance(error, BrokerError):
                    report(PLACE, error, upstream=self._cluster.name)
                self._listed.pop(login, None)
                problem = str(error) or type(error).__name__
            finally:
                await logs.close()
            self._note_problem(tenants[0], problem)
        self._note_problem("read", self._problem)
        return is_whole

    def _tenants(self) -> list[str]:
        gateway = self._gateway
        return [
            one.name
            for one in gateway.config.tenants
            if one.virtual_partitions and gateway.cluster_of.get(one.name) == self._cluster.name
        ]

    async def _look_as(self, logs: LeaderLogs, login: Login | None, tenants: list[str]) -> bool:
        listed = self._listed.get(login)
        if listed is None or self._now_ms() - listed.at_ms >= LIST_MS:
            topics = await logs.topics()
            listed = self._listed[login] = _Listed(self._now_ms(), await self._list(topics, tenants))
            await self._find_deleted(login, tenants, {topic.name for topic in topics})
        by_leader: dict[int, list[Place]] = {}
        for place, one in listed.logs.items():
            by_leader.setdefault(one.leader, []).append(place)
        due, breaks = deque[tuple[Place, _Log, ForwardScan]](), Breaks()
        for leader, places in by_leader.items():
            bounds = await logs.bounds(leader, places)
            if len(bounds) < len(places):
                self._listed.pop(login, None)  # The leaders are others by now.
            for place, found in bounds.items():
                await breaks.take()
                one = listed.logs[place]
                scan = self._begin(place, one, found)
                if scan is not None:
                    due.append((place, one, scan))
        return await self._scan(logs, due)

    async def _list(self, topics: list[TopicAtBrokers], tenants: Iterable[str]) -> dict[Place, _Log]:
        """Return the physical partitions of the tenants' topics that have virtual ones."""
        found, breaks = dict[Place, _Log](), Breaks()
        for tenant in tenants:
            root = self._gateway.shared.virtual_clusters.of_tenant(tenant)
            if root is None or root.virtual_partitions is None:
                continue
            names, virtual = root.namespace.names, root.virtual_partitions.topics(root.namespace, None)
            for topic in topics:
                await breaks.take()
                name = names.virtual_topic(PhysicalTopic(topic.name))
                partitions = None if name is None else virtual.map_of(name.decode())
                if partitions is None or partitions.at(len(topic.leaders)) is None:
                    continue
                for number, leader in topic.leaders.items():
                    one = _Log(tenant, topic.topic_id, leader, partitions.is_keyed)
                    found.setdefault((topic.name, number), one)
        return found

    async def _find_deleted(self, login: Login | None, tenants: list[str], topics: set[bytes]) -> None:
        """Note which entries are about topics of these tenants that two lists in turn have not had."""
        roots = map(self._gateway.shared.virtual_clusters.of_tenant, tenants)
        owned = [root.namespace.names.topics for root in roots if root is not None]
        missed, breaks = set[Place](), Breaks()
        for place in self._table.places():
            await breaks.take()
            if place[0] not in topics and any(names.owns(PhysicalTopic(place[0])) for names in owned):
                if place in self._missed.get(login, ()):
                    self._table.forget(place)
                    self.deleted.append(place)
                else:
                    missed.add(place)
        self._missed[login] = missed

    def _begin(self, place: Place, one: _Log, bounds: Bounds) -> ForwardScan | None:
        """Return what is to be read of a log; None: nothing now."""
        topic_id, at = self._unfit.get(place, (b"", -1))
        if topic_id == one.topic_id and bounds.start <= at:
            return None
        self._unfit.pop(place, None)
        entry = self._table.of(place)
        if entry is not None and entry.topic_id != one.topic_id != NO_TOPIC_ID:
            self._table.distrust(place, entry)
            self._count(one, DISTRUSTED, 1)
            entry = None
        if entry is not None and entry.end > bounds.end:
            return ForwardScan(entry, entry.end, is_keyed=one.is_keyed)  # Was it cut off?
        if entry is not None and entry.end <= bounds.start:
            entry = None  # All that it is about is deleted.
        if bounds.end - (bounds.start if entry is None else entry.end) < STEP:
            return None
        if entry is None and self._table.is_full:
            self._problem = "the index has no room for more physical partitions"
            return None
        return ForwardScan(
            entry, bounds.end, start=bounds.start, topic_id=one.topic_id, is_keyed=one.is_keyed
        )

    async def _scan(self, logs: LeaderLogs, due: deque[tuple[Place, _Log, ForwardScan]]) -> bool:
        """Read some of what is due; return whether all was read."""
        loop = asyncio.get_running_loop()
        until_s = loop.time() + LOOK_S
        while due:
            place, one, scan = due.popleft()
            for _ in range(PARTS):
                if loop.time() >= until_s:
                    return False
                if not await self._read_on(logs, place, one, scan):
                    break
            else:
                due.append((place, one, scan))
        return True

    async def _read_on(self, logs: LeaderLogs, place: Place, one: _Log, scan: ForwardScan) -> bool:
        """Read one part of a log; return whether there is more to read."""
        loop, offset, before = asyncio.get_running_loop(), scan.offset, scan.entry
        if offset is None:
            return False
        began_s = loop.time()
        code, records = await logs.read(one.leader, place, offset, 1 if scan.is_to_check else PART_BYTES)
        self._count(one, SCANNED, len(records))
        if code:
            self._take_error(place, one, scan, code)
            return False
        try:
            is_further = await _in_turns(partial(scan.take, records))
        except UnfitBatch:
            if len(self._unfit) < MAX_UNFIT:
                self._unfit[place] = one.topic_id, offset
            return False
        if scan.is_distrusted and before is not None:
            self._distrust(place, one, scan)
        if scan.entry is not None and scan.entry is not before:
            self._table.extend(place, scan.entry, self._now_ms())
        await asyncio.sleep(max(0.0, len(records) / self._rate - (loop.time() - began_s)))
        return is_further

    def _take_error(self, place: Place, one: _Log, scan: ForwardScan, code: int) -> None:
        if code == ErrorCode.OFFSET_OUT_OF_RANGE:
            self._distrust(place, one, scan)
        else:
            self._problem = f"{place[0].decode()}: {ErrorCode(code).name}"

    def _distrust(self, place: Place, one: _Log, scan: ForwardScan) -> None:
        if scan.entry is not None:
            self._table.distrust(place, scan.entry)
            self._count(one, DISTRUSTED, 1)

    def _count(self, one: _Log, number: str, amount: int) -> None:
        self._gateway.shared.virtual_clusters.partition_counts[one.tenant, number] += amount

    def _note_problem(self, place: str, problem: str) -> None:
        """Log a failure when it is a new one."""
        if problem and problem != self._problems.get(place):
            log.warning("partition_index_scan_failed", step=place, error=problem, upstream=self._cluster.name)
        if problem:
            self._problems[place] = problem
        else:
            self._problems.pop(place, None)


async def _in_turns(call: Callable[[], bool]) -> bool:
    """Return what a long call returns; it pauses for what clients ask."""
    work, step_ns = Work(call), int(STEP_S * 1e9)
    try:
        while True:
            found = work.go_on(turn_until_ns(step_ns, LEAST_NS))
            if found is not None:
                return found
            await asyncio.sleep(0)
    finally:
        work.cancel()  # The gateway may stop meanwhile.
