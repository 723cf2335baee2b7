"""Reads the state's topic from its start to its end, and then whatever comes, for as long as the gateway runs.

    find the topic ──▶ read all into the table ──at the end──▶ it is the state ──▶ follow: Fetch waits for more
          ▲                                                                         │
          └── a broker fails: go on from there ◀────────────────────────────────────┤
          └── the topic is another one, or was not read for half a day: read anew ◀─┘

What follows is read in steps, and each transaction becomes part of the table as a whole (staged_transaction.py).

No client asks the table at first, so it and the models grow while the topic is read, and each record is decoded once.
What is read anew later goes into a new table, which replaces the old one at the end; the models take the differences.

What cannot be read ends the reading: the gateway is not ready, and the topic is read anew now and then.
"""

import asyncio
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Awaitable, Callable, Iterable, Iterator
from itertools import chain
from typing import Any

import structlog

from bifrost.gateway.errors import BrokerError
from bifrost.gateway.loop.garbage import no_collections
from bifrost.gateway.loop.loop_guard import report
from bifrost.gateway.loop.steps import Breaks
from bifrost.gateway.producing.partition_fetch import EARLIEST, edge_offset, fetch
from bifrost.gateway.producing.upstream_topic import NO_TOPIC_ID, TopicMissing, UpstreamTopic
from bifrost.gateway.state.state_topic import DELETE_RETENTION_MS, check_topic
from bifrost.records.batch_reader import LogRecord, UnreadableBatch
from bifrost.records.committed_log import CommittedLog
from bifrost.state.staged_transaction import StagedTransaction
from bifrost.state.state_key import StateKey
from bifrost.state.state_record import UnreadableState
from bifrost.state.state_table import KEPT_DECODED, Ignored, StateTable
from bifrost.wire.error_codes import ErrorCode

log = structlog.get_logger()

MAX_WAIT_MS = 500
"""How long a broker waits for records before it answers that there are none."""

IN_THREAD_BYTES = 4 * 1024
"""A larger answer is read in a thread, so that clients do not wait for it: it is compressed, and has some hundred
records."""

SMALL_TRANSACTION = 50
"""Records that become part of the table in the turn of the event loop in which they were read."""

FIRST_RETRY_S, LAST_RETRY_S = 0.1, 2.0
UNREADABLE_RETRY_S = 10.0
"""When a topic that cannot be read is tried again: an operator may have restored it."""

AWAY_MS = DELETE_RETENTION_MS // 2
"""After so long without reaching the end the topic is read anew: compaction may have removed the ends of records."""

PART = KEPT_DECODED
"""Records of the first reading that the models take before it goes on, as they were decoded once."""

KNOWN_CHANGES = 10_000
"""IDs of changes that are remembered: a writer whose commit has an unknown outcome looks for its own among them."""


