"""The index at one physical cluster, as one process has it: what it reads, what it writes, and which logs it reads.

topic ──read──▶ table ◀──extend── requests of clients, and scans of logs when it is this gateway's turn
      ◀──write──  every two seconds what is due
"""

import asyncio
import hashlib
import socket
from collections.abc import Callable
from functools import partial

import structlog

from bifrost.config.fields.virtual_partitions import PartitionIndex
from bifrost.gateway.brokers.cluster import Cluster
from bifrost.gateway.errors import BrokerError
from bifrost.gateway.loop.loop_guard import keep
from bifrost.gateway.loop.steps import Breaks
from bifrost.gateway.partition_index.context import IndexContext
from bifrost.gateway.partition_index.index_link import IndexLink
from bifrost.gateway.partition_index.index_topic import index_topic_settings
from bifrost.gateway.partition_index.log_scans import LogScans
from bifrost.records.batch_reader import LogRecord, UnreadableBatch
from bifrost.tenancy.virtual_partitions.index import scan_turn
from bifrost.tenancy.virtual_partitions.index.index_entry import (
    IndexEntry,
    Place,
    UnreadableEntry,
    key_of,
    read_key,
    read_value,
    to_value,
)
from bifrost.tenancy.virtual_partitions.index.index_table import IndexTable
from bifrost.tenancy.virtual_partitions.index.scan_turn import ScanTurn

log = structlog.get_logger()

WRITE_S = 2.0
"""Time between two looks at what is to be written: the bound of how often a process writes."""
MAX_WRITTEN, MAX_WRITTEN_BYTES = 200, 256 * 1024
"""Most entries of one batch, and bytes of their values; the others have their turn with the next one."""
SCAN_S = 5.0
"""Time between two looks at the logs."""
PAUSE_S = 0.1
"""Pause behind a batch that cannot be read."""
RETRY_S = 5.0
"""Pause after a failure."""
END_S = 1.0
"""How long a process that stops tries to write what the topic has not."""
REQUEST_TIMEOUT_MS = 10_000

WRITTEN, NOT_WRITTEN, READ, UNREADABLE = (
    "index_written",
    "index_not_written",
    "index_read",
    "index_unreadable",
)
"""What is counted; in `NUMBERS` of partition_rules.py."""
_NO_TENANT = ""
"""Whose the records are that cannot be read, and those that could not be written."""


