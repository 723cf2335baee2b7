"""Runs the batches of one transform, one after the other: starts its process, bounds it, and starts it anew.

no process ──batch──▶ starting ──ready──▶ idle ◀──answer── running
     ▲                    │                 │ file changed: another is started, and takes over when it is ready
     └────── not ready ───┴── crash, time is over: killed, and not started again before the backoff is over
"""

from __future__ import annotations

import asyncio
import os
import weakref
from typing import TYPE_CHECKING

import structlog

from bifrost.confined.frames import BrokenFrame
from bifrost.gateway.sources.child_process import ChildGone, ChildProcess, LoadFailed, Received
from bifrost.records.codec.columns import Columns
from bifrost.transforms.record_transform import Direction, Failure
from bifrost.transforms.user.column_parts import columns_from, parts_from

if TYPE_CHECKING:
    from collections.abc import Callable

    from bifrost.transforms.user.python_transform import RunSpec, UserRun

log = structlog.get_logger()

MAX_WAITING = 256
"""Batches that wait for one transform; more are answered with an error after which clients try again."""

MAX_ANSWER_BYTES = 64 << 20
"""Largest batch that a transform returns: twice the largest that filters read by default."""

MAX_HELD_BYTES = 128 << 20
"""Answers of one transform whose messages have not gone on yet, in bytes."""

PROGRAM = "bifrost.user_transforms.child"

LOOK_NS = 1_000_000_000
"""The file is looked at no more often."""

FIRST_BACKOFF_NS, MAX_BACKOFF_NS = 100_000_000, 30_000_000_000
"""How long a transform rests after a failure; twice as long after each that follows without a batch in between."""

Signature = tuple[int, int, int] | None


