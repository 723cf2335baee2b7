"""How connections end: how long that takes, and what of it is logged."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import structlog

from bifrost.gateway.errors import BrokerError, LoginError
from bifrost.gateway.loop.loop_guard import report
from bifrost.gateway.sockets.socket_transport import SocketTransport
from bifrost.session.close_reason import CloseReason, SessionEnded
from bifrost.wire.errors import FrameTooLarge, WireError

log = structlog.get_logger()

CLOSE_TIMEOUT_S = 5.0
"""Time a client has to read its last answer; then the connection is cut."""

REFUSAL_DELAY_S = 0.1
"""Time between the answer to a failed authentication and the end of the connection, as a broker's
`connection.failed.authentication.delay.ms`: guessing takes longer, and a client that finds the answer and the end
in one read may see the end alone (kafka-python does)."""

IN_ORDER = frozenset({CloseReason.IDLE, CloseReason.DRAINED})
"""Ends between two requests, at which the client must not lose an answer."""

AT_ONCE = frozenset(
    {
        CloseReason.TOO_MANY_CONNECTIONS,
        CloseReason.UNAUTHENTICATED_CONNECTIONS,
        CloseReason.ADDRESS_CONNECTIONS,
    }
)
"""Ends without an answer: a client that floods the gateway must not hold a descriptor by not reading."""

LINES_A_SECOND = 20
"""Lines about ends in one second, for each reason and tenant. The metric of ends counts them all."""

AWAY = frozenset({CloseReason.BROKER_CLOSED, CloseReason.BROKER_UNREACHABLE})
"""Ends because of a broker: while it is away, all its clients try again, each about once a second, for hours."""

AWAY_LINE_S = 10.0
"""Time between two lines about one such reason and broker, in seconds."""

_QUIET = frozenset({CloseReason.CLIENT_CLOSED, CloseReason.SHUTDOWN}) | IN_ORDER
"""Ordinary ends, which are logged at debug level only."""


class EndLines:
    """The lines about ends, so many a second: a client that is refused a thousand times must not fill the log.

    Those about a broker that is away are fewer: one for each reason and broker in `AWAY_LINE_S`.
    """

    def __init__(self, now_s: Callable[[], float]) -> None:
        """Begin with no line; `now_s` is a monotonic clock."""
        self._now_s = now_s
        self._second = 0
        self._written: Counter[tuple[CloseReason, str | None]] = Counter()
        self._left_out: Counter[tuple[CloseReason, str | None]] = Counter()
        self._next_s: dict[tuple[CloseReason, str | None], float] = {}
        """When the next line about a broker that is away may be written."""

    def admit(self, reason: CloseReason, about: str | None) -> int | None:
        """Return how many lines like this one were left out before it; None: it is left out itself.

        Args:
            reason: why the connection ended.
            about: the broker, if it ended because of one; else the tenant.
        """
        now_s, kind = self._now_s(), (reason, about)
        if reason in AWAY:
            if now_s < self._next_s.get(kind, now_s):
                self._left_out[kind] += 1
                return None
            self._next_s[kind] = now_s + AWAY_LINE_S
            return self._left_out.pop(kind, 0)
        second = int(now_s)
        if second != self._second:
            self._second = second
            self._written.clear()
        if self._written[kind] >= LINES_A_SECOND:
            self._left_out[kind] += 1
            return None
        self._written[kind] += 1
        return self._left_out.pop(kind, 0)


_lines = EndLines(time.monotonic)


def log_end(
    reason: CloseReason, peer: str, tenant: str | None, detail: str, broker: str | None = None
) -> None:
    """Log that a connection ended; ordinary ends at debug level, others as far as `EndLines` admits them.

    Args:
        reason: why it ended.
        peer: the client's address and port.
        tenant: the client's tenant, if it is known.
        detail: more about the reason, in words.
        broker: address of the connection's broker, if it is known; it is written if the connection ended because of it.
    """
    if reason in _QUIET:
        log.debug("connection_ended", reason=str(reason), peer=peer, tenant=tenant, detail=detail)
        return
    is_away = reason in AWAY
    # Without an address, the words name the upstream, or say that no broker is known at all.
    left_out = _lines.admit(reason, (broker or detail) if is_away else tenant)
    if left_out is not None:
        more = ({"broker": broker} if is_away and broker else {}) | (
            {"left_out": left_out} if left_out else {}
        )
        log.warning("connection_ended", reason=str(reason), peer=peer, tenant=tenant, detail=detail, **more)


def close(transport: asyncio.Transport, *, waits: bool) -> None:
    """Close a client's connection, once all that was written to it is sent.

    Args:
        transport: the connection's.
        waits: whether to wait until the client has closed as well, so that it reads its last answer whatever it still
            sends. One that was never let in is not waited for: it would hold its place meanwhile.
    """
    is_plain = isinstance(transport, SocketTransport) and not transport.is_encrypted
    if is_plain and not waits and not transport.get_write_buffer_size():
        transport.abort()
    else:
        transport.close()


@contextmanager
def cutting(transport: asyncio.Transport, peer: str) -> Iterator[None]:
    """Cut a client's connection if the enclosed code, which ends it in order, raises: no timer would end it."""
    try:
        yield
    except Exception as error:
        report("end_of_connection", error, peer=peer)
        transport.abort()


def late(timeout_ms: int) -> tuple[CloseReason, str]:
    """Return why a connection ends whose client has not authenticated in time, and the detail for the log.

    Connections that came together are late together: each ends in a turn that has time for it (`departures`).
    """
    return CloseReason.AUTHENTICATION_TIMEOUT, f"not authenticated within {timeout_ms} ms"


def end_of(error: Exception) -> tuple[CloseReason, str]:
    """Return the reason for which an error ends a connection, and the detail for the log."""
    match error:
        case SessionEnded():
            return error.reason, error.detail
        case LoginError():
            return CloseReason.UPSTREAM_LOGIN_FAILED, str(error)
        case BrokerError():
            return CloseReason.BROKER_UNREACHABLE, str(error)
        case FrameTooLarge():
            return CloseReason.FRAME_TOO_LARGE, str(error)
        case WireError():
            return CloseReason.MALFORMED, str(error)
        case _:
            return CloseReason.INTERNAL_ERROR, "see the trace above"