class ClusterIndex:
    """The part of one process."""

    def __init__(
        self,
        gateway: IndexContext,
        cluster: Cluster,
        settings: PartitionIndex,
        table: IndexTable,
        now_ms: Callable[[], int],
    ) -> None:
        """Read and write nothing yet; see `begin`.

        Args:
            gateway: whose tenants have virtual partitions.
            cluster: where these are.
            settings: the configuration's section of the index.
            table: what is known, which requests of clients use.
            now_ms: the time, by a monotonic clock.
        """
        self._gateway, self.cluster, self._settings = gateway, cluster, settings
        self._table, self._now_ms = table, now_ms
        self._link = IndexLink(cluster, index_topic_settings(settings), REQUEST_TIMEOUT_MS)
        # The same for all workers of a gateway; the key itself is a secret.
        member = hashlib.blake2b(gateway.peers.key, digest_size=8, person=b"bifrost index").hexdigest()
        self._turn = ScanTurn(f"{socket.gethostname()[:100]}/{member}")
        rate = settings.max_scan_bytes_per_second
        self._scans = LogScans(gateway, cluster, table, rate, now_ms) if rate else None
        self._problems: dict[str, str] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self.was_read = asyncio.Event()
        """Set when the topic was read to its end for the first time, or cannot be read now."""

    def begin(self) -> None:
        """Begin."""
        loop, works = asyncio.get_running_loop(), [self._read, self._write]
        if self._scans is not None:
            works.append(partial(self._scan, self._scans))
        self._tasks = [loop.create_task(keep("partition_index", work)) for work in works]

    async def end(self) -> None:
        """Stop, and write what the topic has not."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        records: list[tuple[bytes, bytes | None]] = [
            (key_of(place), to_value(entry)) for place, entry in self._due(is_last=True)
        ]
        if self._has_turn():
            records.append((scan_turn.KEY, scan_turn.to_value("")))
        try:
            async with asyncio.timeout(END_S):
                if records:
                    await self._link.write(records)
        except (BrokerError, TimeoutError) as error:  # It is read again from the logs.
            log.warning("partition_index_not_written", upstream=self.cluster.name, error=str(error))
        await self._link.close()

    # -- reading

    async def _read(self) -> None:
        """Follow the topic, for ever."""
        while True:
            try:
                records = await self._link.read()
            except UnreadableBatch as error:
                self._refuse(str(error))
                await asyncio.sleep(PAUSE_S)
                continue
            except BrokerError as error:
                self._link.lose_reader()
                self._note_problem("read", str(error))
                self.was_read.set()
                await asyncio.sleep(RETRY_S)
                continue
            self._note_problem("read", "")
            breaks = Breaks()
            for record in records:
                await breaks.take()
                self._take(record)
            if self._link.is_at_end:
                self.was_read.set()

    def _take(self, record: LogRecord) -> None:
        """Take a record of the topic; one that is none of a gateway's is ignored."""
        try:
            if record.key == scan_turn.KEY:
                self._turn.hear(scan_turn.read_value(record.value), self._now_ms())
                return
            place = read_key(record.key)
            if place is None:
                raise UnreadableEntry("its key is none of this version")
            entry = None if record.value is None else read_value(record.value)
        except UnreadableEntry as error:
            self._refuse(f"offset {record.offset}: {error}")
        else:
            self._table.take(place, entry)
            self._count(_NO_TENANT, READ, 1)

    def _refuse(self, problem: str) -> None:
        self._count(_NO_TENANT, UNREADABLE, 1)
        self._note_problem("record", problem)

    # -- writing

    async def _write(self) -> None:
        """Write what is due, again and again."""
        while True:
            await asyncio.sleep(WRITE_S)
            due = self._due()
            records: list[tuple[bytes, bytes | None]] = [
                (key_of(place), to_value(entry)) for place, entry in due
            ]
            deleted = [] if self._scans is None else self._scans.deleted[:MAX_WRITTEN]
            records += [(key_of(place), None) for place in deleted]
            is_turn = self._is_turn_to_write()
            if is_turn:
                records.append((scan_turn.KEY, scan_turn.to_value(self._turn.member)))
            if not records:
                continue
            try:
                await self._link.write(records)
            except BrokerError as error:
                self._count(_NO_TENANT, NOT_WRITTEN, len(records))
                self._link.lose_writer()
                self._note_problem("write", str(error))
                await asyncio.sleep(RETRY_S)
                continue
            self._note_problem("write", "")
            self._wrote(due, deleted, is_turn=is_turn)

    def _wrote(self, due: list[tuple[Place, IndexEntry]], deleted: list[Place], *, is_turn: bool) -> None:
        if self._link.created:
            log.info("partition_index_topic_created", topic=self._settings.topic, upstream=self.cluster.name)
            self._link.created = False
        for place, entry in due:
            self._table.written(place, entry)
        if self._scans is not None:
            del self._scans.deleted[: len(deleted)]
        if is_turn:
            self._turn.written(self._now_ms())
        self._count(_NO_TENANT, WRITTEN, len(due) + len(deleted))

    def _due(self, *, is_last: bool = False) -> list[tuple[Place, IndexEntry]]:
        found, size = list[tuple[Place, IndexEntry]](), 0
        for place, entry in self._table.due(self._now_ms(), is_last=is_last):
            size += len(to_value(entry))
            if found and (len(found) >= MAX_WRITTEN or size > MAX_WRITTEN_BYTES):
                break
            found.append((place, entry))
        return found

    def _is_turn_to_write(self) -> bool:
        """Whether this process is to say that it reads logs."""
        return (
            self._scans is not None
            and self._link.is_at_end
            and self._gateway.peers.takes_part()
            and self._turn.is_to_write(self._now_ms())
        )

    # -- logs

    async def _scan(self, scans: LogScans) -> None:
        """Read logs when it is this gateway's turn, for ever."""
        while True:
            is_whole = True
            if self._has_turn():
                is_whole = await scans.look()
            await asyncio.sleep(SCAN_S if is_whole else 0)

    def _has_turn(self) -> bool:
        """Whether it is this gateway's turn, and of its processes this one's."""
        return self._turn.has_it(self._now_ms()) and self._gateway.peers.takes_part()

    # -- what they note

    def _count(self, tenant: str, number: str, amount: int) -> None:
        self._gateway.shared.virtual_clusters.partition_counts[tenant, number] += amount

    def _note_problem(self, step: str, problem: str) -> None:
        """Log a failure when it is a new one, and when it is over."""
        before, upstream = self._problems.get(step, ""), self.cluster.name
        if problem and problem != before:
            log.warning("partition_index_interrupted", upstream=upstream, step=step, error=problem)
        elif before and not problem:
            log.info("partition_index_goes_on", upstream=upstream, step=step)
        self._problems[step] = problem
