"""Work whose result may be a little old: it runs when a request needs it, but not again while the last run is recent.

wait ──▶ recent: go on at once
     └─▶ not recent: a run, the same for all that wait (SharedRun)
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import structlog

from bifrost.gateway.errors import BrokerError
from bifrost.gateway.loop.loop_guard import report
from bifrost.gateway.loop.shared_run import SharedRun

log = structlog.get_logger()

MAX_WAIT_S = 15.0
"""How long a request waits for a run, then it goes on with what is known: so long it also waits for a coordinator."""


class RecentRun:
    """Runs one coroutine function when it is needed, once in `recent_ms` at most."""

    def __init__(
        self,
        place: str,
        work: Callable[[], Awaitable[None]],
        recent_ms: int,
        now_ms: Callable[[], int],
        **fields: str,
    ) -> None:
        """Begin nothing yet.

        Args:
            place: what the work is, for the log and the report of an error of the gateway's own.
            work: what is run. A run that fails is as recent as one that does not: what was known stays.
            recent_ms: for how long the result of a run is used, from its beginning, in milliseconds.
            now_ms: a monotonic clock, in milliseconds.
            fields: fields for the log.
        """
        self._place, self._work, self._fields = place, work, fields
        self._recent_ms, self._now_ms = recent_ms, now_ms
        self._run = SharedRun(self._once)
        self._began_ms: int | None = None
        """When the last run began that has ended."""

    @property
    def is_recent(self) -> bool:
        """Whether there is nothing to wait for."""
        return self._is_recent(self._now_ms())

    def _is_recent(self, now_ms: int) -> bool:
        return self._began_ms is not None and now_ms - self._began_ms < self._recent_ms

    async def wait(self) -> None:
        """Wait until a run is recent, by the time of this call; one that has been under way for long is not.

        It raises nothing. After MAX_WAIT_S the caller goes on with what is known.
        """
        came_ms = self._now_ms()
        with suppress(TimeoutError):
            async with asyncio.timeout(MAX_WAIT_S):
                while not self._is_recent(came_ms):
                    await self._run.wait()

    async def _once(self) -> None:
        began_ms = self._now_ms()
        try:
            await self._work()
        except BrokerError as error:
            log.warning(f"{self._place}_failed", error=str(error), **self._fields)
        except Exception as error:
            report(self._place, error, **self._fields)
        finally:
            self._began_ms = began_ms
