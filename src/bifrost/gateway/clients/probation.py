"""Limits what a client may cost before it has authenticated: frames, requests, bytes and CPU time.

Each connection has a budget. Its costs are also charged to its address; when an address costs too much, its next
connections wait (authentication/failed_authentications.py). When the client authenticates, they are taken back.
"""

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from bifrost.authentication.address_costs import NO_COST, Cost
from bifrost.gateway.admission.address_turns import ENTRY
from bifrost.gateway.clients.context import ClientContext
from bifrost.gateway.clients.coupling import frames_of
from bifrost.session.authentication import OTHER_BYTES
from bifrost.session.client_session import ClientSession
from bifrost.session.first_bytes.unauthenticated_budget import UnauthenticatedBudget
from bifrost.wire.framer import Framer

if TYPE_CHECKING:
    from bifrost.gateway.clients.client_connection import ClientConnection

GoOn = Callable[[Callable[[], None]], None]

MAX_PARTS = 16
"""Reads without a complete frame that are charged together: hundreds of connections that send a byte each are read in
one turn of the event loop, and charging costs more than reading. A client that leaves before pays for none of them."""
MAX_PART_BYTES = 1024
PART_CPU_NS = 20_000
"""CPU time charged for each of them, some twice what it takes; asking for the time would cost as much again."""


class Probation:
    """The time of one connection before its client is authenticated."""

    __slots__ = ("_budget", "_framer", "_gateway", "_is_held", "_part_bytes", "_parts", "_session", "_spent")

    def __init__(self, gateway: ClientContext, framer: Framer, session: ClientSession, spent: Cost) -> None:
        """Begin with an unknown client; limit the framer to frames as large as authentication needs.

        Args:
            gateway: the gateway.
            framer: the client's.
            session: the client's.
            spent: what its address was charged for the connection before.
        """
        self._gateway, self._framer, self._session = gateway, framer, session
        self._budget = UnauthenticatedBudget(gateway.limits)
        self._parts = self._part_bytes = 0
        self._spent, self._is_held = spent, False
        framer.max_frame_bytes = min(gateway.limits.max_unauthenticated_frame_bytes, OTHER_BYTES)

    def begin(self, connection: "ClientConnection", go_on: GoOn) -> None:
        """Delay a client at whose address authentication has just failed, or cost too much, unless it was delayed.

        Args:
            connection: the client's.
            go_on: called when it goes on with what lets the session go, which it calls; then acts on the result.
        """
        if connection.origin.waited_ms is not None:
            return
        gateway = self._gateway
        delay_ms = gateway.failed_authentications.delay_ms(connection.address, gateway.shared.sasl.now_ms())
        if not delay_ms:
            self._line_up(connection, go_on)
            return
        self._hold_back()
        # At most one read has arrived by then: after it the gateway stops reading from the client.
        asyncio.get_running_loop().call_later(delay_ms / 1000, self._line_up, connection, go_on)

    def _line_up(self, connection: "ClientConnection", go_on: GoOn) -> None:
        """Let the client go on when it is its address's turn: at once, unless the address is in debt."""
        if connection.has_ended:
            return
        address = connection.address

        def come_in() -> None:
            self._charge(address, ENTRY)
            if self._is_held:
                go_on(lambda: self._let_go(address))

        if self._gateway.address_turns.enter(address, connection, come_in):
            self._hold_back()

    def _hold_back(self) -> None:
        self._is_held = True
        self._session.hold_back()

    def _let_go(self, address: str) -> None:
        """Let the session handle what has come meanwhile, and charge it."""
        self._is_held = False
        began_ns = time.thread_time_ns()
        try:
            self._session.let_go()
        finally:
            self._charge(address, Cost(cpu_ns=time.thread_time_ns() - began_ns))

    def leave(self, connection: "ClientConnection") -> None:
        """Wait for no turn any more: the connection has ended."""
        if self._is_held:
            self._gateway.address_turns.leave(connection.address, connection)

    def note(self, cost: Cost) -> None:
        """Note what the address was charged for a check of the client's password."""
        self._spent += cost

    def forgive(self, address: str) -> None:
        """Take back what the address was charged: the client has authenticated."""
        spent, self._spent = self._spent, NO_COST
        if spent != NO_COST:
            self._gateway.address_turns.forgive(address, spent)
            self._gateway.password_checks.forgiven()

    def _charge(self, address: str, cost: Cost) -> None:
        self._spent += cost
        gateway = self._gateway
        gateway.failed_authentications.charge(address, cost, gateway.shared.sasl.now_ms())
        if self._session.is_authenticated:
            self.forgive(address)

    def hear(self, nbytes: int, address: str, take: Callable[[list[bytes | memoryview]], None]) -> None:
        """Pass the complete frames to `take`; once the client is authenticated, without counting.

        Args:
            nbytes: bytes received.
            address: the client's address.
            take: called with frames in order; it may authenticate the client, and ends the connection on errors itself.
        Raises:
            SessionEnded: the client costs too much.
        """
        gateway, session = self._gateway, self._session
        if session.is_authenticated:
            take(frames_of(self._framer, nbytes))
            return
        frames = frames_of(self._framer, nbytes)
        if not frames and self._framer.failed is None and self._is_charged_later(nbytes):
            return
        # CPU time, not wall-clock time: the client is not charged for other processes that ran meanwhile.
        began_ns = time.thread_time_ns()
        # No more requests than the budget has left: one read may bring thousands of small ones.
        few, others = frames[: self._budget.requests_left], frames[self._budget.requests_left :]
        take(few)
        cost = self._cost_of(len(frames), nbytes, time.thread_time_ns() - began_ns)
        self._charge(address, cost)
        if session.is_authenticated:
            if others:
                take(others)
            return
        self._budget.spend(cost)
        most = session.max_unauthenticated_frame_bytes
        self._framer.max_frame_bytes = min(gateway.limits.max_unauthenticated_frame_bytes, most)

    def _is_charged_later(self, nbytes: int) -> bool:
        """Count a read without a complete frame; return whether it is few bytes, and within the budget."""
        parts, part_bytes = self._parts + 1, self._part_bytes + nbytes
        if parts > MAX_PARTS or part_bytes > min(MAX_PART_BYTES, self._budget.bytes_left):
            return False
        self._parts, self._part_bytes = parts, part_bytes
        return True

    def _cost_of(self, requests: int, nbytes: int, cpu_ns: int) -> Cost:
        """Return the cost of a read with that of the reads before it that were not charged yet."""
        cost = Cost(requests, nbytes + self._part_bytes, cpu_ns + self._parts * PART_CPU_NS)
        self._parts = self._part_bytes = 0
        return cost
