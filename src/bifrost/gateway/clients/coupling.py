"""Couples the two sides of a client's connection by compiled relays, one in each direction (`frame_relay.pyx`)."""

import asyncio
from typing import TYPE_CHECKING, Union, cast

from bifrost.forwarding.forwarding import Forwarding
from bifrost.gateway.brokers.broker_connection import BrokerConnection, set_up_socket
from bifrost.gateway.sockets.frame_relay import FrameRelay
from bifrost.gateway.sockets.socket_transport import SocketTransport
from bifrost.wire.errors import FrameTooLarge
from bifrost.wire.framer import Framer

if TYPE_CHECKING:
    from bifrost.gateway.clients.client_connection import ClientConnection
    from bifrost.gateway.routing.router import Router

BrokerSide = Union[BrokerConnection, "Router"]
"""What a client's connection sends requests to: one broker, or at a single address all."""


def couple(
    client: "ClientConnection",
    transport: asyncio.Transport | None,
    framer: Framer,
    broker: BrokerSide | None,
    session: Forwarding,
) -> None:
    """Relay each side's frames to the other as the session's forwarding rewrites them, if both sides are connected.

    Args:
        client: decides about the frames that the forwarding leaves to Python.
        transport: the client's.
        framer: splits what the client sends.
        broker: the broker's side, logged in; it gives its transport another protocol when it logs in again. A router
            reads its brokers itself.
        session: the client's session; if it needs whole requests, `broker` is a router.
    """
    if transport is None or broker is None or broker.transport is None:
        return
    if session.needs_whole:
        cast("Router", broker).to = transport if isinstance(transport, SocketTransport) else None
        transport.set_protocol(FrameRelay(framer, session, client, client, broker.transport))
        return
    one = cast(BrokerConnection, broker)
    one.transport = _taken(broker.transport, one)
    transport.set_protocol(FrameRelay(framer, session, client, client, one.transport))
    one.transport.set_protocol(FrameRelay(one.framer, session, client, one, transport))


def _taken(transport: asyncio.Transport, protocol: asyncio.BufferedProtocol) -> asyncio.Transport:
    """Return a transport for the same connection, which a relay reads and writes without Python."""
    if isinstance(transport, SocketTransport) or transport.is_closing() or transport.get_write_buffer_size():
        return transport
    is_read = transport.is_reading()
    try:
        taken = SocketTransport.take(transport, protocol)
    except OSError:
        return transport  # No file descriptor is left: the old transport works, too.
    set_up_socket(taken)
    if is_read:
        taken.resume_reading()
    return taken


def frames_of(framer: Framer, nbytes: int) -> list[bytes | memoryview]:
    """Return the frames that are complete now; `framer.failed` says why no more will follow."""
    try:
        return framer.buffer_updated(nbytes)
    except FrameTooLarge:
        return []
