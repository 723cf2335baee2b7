"""Makes the changes of the state that clients' requests ask for, one after the other.

    request ──StateChange──▶ queue of its tenant ──a turn for each tenant──▶ StateWriter ──▶ models ──outcome──▶ request

Only the request's own connection waits, so a connection has one change in the queue at most. One change is written at a
time: the writers of all processes fence each other, and more at once would only fence each other too.
"""

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import structlog

from bifrost.filters.steps import StateChange
from bifrost.gateway.errors import BrokerError
from bifrost.records.batch_reader import UnreadableBatch
from bifrost.state.state_change import Author, Change, StateConflict, Unchanged
from bifrost.state.state_outcome import DONE, OutcomeKind, StateOutcome
from bifrost.state.state_record import TooLarge, UnreadableState
from bifrost.state.state_table import StateTable

log = structlog.get_logger()

CHANGE_TIMEOUT_S = 20.0
"""How long a change may take, with its wait: less than the 30 s that Kafka's clients wait for an answer."""

MAX_KEYS = 1_000
"""Most keys of one change. They are decided, and read back, in steps, but become part of the table at once, as its
readers never see half of a change: less than a microsecond for each."""

KEYS_SHOWN = 10
"""Keys of a change that a line of the log has."""

CHANGES_LIMIT = "max_waiting_changes"
"""The setting of the limit of changes that wait, in the metrics."""

DELETED_LIMIT = "deleted_state_keys"
"""What the metrics call the limit of keys that a tenant has deleted."""

SHARE_OF_DELETED = 20
"""The part of `max_records` that one tenant's deleted keys may take, a twentieth, before it can create no more: they
stay for a day, and all tenants share the room."""


def has_room(table: StateTable, tenant: str, need: StateChange) -> bool:
    """Whether a tenant may make a change: one that creates keys only as long as it has not deleted too many.

    What is there it can change and delete at any time, and what it has deleted it can create again.
    """
    if table.deleted_of(tenant) < table.limits.records // SHARE_OF_DELETED:
        return True
    return all(one.body is None or table.entry(one.key) is not None for one in need.changes)


class Writer(Protocol):
    """Writes changes: a StateWriter."""

    is_open: bool

    async def change(
        self, changes: Sequence[Change], author: Author, unchanged: Sequence[Unchanged] = ()
    ) -> str:
        """Change keys together."""


@dataclass(slots=True, eq=False)
class _Waiting:
    """A change that waits or is being written."""

    need: StateChange
    until_s: float
    outcome: asyncio.Future[StateOutcome] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )
    has_begun: bool = False


