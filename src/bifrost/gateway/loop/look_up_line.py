"""The line in which tenants wait for look-ups at a physical cluster: a task gives them turns, one after the other.

enter ──▶ LookUpTurns ──▶ have_turn(tenant), which may enter it again
             │ no tenant waits: the task ends; a turn fails: so do all look-ups that wait
             └─ budgets are spent: wait until one has filled up, or another tenant comes
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from bifrost.forwarding.look_up_turns import LookUpTurns
from bifrost.gateway.errors import BrokerError
from bifrost.gateway.loop.loop_guard import report


class LookUpLine:
    """The tenants that wait."""

    def __init__(
        self,
        place: str,
        have_turn: Callable[[str], Awaitable[None]],
        fail: Callable[[BrokerError], None],
        now_ms: Callable[[], int],
        workers: int = 1,
    ) -> None:
        """Begin with none.

        Args:
            place: what looks up, for the report of an error of the gateway's own.
            have_turn: sends one request for a tenant; what it raises fails all that wait: each would wait for a broker
                just as long.
            fail: fails the look-ups of all that wait.
            now_ms: a monotonic clock, in milliseconds.
            workers: processes that look up at this cluster, and share its budgets.
        """
        self._place, self._have_turn, self._fail, self._now_ms = place, have_turn, fail, now_ms
        self._turns = LookUpTurns(workers)
        self._arrived = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def enter(self, tenant: str) -> bool:
        """Let a tenant wait for a turn, behind the others; return whether its budget lets it have one now."""
        has_turn = self._turns.enter(tenant, self._now_ms())
        self._arrived.set()
        if self._task is None:
            self._task = asyncio.create_task(self._give_turns())
        return has_turn

    def charge(self, tenant: str, cost: float) -> None:
        """Charge a turn; `cost` is in small requests."""
        self._turns.charge(tenant, cost, self._now_ms())

    async def _give_turns(self) -> None:
        error = BrokerError("look-ups have stopped")
        try:
            while True:
                self._arrived.clear()
                tenant = self._turns.take(self._now_ms())
                if tenant is not None:
                    await self._have_turn(tenant)
                    continue
                wait_ms = self._turns.wait_ms(self._now_ms())
                if wait_ms is None:
                    return
                with suppress(TimeoutError):
                    async with asyncio.timeout(wait_ms / 1000):
                        await self._arrived.wait()
        except BrokerError as failure:
            error = failure
        except Exception as failure:
            report(self._place, failure)
        finally:
            self._task = None
            self._turns.clear()
            self._fail(error)