class TransformRunner:
    """One transform of one tenant."""

    def __init__(
        self, spec: RunSpec, now_ns: Callable[[], int], count: Callable[[str, str, int, str], None]
    ) -> None:
        """Start nothing yet.

        Args:
            spec: what runs, and its bounds.
            now_ns: a monotonic clock, in nanoseconds.
            count: counts a number of the filter by its name and tenant, see `SourceContext`.
        """
        self.spec = spec
        self._now_ns, self._count = now_ns, count
        self._child: ChildProcess | None = None
        self._signature: Signature = None
        self._looked_ns = 0
        self._failures, self._not_before_ns = 0, 0
        self._held = 0
        self._turn = asyncio.Lock()
        self._tasks: set[asyncio.Task[Columns | Failure]] = set()

    async def run(self, key: UserRun) -> Columns | Failure:
        """Return a batch as the transform leaves it."""
        if len(self._tasks) >= MAX_WAITING or self._held > MAX_HELD_BYTES:
            return self._failure("unavailable", "too many batches wait for it", is_retriable=True)
        task = asyncio.get_running_loop().create_task(self._in_turn(key))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return await asyncio.shield(task)

    def close(self) -> None:
        """End the process, and whatever waits for it."""
        for task in self._tasks:
            task.cancel()
        self._drop()

    async def _in_turn(self, key: UserRun) -> Columns | Failure:
        async with self._turn:
            try:
                await self._prepare()
            except (LoadFailed, ChildGone, OSError) as error:
                self._rest()
                log.error("transform_not_started", **self._labels, reason=str(error))
                return self._failure("unavailable", "it could not be started", is_retriable=True)
            if self._child is None:
                return self._failure("unavailable", "it rests after a failure", is_retriable=True)
            began_ns = self._now_ns()
            self._add("runs")
            try:
                return await self._exchange(self._child, key)
            finally:
                self._add("run_ns", self._now_ns() - began_ns)

    async def _exchange(self, child: ChildProcess, key: UserRun) -> Columns | Failure:
        given = key.given
        columns, given.columns = given.columns, None
        if columns is None:
            return self._failure("unavailable", "the batch is not there any more", is_retriable=True)
        head = {
            "tenant": self.spec.tenant,
            "topic": key.topic,
            "direction": key.direction.value,
            "base_offset": given.base_offset if key.direction is Direction.FETCH else 0,
            "base_timestamp_ms": given.base_timestamp_ms,
        }
        try:
            async with asyncio.timeout(self.spec.timeout_ms / 1_000):
                frame = await child.ask(head, parts_from(columns), MAX_ANSWER_BYTES)
        except TimeoutError:
            return self._killed("timeout", f"it took longer than {self.spec.timeout_ms} ms")
        except ChildGone:
            return self._killed("crash", "its process ended")
        except asyncio.CancelledError:
            self._drop()
            raise
        self._failures = 0
        if "error" in frame.head:
            # Where in the file; content of records is not in it.
            log.warning("transform_failed", **self._labels, reason=str(frame.head["error"])[:500])
            if frame.head.get("ends"):
                self._drop()
            reason = "contract" if frame.head.get("reason") == "contract" else "exception"
            return self._failure(reason, "it failed", is_retriable=False)
        try:
            found = columns_from(frame)
        except (BrokenFrame, TypeError):
            return self._killed("crash", "its process sent no batch")
        self._hold(frame.buffers.obj)
        return found

    async def _prepare(self) -> None:
        """Have a process that runs the file as it is now; have none while a failure is not long ago.

        Raises:
            LoadFailed, ChildGone, OSError: there is none, and it cannot be started.
        """
        now_ns = self._now_ns()
        if self._child is not None and self._child.has_ended:
            # Between two batches: the next one has nothing to do with it.
            self._drop()
        if self._child is None:
            if now_ns >= self._not_before_ns:
                self._signature = _signature_of(self.spec.file)
                self._child = await self._started()
            return
        if now_ns - self._looked_ns < LOOK_NS:
            return
        self._looked_ns = now_ns
        signature = _signature_of(self.spec.file)
        if signature is None or signature == self._signature:
            return
        self._signature = signature
        try:
            child = await self._started()
        except (LoadFailed, ChildGone, OSError) as error:
            log.error("transform_not_reloaded", **self._labels, reason=str(error))
            self._add("failed_reload")
            return
        self._drop()
        self._child = child
        self._add("reloads")
        log.info("transform_reloaded", **self._labels)

    async def _started(self) -> ChildProcess:
        spec = self.spec
        first = {
            "file": spec.file,
            "entry_point": spec.entry_point,
            "max_memory_bytes": spec.max_memory_bytes,
        }
        child = ChildProcess(PROGRAM, first)
        self._add("starts")
        try:
            await child.begin()
        except BaseException:
            child.end()
            raise
        self._looked_ns = self._now_ns()
        return child

    def _killed(self, reason: str, text: str) -> Failure:
        self._drop()
        self._rest()
        log.warning("transform_killed", **self._labels, reason=text)
        return self._failure(reason, text, is_retriable=False)

    def _drop(self) -> None:
        if self._child is not None:
            self._child.end()
            self._child = None

    def _rest(self) -> None:
        """Do not start it again at once."""
        backoff_ns = min(FIRST_BACKOFF_NS << min(self._failures, 20), MAX_BACKOFF_NS)
        self._failures += 1
        self._not_before_ns = self._now_ns() + backoff_ns

    def _failure(self, reason: str, text: str, *, is_retriable: bool) -> Failure:
        self._add(f"failed_{reason}")
        return Failure(f"{self.spec.filter}: the transform failed: {text}", is_retriable)

    def _hold(self, data: object) -> None:
        """Count bytes of an answer as long as they are there."""
        assert isinstance(data, Received)
        size = len(data)
        self._held += size
        weakref.finalize(data, self._let_go, size)

    def _let_go(self, size: int) -> None:
        self._held -= size

    def _add(self, number: str, amount: int = 1) -> None:
        self._count(self.spec.filter, number, amount, self.spec.tenant)

    @property
    def _labels(self) -> dict[str, str]:
        return {"tenant": self.spec.tenant, "filter": self.spec.filter}


def _signature_of(file: str | None) -> Signature:
    """Return what changes when a file does; None: it is not there, or there is none."""
    if file is None:
        return None
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
