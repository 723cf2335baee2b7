"""The supervisor's part in the journal: epochs of workers, and events of the gateway as a whole.

The supervisor writes no records: it gives such an event to one worker, the first that serves, and keeps it until that
worker has taken it over. If the worker dies in between, the next one may write the event a second time.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import structlog

from bifrost.config.fields.journal import Journal
from bifrost.gateway.peers.journal_source import source_of_worker, wall_ms
from bifrost.gateway.workers.agreement import Asked
from bifrost.gateway.workers.channel import ChannelClosed, Message, Refused
from bifrost.session.close_reason import CloseReason

log = structlog.get_logger()

TELL_S = 0.25
"""Time between two looks at the waiting events."""

ANSWER_S = 5.0
"""Time for a worker to take events over; then the supervisor asks another one."""

MAX_WAITING = 1000
"""Events that wait for a worker, while none serves."""


class JournalWorker(Protocol):
    """A worker: a `Child`."""

    @property
    def number(self) -> int:
        """The worker's number."""

    @property
    def is_ready(self) -> bool:
        """Whether the worker serves clients."""

    @property
    def channel(self) -> Asked | None:
        """The channel to the worker; None while there is none yet."""


class SupervisorJournal:
    """The journal events of one gateway's supervisor."""

    def __init__(
        self,
        settings: Journal | None,
        workers: Callable[[], Mapping[int, JournalWorker]],
        refused: Mapping[CloseReason, int],
    ) -> None:
        """Start without events.

        Args:
            settings: the configuration's section; None: no journal is kept.
            workers: returns the workers.
            refused: how many connections the supervisor itself has closed, by reason; they go on being counted there.
        """
        self._settings, self._workers, self._refused = settings, workers, refused
        self._epochs: dict[int, int] = {}
        self._last_epoch = 0
        self._told_refused = 0
        self._waiting: list[dict[str, Any]] = []

    def begin_epoch(self, number: int) -> int:
        """Return the epoch of a new worker of this number: larger than all before it, even if clocks are set back."""
        self._last_epoch = self._epochs[number] = max(self._last_epoch + 1, wall_ms())
        return self._last_epoch

    def note(self, type_: str, outcome: str, **fields: Any) -> None:
        """Have an event written to the journal; the arguments are those of `Journal.event`."""
        if self._settings is None:
            return
        if len(self._waiting) >= MAX_WAITING:
            log.warning("journal_event_lost", type=type_, outcome=outcome, detail=fields.get("detail"))
            return
        self._waiting.append({"type": type_, "outcome": outcome, **fields})

    def note_death(self, number: int, why: str, connections: int) -> None:
        """Have a worker's death written to the journal: what it had not written of its last interval is lost."""
        if self._settings is not None:
            source = source_of_worker(self._settings, number, self._epochs[number])
            before = {
                "gateway_id": source.gateway_id,
                "epoch": str(source.epoch),
                "connections": str(connections),
            }
            self.note("worker", "died", detail=f"by {why}", before=before, before_ms=wall_ms())

    async def run(self) -> None:
        """Give events to workers for ever; do nothing without a journal."""
        while self._settings is not None:
            await asyncio.sleep(TELL_S)
            self._note_refused()
            if self._waiting:
                await self._tell()

    def tell_last(self) -> None:
        """Give the waiting events to a worker that is about to be told to stop, without waiting for its answer."""
        self._note_refused()
        for worker in self._ready() if self._waiting else ():
            assert worker.channel is not None
            worker.channel.tell(_message(self._waiting))
            self._waiting = []
            return

    async def _tell(self) -> None:
        events = tuple(self._waiting)
        for worker in self._ready():
            assert worker.channel is not None
            try:
                async with asyncio.timeout(ANSWER_S):
                    await worker.channel.ask(_message(events))
            except (Refused, ChannelClosed, TimeoutError):
                continue
            del self._waiting[: len(events)]
            return

    def _ready(self) -> list[JournalWorker]:
        able = [one for one in self._workers().values() if one.is_ready and one.channel is not None]
        return sorted(able, key=lambda one: one.number)

    def _note_refused(self) -> None:
        new = self._refused.get(CloseReason.TOO_MANY_CONNECTIONS, 0) - self._told_refused
        if new and len(self._waiting) < MAX_WAITING:
            self._told_refused += new
            detail = "the supervisor closed connections: as many are open as may be"
            self.note("limit", "hit", rule="max_connections", count=new, detail=detail)


def _message(events: Any) -> Message:
    return {"do": "write", "events": list(events)}