class StateChanges:
    """The changes that the clients of one process wait for."""

    def __init__(
        self,
        writer: Callable[[], Writer],
        settle: Callable[[], Awaitable[None]],
        author: str,
        *,
        max_waiting: int,
        counts: "Counter[tuple[str, str]]",
        times_us: "Counter[str]",
        hits: "Counter[tuple[str, str]]",
        has_room: Callable[[str, StateChange], bool] = lambda _tenant, _need: True,
        timeout_s: float = CHANGE_TIMEOUT_S,
    ) -> None:
        """Have no change yet.

        Args:
            writer: returns the process's writer; it is called when the first change comes.
            settle: waits until all models have what the table has.
            author: the name of this process, for the records.
            max_waiting: most changes of one tenant that wait, with the one that is being written.
            counts: counts changes by tenant and outcome.
            times_us: adds up how long changes took, in microseconds, under `change`.
            hits: counts how often a limit was hit, by its name and the tenant.
            has_room: whether a tenant may make a change, by what it has deleted before.
            timeout_s: how long a change may take, with its wait.
        """
        self._writer, self._settle, self._author = writer, settle, author
        self._max_waiting, self._timeout_s = max_waiting, timeout_s
        self._counts, self._times_us, self._hits = counts, times_us, hits
        self._has_room = has_room
        self._queues: OrderedDict[str, deque[_Waiting]] = OrderedDict()
        self._task: asyncio.Task[None] | None = None
        self.waiting: Counter[str] = Counter()
        """How many changes of each tenant wait or are being written."""

    async def change(self, tenant: str, need: StateChange) -> StateChange:
        """Write a change that a request of a tenant asks for; return it with its outcome."""
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        outcome = await self._outcome(tenant, need, began_s + self._timeout_s)
        taken_s = loop.time() - began_s
        self._counts[tenant, outcome.kind] += 1
        self._times_us["change"] += int(taken_s * 1e6)
        _tell(tenant, need, outcome, round(taken_s * 1000))
        return replace(need, outcome=outcome)

    async def end(self) -> None:
        """Write no more; a change that is being written has an unknown outcome."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _outcome(self, tenant: str, need: StateChange, until_s: float) -> StateOutcome:
        if len(need.changes) > MAX_KEYS:
            return StateOutcome(OutcomeKind.TOO_LARGE, f"a change has at most {MAX_KEYS} keys")
        if not self._has_room(tenant, need):
            self._hits[DELETED_LIMIT, tenant] += 1
            return StateOutcome(OutcomeKind.TOO_LARGE, "the tenant has deleted too many keys within a day")
        if self.waiting[tenant] >= self._max_waiting:
            self._hits[CHANGES_LIMIT, tenant] += 1
            return StateOutcome(OutcomeKind.BUSY, f"{self._max_waiting} changes of the tenant wait")
        one = _Waiting(need, until_s)
        self._queues.setdefault(tenant, deque()).append(one)
        self.waiting[tenant] += 1
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._work())
        try:
            await asyncio.wait([one.outcome], timeout=self._timeout_s)
            if not one.outcome.done() and not one.has_begun:
                return StateOutcome(
                    OutcomeKind.UNAVAILABLE, f"other changes took all of {self._timeout_s:.0f} s"
                )
            return await one.outcome  # What has begun ends at the same time.
        finally:
            self._leave(tenant, one)

    def _leave(self, tenant: str, one: _Waiting) -> None:
        self.waiting[tenant] -= 1
        if not self.waiting[tenant]:
            del self.waiting[tenant]
        queue = self._queues.get(tenant)
        if queue is not None and one in queue:
            queue.remove(one)
            if not queue:
                del self._queues[tenant]

    async def _work(self) -> None:
        """Write what waits, a change of each tenant in turn."""
        try:
            while self._queues:
                tenant, queue = self._queues.popitem(last=False)
                one = queue.popleft()
                if queue:
                    self._queues[tenant] = queue
                await self._write(one)
        finally:
            self._task = None

    async def _write(self, one: _Waiting) -> None:
        one.has_begun = True
        try:
            outcome = await self._written(one)
        except BaseException as error:
            if not one.outcome.done():
                if isinstance(error, Exception):
                    one.outcome.set_exception(error)
                else:
                    one.outcome.set_result(StateOutcome(OutcomeKind.UNKNOWN, "the gateway stops"))
            if not isinstance(error, Exception):
                raise
        else:
            if not one.outcome.done():
                one.outcome.set_result(outcome)

    async def _written(self, one: _Waiting) -> StateOutcome:
        writer, need = self._writer(), one.need
        author = Author(self._author, need.on_behalf_of)
        try:
            async with asyncio.timeout_at(one.until_s):
                await writer.change(need.changes, author, need.unchanged)
        except StateConflict as conflict:
            return StateOutcome(OutcomeKind.CONFLICT, str(conflict))
        except TooLarge as error:
            return StateOutcome(OutcomeKind.TOO_LARGE, str(error))
        except (TimeoutError, BrokerError, UnreadableState, UnreadableBatch) as error:
            kind = OutcomeKind.UNKNOWN if writer.is_open else OutcomeKind.UNAVAILABLE
            return StateOutcome(kind, str(error) or f"not written within {self._timeout_s:.0f} s")
        try:
            async with asyncio.timeout_at(one.until_s):
                await self._settle()
        except TimeoutError:  # It is committed all the same.
            log.warning(
                "state_change_not_applied", changed=[str(change.key) for change in need.changes[:KEYS_SHOWN]]
            )
        return DONE


def _tell(tenant: str, need: StateChange, outcome: StateOutcome, took_ms: int) -> None:
    """Log what became of a change."""
    told = {
        "tenant": tenant,
        "principal": need.on_behalf_of,
        "changed": [str(one.key) for one in need.changes[:KEYS_SHOWN]],
        "changes": len(need.changes),
        "took_ms": took_ms,
    }
    if outcome.is_done:
        log.info("state_changed", **told)
    else:
        log.warning("state_not_changed", **told, outcome=str(outcome.kind), error=outcome.detail)
