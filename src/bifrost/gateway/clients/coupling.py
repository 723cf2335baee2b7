"""How the two sides of a client's connection come to work together without Python: by a leg in either direction."""

import asyncio
from typing import TYPE_CHECKING

from bifrost.gateway.brokers.broker_connection import set_up_socket
from bifrost.gateway.sockets.frame_relay import FrameRelay
from bifrost.gateway.sockets.socket_transport import SocketTransport
from bifrost.wire.engine import Forwarding, Framer
from bifrost.wire.errors import FrameTooLarge

if TYPE_CHECKING:
    from bifrost.gateway.brokers.broker_connection import BrokerConnection
    from bifrost.gateway.clients.client_connection import ClientConnection


def couple(
    client: "ClientConnection",
    transport: asyncio.Transport | None,
    framer: Framer,
    broker: "BrokerConnection | None",
    session: Forwarding,
) -> asyncio.Transport | None:
    """Let each side's frames go to the other as the session's forwarding has them, if both sides are there.

    Args:
        client: decides about all other frames.
        transport: the client's, which is not read at the moment.
        framer: splits what the client sends.
        broker: the broker's side, logged in; it gives its transport another protocol when it logs in again.
        session: the client's.
    Returns:
        The client's transport from now on.
    """
    if transport is None or broker is None or broker.transport is None:
        return transport
    transport, broker.transport = _taken(transport, client), _taken(broker.transport, broker)
    transport.set_protocol(FrameRelay(framer, session, client, client, broker.transport))
    broker.transport.set_protocol(FrameRelay(broker.framer, session, client, broker, transport))
    return transport


def _taken(transport: asyncio.Transport, protocol: asyncio.BufferedProtocol) -> asyncio.Transport:
    """Return a transport that a leg reads and writes without Python, for the same connection."""
    if isinstance(transport, SocketTransport) or transport.is_closing() or transport.get_write_buffer_size():
        return transport
    is_read = transport.is_reading()
    try:
        taken = SocketTransport.take(transport, protocol)
    except OSError:
        return transport  # No descriptor is left: it works as it is, too.
    set_up_socket(taken)
    if is_read:
        taken.resume_reading()
    return taken


def frames_of(framer: Framer, nbytes: int) -> list[bytes | memoryview]:
    """Return the frames that are whole with what was received; why no more will be stands in `framer.failed`."""
    try:
        return framer.buffer_updated(nbytes)
    except FrameTooLarge:
        return []
