"""Writes changes of the state, each in one transaction: all of its records, or none.

    begin an epoch (fences other writers) ──▶ read to the end ──▶ decide ──▶ send ──▶ commit ──▶ read it
           ▲                                                        │          │        │
           │                                                     conflict    fenced  unknown
           └────────── again, after a pause, some times ◀──────────────────────┴────────┘

A writer whose epoch still stands has not been fenced, so no other has committed since it read; it needs no new one.
"""

import asyncio
import contextlib
import os
import random
import time
from collections import Counter
from collections.abc import Callable, Generator, Sequence

import structlog

from bifrost.gateway.errors import BrokerError
from bifrost.gateway.loop.steps import in_steps
from bifrost.gateway.producing.partition_fetch import LATEST, edge_offset
from bifrost.gateway.producing.transactional_producer import TransactionalProducer, TransactionFailed
from bifrost.gateway.producing.upstream_topic import UpstreamTopic
from bifrost.gateway.state.state_reader import StateReader
from bifrost.gateway.state.state_topic import DELETE_RETENTION_MS
from bifrost.records.record_batch import Record
from bifrost.state.state_change import Author, Change, Dependents, Unchanged, decide, purge
from bifrost.state.state_record import TooLarge
from bifrost.state.state_table import StateTable
from bifrost.wire.error_codes import ErrorCode

log = structlog.get_logger()

MAX_ATTEMPTS = 50
"""How often a change is tried: writers that race fence each other, and each round lets at least one through."""

FIRST_PAUSE_S, LAST_PAUSE_S = 0.1, 0.5
"""Bounds of the pause before another attempt, where changes are quick; half of it is random. The one that fenced this
writer needs some 30 ms: a writer that came back sooner would fence the other one again and again, and the one that
makes changes without a pause would always win."""

CHANGES_PER_PAUSE = 2, 4
"""The same bounds, in changes as long as the writer's last one, where brokers or machines are slow."""

LONGEST_CHANGE_S = 1.0
"""A change that took longer has waited for a broker: the pause need not be longer for it."""

PATIENCE_MS = 500
"""How long a transaction of another writer may be open before it is ended: a live one takes some 20 ms."""

_FENCED = frozenset({ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.PRODUCER_FENCED})

Building = Generator[None, None, Sequence[Record]]
Build = Callable[[StateTable], Sequence[Record] | Building]
"""Returns the records to write, by the state as it is, perhaps in steps between which the loop serves others; or raises
what is wrong, and nothing is written."""


class OutcomeUnknown(BrokerError):
    """The brokers do not say whether a change was committed; a reader of the state will see it."""


