"""The supervisor's part in the journal: epochs of workers, and what happens to the gateway as a whole.

The supervisor writes no records: it gives such an event to one worker, the first that serves, and keeps it until that
one has taken it over. One that dies in between may leave an event behind that is told again by the next.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import structlog

from bifrost.config.fields.journal import Journal
from bifrost.gateway.peers.journal_source import source_of_worker, wall_ms
from bifrost.gateway.workers.agreement import Asked
from bifrost.gateway.workers.channel import ChannelClosed, Message, Refused

log = structlog.get_logger()

TELL_S = 0.25
"""Time between two looks at what is to be told."""

ANSWER_S = 5.0
"""Time for a worker to take events over; then another one is asked."""

MAX_WAITING = 1000
"""Events that wait for a worker, while none serves."""


class Scribe(Protocol):
    """A worker: a `Child`."""

    @property
    def number(self) -> int:
        """Which one."""

    @property
    def is_ready(self) -> bool:
        """Whether it serves."""

    @property
    def channel(self) -> Asked | None:
        """The way to it; None while there is none yet."""


class WholeJournal:
    """Of one gateway."""

    def __init__(
        self,
        settings: Journal | None,
        workers: Callable[[], Mapping[int, Scribe]],
        refused: Callable[[], int],
    ) -> None:
        """Tell nothing yet.

        Args:
            settings: the configuration's section; None: no journal is kept.
            workers: returns those that there are.
            refused: returns how many connections the supervisor itself has closed, because there were too many.
        """
        self._settings, self._workers, self._refused = settings, workers, refused
        self._epochs: dict[int, int] = {}
        self._last_epoch = 0
        self._told_refused = 0
        self._waiting: list[dict[str, Any]] = []

    def begin_epoch(self, number: int) -> int:
        """Return the epoch of a worker that is started in this place: larger than all before it, whatever clocks do."""
        self._last_epoch = self._epochs[number] = max(self._last_epoch + 1, wall_ms())
        return self._last_epoch

    def note(self, type_: str, outcome: str, **fields: Any) -> None:
        """Have an event written down; the arguments are those of `Journal.event`."""
        if self._settings is None:
            return
        if len(self._waiting) >= MAX_WAITING:
            log.warning("journal_event_lost", type=type_, outcome=outcome, detail=fields.get("detail"))
            return
        self._waiting.append({"type": type_, "outcome": outcome, **fields})

    def note_death(self, number: int, why: str, connections: int) -> None:
        """Have it written down that a worker died: what it had not written of its last interval is lost."""
        if self._settings is not None:
            source = source_of_worker(self._settings, number, self._epochs[number])
            before = {
                "gateway_id": source.gateway_id,
                "epoch": str(source.epoch),
                "connections": str(connections),
            }
            self.note("worker", "died", detail=f"by {why}", before=before, before_ms=wall_ms())

    async def run(self) -> None:
        """Tell what is to be told, for ever; without a journal that is nothing."""
        while self._settings is not None:
            await asyncio.sleep(TELL_S)
            self._note_refused()
            if self._waiting:
                await self._tell()

    def tell_last(self) -> None:
        """Give what waits to a worker that is about to be told to stop; its answer is not waited for."""
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

    def _ready(self) -> list[Scribe]:
        able = [one for one in self._workers().values() if one.is_ready and one.channel is not None]
        return sorted(able, key=lambda one: one.number)

    def _note_refused(self) -> None:
        new = self._refused() - self._told_refused
        if new and len(self._waiting) < MAX_WAITING:
            self._told_refused += new
            detail = "the supervisor closed connections: as many are open as may be, or no worker took them"
            self.note("limit", "hit", rule="max_connections", count=new, detail=detail)


def _message(events: Any) -> Message:
    return {"do": "write", "events": list(events)}
