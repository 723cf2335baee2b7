"""The bytes of frames that one connection holds in memory, counted in rooms.

A connection that keeps room and does not go on is ended while other connections wait for room.

unauthenticated ──let_in──▶ of its tenant ──add_broker──▶ and its responses ──leave──▶ nothing
"""

import asyncio
from typing import TYPE_CHECKING

from bifrost.forwarding.rooms import Rooms
from bifrost.gateway.sockets.socket_transport import SocketTransport
from bifrost.session.close_reason import CloseReason
from bifrost.wire.framer import Framer

if TYPE_CHECKING:
    from bifrost.gateway.brokers.broker_connection import BrokerConnection
    from bifrost.gateway.clients.client_connection import ClientConnection
    from bifrost.gateway.routing.router import Router


WORTH_BYTES = 64 * 1024
"""A connection is ended for others that wait only if its client and its broker leave at least this much unread."""


class Holding:
    """What one connection holds."""

    __slots__ = (
        "_connection", "_framer", "_framers", "_rooms", "_seen_frame", "_seen_unwritten", "_since_ms", "_tenant",
        "_transports", "_unwritten_since_ms",
    )  # fmt: skip

    def __init__(self, rooms: Rooms, framer: Framer, connection: "ClientConnection") -> None:
        """Begin with a client that has not authenticated; `framer` splits what it sends into frames."""
        self._rooms, self._framer = rooms, framer
        self._connection: ClientConnection | None = connection
        """None once it is over: else the two would wait for the garbage collector, which storms of them keep busy."""
        self._tenant: str | None = None
        self._framers = [framer]
        self._transports: list[asyncio.Transport] = []
        self._seen_frame: int | None = None
        self._seen_unwritten: list[int] = []
        self._since_ms = self._unwritten_since_ms = 0
        framer.enter(rooms.room(None), is_frugal=True)

    def let_in(self, tenant: str) -> None:
        """Count what the connection holds for a tenant from now on."""
        self._rooms.forget(None, self._framer)
        self._tenant = tenant
        self._framer.enter(self._rooms.room(tenant))

    def add_broker(self, broker: "BrokerConnection | Router", client: asyncio.Transport | None) -> None:
        """Count what the broker sends as well; `client` is the client's transport from now on."""
        if client is not None and broker.transport is not None:
            self._transports = [client, broker.transport]
            for one in self._transports:
                if isinstance(one, SocketTransport):
                    one.count_in(self._rooms.backlogs)
        if broker.framer not in self._framers:
            self._framers.append(broker.framer)
            broker.framer.enter(self._rooms.room(self._tenant), is_answer=True)

    @property
    def blocks_client(self) -> bool:
        """Whether the client may not be read for want of room; then it waits for its turn."""
        return self._waits(self._framer)

    @property
    def blocks_broker(self) -> bool:
        """Whether the broker may not be read for want of room; then it waits for its turn."""
        return len(self._framers) > 1 and self._waits(self._framers[1])

    def _waits(self, framer: Framer) -> bool:
        if framer.is_blocked and self._connection is not None:
            self._rooms.wait(self._tenant, framer, self._connection)
        return framer.is_blocked

    def leave(self) -> None:
        """Give up all room: the connection is over."""
        self._connection = None
        for framer in self._framers:
            framer.leave()
            self._rooms.forget(self._tenant, framer)

    def look(self, now_ms: int, timeout_ms: int, *, is_read: bool) -> None:
        """End the connection if one frame takes too long to come, or if it keeps room that others wait for.

        Args:
            now_ms: a monotonic time.
            timeout_ms: how long a frame may take to come, and how long the client or the broker may read nothing.
            is_read: whether the gateway reads from the client; if not, the client does not cause the delay.
        """
        if self._connection is None:
            return
        frame = self._framer.unfinished if is_read else None
        if frame is None or frame != self._seen_frame:
            self._seen_frame, self._since_ms = frame, now_ms
        elif now_ms - self._since_ms >= timeout_ms:
            detail = f"a request has not come to its end within {timeout_ms} ms"
            self._connection.end(CloseReason.FRAME_TIMEOUT, detail)
            return
        unwritten = [one.get_write_buffer_size() for one in self._transports if not one.is_closing()]
        # Fewer bytes do not count as held here: `Rooms.backlogs` counts them as waiting to be written.
        if sum(unwritten) < WORTH_BYTES or unwritten != self._seen_unwritten:
            self._seen_unwritten, self._unwritten_since_ms = unwritten, now_ms
        elif now_ms - self._unwritten_since_ms >= timeout_ms and self._rooms.is_short_for(self._tenant):
            detail = f"{sum(unwritten)} bytes were not read for {timeout_ms} ms while others waited for room"
            self._connection.end(CloseReason.STALLED, detail)