class StateWriter:
    """The writer of one process."""

    def __init__(
        self, topic: UpstreamTopic, reader: StateReader, attempts: "Counter[str] | None" = None
    ) -> None:
        """Write nothing yet.

        Args:
            topic: the topic, with connections that the writer has for itself.
            reader: reads the same topic all the time.
            attempts: counts attempts to write a change by how they ended: `done`, `refused` (a conflict, or no room),
                `fenced` by another writer, `failed`. None: the writer counts by itself.
        """
        self._topic, self._reader = topic, reader
        self.attempts = Counter() if attempts is None else attempts
        self.is_open = False
        """Whether the last change may be committed although it has failed, or was cancelled."""
        self._took_s = 0.0
        """How long the last attempt took that was successful."""
        self._producer = TransactionalProducer(topic, topic.settings.name)
        self._lock = asyncio.Lock()

    async def change(
        self,
        changes: Sequence[Change],
        author: Author,
        unchanged: Sequence[Unchanged] = (),
        dependents: Dependents | None = None,
    ) -> str:
        """Change keys together; when this returns, the change is committed and the reader's table has it.

        Args:
            changes: at least one, each of another key.
            author: who makes the change.
            unchanged: what must be as the caller has seen it.
            dependents: returns further changes, of other keys, that go with these.
        Returns:
            The ID of the change, which its records have.
        Raises:
            StateConflict: a key is not as expected. Nothing was written.
            TooLarge, ValueError: as of `decide`. Nothing was written.
            UnreadableState, UnreadableBatch: the state cannot be read. Nothing was written.
            OutcomeUnknown: see there.
            BrokerError: the brokers do not take it. Nothing was written.
        """
        change_id = os.urandom(12).hex()

        def build(table: StateTable) -> Building:
            now_ms = time.time_ns() // 1_000_000
            all_changes = [*changes, *(() if dependents is None else dependents(table))]
            purged = purge(table, author, now_ms, change_id, DELETE_RETENTION_MS, all_changes)
            made = yield from decide(table, all_changes, unchanged, author, now_ms, change_id)
            return [*made, *purged]

        async with self._lock:
            try:
                await self._write(build, change_id)
            except TooLarge:
                if not await self._purge(author):
                    raise
                await self._write(build, change_id)
        return change_id

    async def write(self, build: Build, change_id: str) -> None:
        """Write records that the caller makes, which have the ID `change_id`, in one transaction.

        Raises: as `change`, and what `build` raises.
        """
        async with self._lock:
            await self._write(build, change_id)

    async def find(self) -> None:
        """Find the topic.

        Raises:
            BrokerError: it does not exist, or no broker answers.
        """
        await self._topic.find()

    async def close(self) -> None:
        """Close the connections."""
        await self._topic.close()

    async def _purge(self, author: Author) -> bool:
        """Remove old deletions; return whether there were any."""
        purge_id = os.urandom(12).hex()
        found: list[Record] = []

        def build(table: StateTable) -> Sequence[Record]:
            now_ms = time.time_ns() // 1_000_000
            found[:] = purge(table, author, now_ms, purge_id, DELETE_RETENTION_MS)
            return found

        await self._write(build, purge_id)
        return bool(found)

    async def _write(self, build: Build, change_id: str) -> None:
        is_unknown, problem = False, BrokerError("")
        least, most = CHANGES_PER_PAUSE
        pause_s, last_pause_s = (
            max(FIRST_PAUSE_S, least * self._took_s),
            max(LAST_PAUSE_S, most * self._took_s),
        )
        self.is_open = False
        for _ in range(MAX_ATTEMPTS):
            began_s = time.monotonic()
            try:
                await self._prepare()
                if is_unknown and self._reader.has_seen(change_id):
                    self._end("done")
                    return
                is_unknown = self.is_open = False
                records = await self._built(build)
                if not records:
                    return
                await self._producer.send(records)
                self.is_open = True
                await self._producer.commit()
                await self._reader.until_seen(change_id, self._topic.timeout_ms)
                self._took_s = min(time.monotonic() - began_s, LONGEST_CHANGE_S)
                self._end("done")
                return
            except BrokerError as error:
                self._producer.forget()
                is_unknown, problem = self.is_open, error
                is_fenced = isinstance(error, TransactionFailed) and error.error in _FENCED
                self.attempts["fenced" if is_fenced else "failed"] += 1
                if isinstance(error, TransactionFailed) and error.is_final and not is_unknown:
                    await self._end_open()
                    raise
                log.debug("state_change_again", change=change_id, error=str(error))
            except asyncio.CancelledError:
                self._producer.forget()
                raise
            await asyncio.sleep(random.uniform(pause_s / 2, pause_s))
            pause_s = min(pause_s * 2, last_pause_s)
        kind = OutcomeUnknown if is_unknown else BrokerError
        raise kind(f"the state was not changed in {MAX_ATTEMPTS} attempts: {problem}")

    async def _built(self, build: Build) -> Sequence[Record]:
        try:
            made = build(self._reader.table)
            return await in_steps(made) if isinstance(made, Generator) else made
        except Exception:
            self.attempts["refused"] += 1
            raise

    def _end(self, how: str) -> None:
        self.is_open = False
        self.attempts[how] += 1

    async def _end_open(self) -> None:
        """End what a failed transaction left open, which hides later records from readers."""
        with contextlib.suppress(BrokerError):
            await self._producer.begin()

    async def _prepare(self) -> None:
        """Have an epoch and the state as it is: no other writer commits from here on without fencing this one."""
        if not self._topic.leaders:
            await self._topic.find()
        if not await self._producer.begin():
            try:
                await self._reach_end(PATIENCE_MS)
            except BrokerError:  # Another writer has left a transaction open: a new epoch ends it.
                self._producer.renew()
                await self._producer.begin()
            else:
                return
        await self._reach_end(self._topic.timeout_ms)

    async def _reach_end(self, timeout_ms: int) -> None:
        end = await edge_offset(self._topic, LATEST)
        await self._reader.reach(end, timeout_ms)
