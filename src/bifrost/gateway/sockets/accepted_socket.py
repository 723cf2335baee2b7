"""Gives an accepted connection its transport and its protocol.

The event loop has no transport of its own for it: uvloop reads all sockets that are ready in one turn, and hundreds of
clients that send at once would keep all others waiting. `ReadTurns` divides their reads among turns.
"""

import asyncio
import socket
from collections.abc import Callable
from typing import Any, cast

from bifrost.gateway.loop.loop_guard import address_text, report
from bifrost.gateway.sockets.socket_transport import SocketTransport

Accept = Callable[[], asyncio.BaseProtocol]
"""Makes the protocol of a new connection: an `asyncio.BufferedProtocol`, which begins to read when it wants to."""


def enter(client: socket.socket, address: Any, accept: Accept) -> None:
    """Begin a connection. An error of the gateway's own is logged and counted, and ends this connection alone.

    Args:
        client: the connection's socket, closed from now on by its transport.
        address: the client's address and port; of anything but TCP, whatever the system says.
        accept: makes the protocol.
    """
    transport: SocketTransport | None = None
    try:
        client.setblocking(False)
        protocol = cast(asyncio.BufferedProtocol, accept())
        transport = SocketTransport(asyncio.get_running_loop(), client, protocol, address)
        protocol.connection_made(transport)
    except Exception as error:
        report("accept", error, peer=address_text(address))
        if transport is None:
            client.close()
        else:
            transport.abort()