class StateReader:
    """The reader of one process."""

    def __init__(
        self,
        topic: UpstreamTopic,
        table: StateTable,
        *,
        creates: bool = True,
        ignored: "Counter[str] | None" = None,
        settle: Callable[[], Awaitable[None]] | None = None,
        now_ms: Callable[[], int] = lambda: time.monotonic_ns() // 1_000_000,
    ) -> None:
        """Read nothing yet.

        Args:
            topic: the topic, with connections that the reader has for itself.
            table: what it keeps up to date; it is not the state before `is_current`.
            creates: whether a topic that is missing at the start is created.
            ignored: counts records that are ignored; None: the reader counts by itself.
            settle: waits until all models have what the table has; the first reading does so after each part.
            now_ms: a monotonic clock, in milliseconds.
        """
        self._topic, self.table, self._creates, self._now_ms = topic, table, creates, now_ms
        self._settle = settle
        self.ignored = Counter() if ignored is None else ignored
        self.ignored["records"] = 0
        self.lost: deque[Ignored] = deque(maxlen=100)
        """The last records that were ignored."""
        self.is_current = False
        """Whether the table is the state: it was read to the end, and can be read on."""
        self.problem = ""
        """Why it is not read at the moment; empty: it is."""
        self.high_watermark = 0
        self._topic_id = NO_TOPIC_ID
        self._has_checked = False
        self._goal: int | None
        self._fresh: StateTable | None = None
        self._at_end_ms = now_ms()
        self._moved = asyncio.Event()
        self._unreadable: UnreadableState | UnreadableBatch | None = None
        self._changes = OrderedDict[str, None]()
        self._begin_anew()

    @property
    def lag(self) -> int:
        """Offsets between what was read and the end of the log, when a broker last answered."""
        return max(0, self.high_watermark - self._log.next_offset)

    @property
    def position(self) -> int:
        """The offset up to which the table has the topic; -1: it is read anew."""
        return self._position

    def has_seen(self, change: str) -> bool:
        """Whether a change is committed, of those that were read last."""
        return change in self._changes

    # -- for those who wait

    async def until_current(self) -> None:
        """Wait until the topic was read up to the end that it had when reading began.

        Raises:
            UnreadableState, UnreadableBatch: it cannot be read.
        """
        while not self.is_current:
            await self._next_move()

    async def reach(self, offset: int, timeout_ms: int) -> None:
        """Wait until the table has the topic up to an offset.

        Raises:
            UnreadableState, UnreadableBatch: it cannot be read.
            BrokerError: not within the time limit.
        """
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                while not self.is_current or self._position < offset:
                    await self._next_move()
        except TimeoutError:
            why = self.problem or "a transaction is open"
            raise BrokerError(f"the state was not read to its end within {timeout_ms} ms: {why}") from None

    async def until_seen(self, change: str, timeout_ms: int) -> None:
        """Wait until a committed change was read, for as long as the time limit; it is committed in any case."""
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                while change not in self._changes:
                    await self._next_move()
        except (TimeoutError, UnreadableState, UnreadableBatch) as error:
            log.warning("state_change_not_read", change=change, error=str(error))

    async def _next_move(self) -> None:
        if self._unreadable is not None:
            raise self._unreadable
        await self._moved.wait()

    def _note_move(self) -> None:
        """Wake all who wait."""
        moved, self._moved = self._moved, asyncio.Event()
        moved.set()

    # -- reading

    async def run(self) -> None:
        """Read for ever."""
        retry_s = FIRST_RETRY_S
        while True:
            try:
                await self._find()
                while True:
                    await self._fetch()
                    self._recover()
                    retry_s = FIRST_RETRY_S
            except (UnreadableState, UnreadableBatch) as error:
                self._give_up(error)
                await asyncio.sleep(UNREADABLE_RETRY_S)
            except BrokerError as error:
                self._topic.leaders = {}
                if str(error) != self.problem:
                    log.warning("state_not_read", topic=self._topic.settings.name, error=str(error))
                self.problem = str(error)
                await asyncio.sleep(retry_s)
                retry_s = min(retry_s * 2, LAST_RETRY_S)
            except Exception:
                # Some of what was read may not be in the table, and would not be read again.
                self._begin_anew()
                raise

    async def close(self) -> None:
        """Close the connections."""
        await self._topic.close()

    def _begin_anew(self) -> None:
        """Read from the start; into a new table if there is an old one, which is asked meanwhile."""
        if self._fresh is self.table:  # A part of the state is no state.
            self._tell(self.table.become(StateTable(self.table.limits)))
        is_first = not len(self.table) and not self.is_current
        self._fresh = self.table if is_first else StateTable(self.table.limits)
        self._log, self._goal, self._position = CommittedLog(), None, -1

    def _give_up(self, error: UnreadableState | UnreadableBatch) -> None:
        if str(error) != self.problem:
            log.error("state_unreadable", topic=self._topic.settings.name, error=str(error))
        self.is_current, self.problem, self._unreadable = False, str(error), error
        self._topic.leaders = {}
        self._begin_anew()
        self._note_move()

    def _recover(self) -> None:
        """Note that all was read that there is, after a problem or without one."""
        if self._fresh is not None:
            return
        if self.problem:
            log.info("state_read_again", topic=self._topic.settings.name)
        self.problem, self._unreadable = "", None

    async def _find(self) -> None:
        """Find the leader, and begin anew if the topic is another one."""
        topic = self._topic
        if not topic.cluster.node_ids:
            await topic.cluster.refresh()
        try:
            await topic.find()
        except TopicMissing as missing:
            if not self._creates or self.is_current:
                raise
            if await topic.create(missing.controller_id):
                log.info("state_topic_created", topic=topic.settings.name)
            await topic.find()
        if 0 not in topic.leaders:
            await topic.cluster.refresh()
            raise BrokerError(f"topic {topic.settings.name}: partition 0 has no leader")
        if not self._has_checked or self._topic_id != topic.topic_id:
            await check_topic(topic)
            if self._topic_id != topic.topic_id:
                self._begin_anew()
            self._topic_id, self._has_checked = topic.topic_id, True

    async def _fetch(self) -> None:
        """Read on: one answer of the leader, which waits for records if there are none."""
        if self._now_ms() - self._at_end_ms > AWAY_MS:
            self._at_end_ms = self._now_ms()
            self._begin_anew()
        if self._goal is None:  # An operator may have deleted records (DeleteRecords).
            self._log.next_offset = await edge_offset(self._topic, EARLIEST)
        part = await self._ask()
        if part is None:
            return
        error = ErrorCode(part.error_code)
        if error == ErrorCode.OFFSET_OUT_OF_RANGE:
            self._begin_anew()
            return
        if error != ErrorCode.NONE:
            raise BrokerError(f"Fetch: {error.name}")
        data = part.records or b""
        aborted = [(one.producer_id, one.first_offset) for one in part.aborted_transactions or ()]
        self.high_watermark = part.high_watermark
        if self._goal is None:
            self._goal = part.high_watermark
        if len(data) > IN_THREAD_BYTES:
            # Collections would go through the records again and again: a third of a start with a large state.
            with no_collections():
                read = await asyncio.to_thread(self._log.read, data, aborted, part.last_stable_offset)
        else:
            read = self._log.read(data, aborted, part.last_stable_offset)
        if not data:  # Compaction has removed all up to there: an answer has a batch if there is one.
            self._log.next_offset = max(self._log.next_offset, part.last_stable_offset)
        await self._take(read)

    async def _take(self, read: list[list[LogRecord]]) -> None:
        """Fold what was read; at the end of a reading from the start the table is the state."""
        fresh = self._fresh
        if fresh is None:
            await self._fold_in_steps(read)
        else:
            if fresh is self.table:
                with no_collections():
                    for part in _parts(read):
                        self._tell(await asyncio.to_thread(self._fold, fresh, [part]))
                        if self._settle is not None:
                            await self._settle()
            else:
                await asyncio.to_thread(self._fold, fresh, read)
            assert self._goal is not None
            if self._log.next_offset >= self._goal:
                self._fresh, self.is_current = None, True
                if fresh is not self.table:
                    self._tell(self.table.become(fresh))
        if self._fresh is None:
            self._position = self._log.next_offset
        if self._log.next_offset >= self.high_watermark:
            self._at_end_ms = self._now_ms()
        self._note_move()

    def _tell(self, changed: set[StateKey]) -> None:
        """Tell the watchers what has changed."""
        for call in self.table.calls(changed):
            try:
                call()
            except Exception as error:
                report("state_watcher", error)

    async def _fold_in_steps(self, read: list[list[LogRecord]]) -> None:
        """Fold what has changed, while clients are served: they see each transaction as a whole."""
        breaks = Breaks()
        for transaction in read:
            staged = StagedTransaction(self.table)
            await breaks.between(staged.read(transaction))
            if len(transaction) > SMALL_TRANSACTION:
                await breaks.take_now()
            self.table.take(staged)
            self._note(staged.ignored, staged.changes)
            self._tell(staged.changed)
            await breaks.between(staged.let_go())

    def _fold(self, table: StateTable, read: list[list[LogRecord]]) -> set[StateKey]:
        """Fold what no client sees yet."""
        found = set[StateKey]()
        for transaction in read:
            changed, ignored = table.apply(transaction)
            found |= changed
            self._note(ignored, table.last_changes)
        return found

    def _note(self, ignored: Iterable[Ignored], changes: Iterable[str]) -> None:
        """Note the changes that were folded, and report records that were ignored."""
        for one in ignored:
            self.ignored["records"] += 1
            self.lost.append(one)
            log.warning(
                "state_record_ignored",
                key=str(one.record.key),
                offset=one.offset,
                version=one.record.version,
                found=one.found,
                writer=one.record.writer,
            )
        self._changes.update(dict.fromkeys(changes))
        while len(self._changes) > KNOWN_CHANGES:
            self._changes.popitem(last=False)

    async def _ask(self) -> Any:
        """Return the leader's answer about the partition; None if it has throttled the gateway."""
        part, throttle_ms = await fetch(
            self._topic, self._log.next_offset, 0 if self._goal is None else MAX_WAIT_MS
        )
        if part is None:
            await asyncio.sleep(max(throttle_ms, 100) / 1000)
        return part


def _parts(read: Iterable[list[LogRecord]]) -> Iterator[list[LogRecord]]:
    """Yield the records of transactions, some at a time.

    While all is read for the first time nobody asks the table, so it does not matter that a part ends within a
    transaction; and one of a thousand records costs less than a hundred of ten.
    """
    records = list(chain.from_iterable(read))
    for at in range(0, len(records), PART):
        yield records[at : at + PART]
