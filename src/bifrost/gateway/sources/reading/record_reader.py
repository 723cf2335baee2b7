"""Lets a process read the large records of one filter, batch by batch: starts it, bounds it, and starts it anew.

no process ──batch──▶ starting ──ready──▶ reading ──▶ idle ──a while──▶ no process
     ▲                                       │
     └── a record took too much time or memory: it is not valid; or another signal: the message gets an error
"""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING, Any

import structlog

from bifrost.confined.frames import BrokenFrame
from bifrost.gateway.sources.child_process import ChildGone, ChildProcess, LoadFailed
from bifrost.schema_process.messages import (
    MAX_GROUP,
    MAX_SCHEMAS,
    PROGRAM,
    FirstMessage,
    first_message,
    records_message,
    schema_message,
)
from bifrost.transforms.large_values import ReadRecords
from bifrost.transforms.record_transform import Failure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from bifrost.gateway.sources.reading.process_room import ProcessRoom
    from bifrost.schema_process.messages import Message
    from bifrost.schemas.readers.reader import Reader
    from bifrost.transforms.large_values import LargeRecord, ReadSpec, RecordsToRead

log = structlog.get_logger()

MAX_WAITING = 256
"""Batches that wait for one filter; more are answered with an error after which clients try again."""

MAX_ANSWER_BYTES = 0
"""Behind the head of an answer is nothing."""

TIME_S, TIME_OF_MIB_S = 1.0, 0.5
"""How much time of a processor a record may take, and more for each MiB: JSON takes some 0.02 s for one."""

WAIT_FACTOR, WAIT_S = 10, 5.0
"""So many times as long on the clock, and as much more: other processes may need the processors as well."""

MEMORY_BYTES, MEMORY_FACTOR = 64 << 20, 64
"""Memory of a process beyond that of its libraries, and more for each byte of the largest payload: an object of JSON
that has two bytes takes 64, in Python and once more in the library of schemas."""

GROUP_BYTES = 1 << 20
"""Records of so many bytes are read at a time."""

IDLE_S = 60.0
"""A process without work ends then."""

FIRST_BACKOFF_NS, MAX_BACKOFF_NS = 100_000_000, 30_000_000_000
"""How long a process that cannot be started rests; twice as long after each time that follows."""

TOO_MUCH = "it takes longer or more memory to read than a record may"

_OF_THE_RECORD = frozenset(
    {signal.SIGPROF, signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE}
)
"""Signals by which what a process reads ends it; others, such as SIGKILL, come from outside."""


class _Ended(Exception):
    """The process ended on what it was given."""


