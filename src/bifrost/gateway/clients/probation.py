"""What a client sends until it has authenticated, held to what that may cost: frames, requests, bytes and CPU time.

Each connection has a budget; what it costs is also charged to its address, whose next connections wait when that is
too much (authentication/failed_authentications.py).
"""

import asyncio
import time
from collections.abc import Callable

from bifrost.authentication.address_costs import Cost
from bifrost.gateway.clients.context import ClientContext
from bifrost.gateway.clients.coupling import frames_of
from bifrost.session.authentication import OTHER_BYTES
from bifrost.session.client_session import ClientSession
from bifrost.session.first_bytes.unauthenticated_budget import UnauthenticatedBudget
from bifrost.wire.engine import Framer


class Probation:
    """The time of one connection before its client is authenticated."""

    __slots__ = ("_budget", "_framer", "_gateway", "_session")

    def __init__(self, gateway: ClientContext, framer: Framer, session: ClientSession) -> None:
        """Hear a client of which nothing is known; the framer takes no larger frame than that needs."""
        self._gateway, self._framer, self._session = gateway, framer, session
        self._budget = UnauthenticatedBudget(gateway.limits)
        framer.max_frame_bytes = min(gateway.limits.max_unauthenticated_frame_bytes, OTHER_BYTES)

    def begin(self, address: str, go_on: Callable[[Callable[[], None]], None]) -> None:
        """Hear a client later at whose address authentication has just failed, or cost too much.

        Args:
            address: the client's.
            go_on: calls the session's `let_go` then, and looks what has come of it.
        """
        gateway, session = self._gateway, self._session
        delay_ms = gateway.failed_authentications.delay_ms(address, gateway.shared.sasl.now_ms())
        if delay_ms:
            session.hold_back()
            # At most one read has come by then: after that the client was no longer read.
            asyncio.get_running_loop().call_later(delay_ms / 1000, go_on, session.let_go)

    def hear(self, nbytes: int, address: str, take: Callable[[list[bytes | memoryview]], None]) -> None:
        """Give the frames that are whole to `take`; once the client is authenticated, without counting.

        Args:
            nbytes: what was received.
            address: the client's.
            take: called with frames in their order; it may authenticate the client, and ends what is wrong itself.
        Raises:
            SessionEnded: the client costs too much.
        """
        gateway, session = self._gateway, self._session
        if session.is_authenticated:
            take(frames_of(self._framer, nbytes))
            return
        # CPU time, not the clock's: that another process ran meanwhile is not the client's doing.
        began_ns = time.thread_time_ns()
        frames = frames_of(self._framer, nbytes)
        # No more than are left of the budget: thousands of small requests come in one read.
        few, others = frames[: self._budget.requests_left], frames[self._budget.requests_left :]
        take(few)
        cost = Cost(len(frames), nbytes, time.thread_time_ns() - began_ns)
        gateway.failed_authentications.charge(address, cost, gateway.shared.sasl.now_ms())
        if session.is_authenticated:
            if others:
                take(others)
            return
        self._budget.spend(cost)
        most = session.max_unauthenticated_frame_bytes
        self._framer.max_frame_bytes = min(gateway.limits.max_unauthenticated_frame_bytes, most)
