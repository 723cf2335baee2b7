"""Whether the other end of a connection has closed it, also while nothing is read from it.

An end (FIN) is read behind all bytes that came before it. A connection that is not read, because its broker is slow,
does not learn of it; the kernel knows.
"""

import asyncio
import socket

_INFO = getattr(socket, "TCP_INFO", None)
"""Linux alone has it; elsewhere an end is seen when it is read."""
_CLOSE_WAIT = 8
"""TCP_CLOSE_WAIT of Linux's net/tcp_states.h: the other end has closed, this one has not."""


def has_peer_closed(transport: asyncio.Transport | None) -> bool:
    """Return whether the other end has sent its last byte, read or not; False if that cannot be known."""
    if _INFO is None or transport is None:
        return False
    try:
        # The state is the first byte of struct tcp_info.
        info: bytes = transport.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, _INFO, 1)
        return info[0] == _CLOSE_WAIT
    except OSError:
        return False