class RecordReader:
    """Reads the large records of one filter of a tenant."""

    def __init__(
        self,
        spec: ReadSpec,
        now_ns: Callable[[], int],
        count: Callable[[str, str, int, str], None],
        room: ProcessRoom,
    ) -> None:
        """Start nothing yet.

        Args:
            spec: what reads, and its bounds.
            now_ns: a monotonic clock, in nanoseconds.
            count: counts a number of the filter by its name and tenant, see `SourceContext`.
            room: what all processes have room in.
        """
        self.spec = spec
        self._now_ns, self._count, self._room = now_ns, count, room
        self._child: ChildProcess | None = None
        self._numbers: dict[Reader, int] = {}
        self._failures, self._not_before_ns = 0, 0
        self._turn = asyncio.Lock()
        self._tasks: set[asyncio.Task[ReadRecords | Failure]] = set()
        self._idle: asyncio.TimerHandle | None = None

    async def read(self, key: RecordsToRead) -> ReadRecords | Failure:
        """Return why records of a batch are not valid."""
        if len(self._tasks) >= MAX_WAITING:
            return self._failure("unavailable", "too many batches wait to be read")
        task = asyncio.get_running_loop().create_task(self._in_turn(key))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            # A process that reads goes on to the end: the stream to it is in the middle of a message.
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            # The message waits no more, so what has not begun is not begun.
            key.given.large = None
            raise

    def close(self) -> None:
        """End the process, and whatever waits for it."""
        for task in self._tasks:
            task.cancel()
        self._drop()

    async def _in_turn(self, key: RecordsToRead) -> ReadRecords | Failure:
        async with self._turn, self._room.turn(self, self._drop):
            large, key.given.large = key.given.large, None
            if large is None:
                return self._failure("unavailable", "its message waits no more")
            if self._idle is not None:
                self._idle.cancel()
            began_ns = self._now_ns()
            try:
                found = await self._read(large)
            except asyncio.CancelledError:
                self._drop()
                raise
            finally:
                self._add("readings")
                self._add("reading_ns", self._now_ns() - began_ns)
            if self._child is not None:
                self._idle = asyncio.get_running_loop().call_later(IDLE_S, self._drop)
        if self._child is None:
            self._room.leave(self)
        return found if isinstance(found, Failure) else ReadRecords({**key.given.reasons, **found})

    async def _read(self, large: Sequence[LargeRecord]) -> dict[int, str] | Failure:
        if self._child is not None and self._child.has_ended:
            # Between two batches: the next one has nothing to do with it.
            self._drop()
        if self._child is None and self._now_ns() < self._not_before_ns:
            return self._failure("unavailable", "large records cannot be read now")
        found: dict[int, str] = {}
        try:
            for group in _groups(large):
                found |= await self._group(group)
                if TOO_MUCH in found.values():
                    break
        except TimeoutError:
            self._drop()
            log.warning("schema_process_slow", **self._labels)
            return self._failure("unavailable", "large records took too long to read")
        except (LoadFailed, ChildGone, OSError, BrokenFrame) as error:
            self._drop()
            self._rest()
            log.warning("schema_process_failed", **self._labels, reason=str(error))
            return self._failure("unavailable", "large records cannot be read now")
        self._failures = 0
        return found

    async def _group(self, group: Sequence[LargeRecord]) -> dict[int, str]:
        """Return why records are not valid; when one took too much, those behind it were not read.

        Raises:
            ChildGone, LoadFailed, OSError, BrokenFrame, TimeoutError: it cannot be said.
        """
        try:
            return await self._exchange(group)
        except _Ended:
            if len(group) == 1:
                return {group[0].index: TOO_MUCH}
        found: dict[int, str] = {}
        for one in group:
            found |= await self._group([one])
            if TOO_MUCH in found.values():
                # The client is told of this one, so a batch does not take the time of many.
                break
        return found

    async def _exchange(self, group: Sequence[LargeRecord]) -> dict[int, str]:
        times_s = [TIME_S + TIME_OF_MIB_S * _size(one) / (1 << 20) for one in group]
        if self._child is None:
            self._child = await self._started()
        async with asyncio.timeout(WAIT_S + WAIT_FACTOR * sum(times_s)):
            await self._give_schemas({part.reader for one in group for part in one.parts})
            message = records_message([one.parts for one in group], self._numbers.__getitem__, times_s)
            answer = await self._ask(message)
        reasons = answer["reasons"]
        if answer["ends"]:
            self._add("unread_memory")
            self._drop()
            raise _Ended
        if len(reasons) != len(group):
            raise BrokenFrame("an answer about other records")
        return {one.index: why for one, why in zip(group, reasons, strict=True) if why is not None}

    async def _give_schemas(self, readers: set[Reader]) -> None:
        """Let the process have the schemas that it has not."""
        missing = readers - self._numbers.keys()
        forgets = bool(missing) and len(self._numbers) + len(missing) > MAX_SCHEMAS
        if forgets:
            self._numbers.clear()
            missing = readers
        for reader in missing:
            number = len(self._numbers)
            await self._ask(schema_message(number, reader.schema, forgets=forgets))
            self._numbers[reader] = number
            forgets = False

    async def _ask(self, message: Message) -> dict[str, Any]:
        child = self._child
        assert child is not None
        try:
            return (await child.ask(*message, MAX_ANSWER_BYTES)).head
        except ChildGone:
            status = await child.exit_status()
            self._drop()
            if status is None or -status not in _OF_THE_RECORD:
                raise
            self._add("unread_time" if -status == signal.SIGPROF else "unread_crash")
            raise _Ended from None

    async def _started(self) -> ChildProcess:
        memory_bytes = MEMORY_BYTES + MEMORY_FACTOR * self.spec.max_payload_bytes
        child = ChildProcess(PROGRAM, *first_message(FirstMessage(memory_bytes, self.spec.checks)))
        self._add("reading_starts")
        try:
            await child.begin()
        except BaseException:
            child.end()
            raise
        return child

    def _drop(self) -> None:
        if self._child is not None:
            self._child.end()
            self._child = None
        self._numbers.clear()
        self._room.leave(self)

    def _rest(self) -> None:
        """Do not start it again at once."""
        backoff_ns = min(FIRST_BACKOFF_NS << min(self._failures, 20), MAX_BACKOFF_NS)
        self._failures += 1
        self._not_before_ns = self._now_ns() + backoff_ns

    def _failure(self, reason: str, text: str) -> Failure:
        self._add(f"unread_{reason}")
        return Failure(text, is_retriable=True)

    def _add(self, number: str, amount: int = 1) -> None:
        self._count(self.spec.filter, number, amount, self.spec.tenant)

    @property
    def _labels(self) -> dict[str, str]:
        return {"tenant": self.spec.tenant, "filter": self.spec.filter}


def _size(record: LargeRecord) -> int:
    return sum(len(part.payload.data) for part in record.parts)


def _groups(records: Sequence[LargeRecord]) -> Iterator[list[LargeRecord]]:
    """Yield records as many as are read at a time."""
    group: list[LargeRecord] = []
    size = 0
    for one in records:
        if group and (len(group) >= MAX_GROUP or size + _size(one) > GROUP_BYTES):
            yield group
            group, size = [], 0
        group.append(one)
        size += _size(one)
    if group:
        yield group
