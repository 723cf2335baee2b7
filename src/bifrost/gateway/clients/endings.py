"""How connections end: how long that takes, and what of it is logged."""

import structlog

from bifrost.gateway.errors import BrokerError, LoginError
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

_QUIET = frozenset({CloseReason.CLIENT_CLOSED, CloseReason.SHUTDOWN}) | IN_ORDER
"""Ordinary ends, which are logged at debug level only."""


def log_end(reason: CloseReason, peer: str, tenant: str | None, detail: str) -> None:
    """Log that a connection ended; ordinary ends at debug level."""
    write = log.debug if reason in _QUIET else log.warning
    write("connection_ended", reason=str(reason), peer=peer, tenant=tenant, detail=detail)


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
