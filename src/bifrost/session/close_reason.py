"""Why a connection ended: one word for the log and for the metric's label."""

from enum import StrEnum


class CloseReason(StrEnum):
    """Every way a connection can end."""

    CLIENT_CLOSED = "client_closed"
    BROKER_CLOSED = "broker_closed"
    BROKER_UNREACHABLE = "broker_unreachable"
    UPSTREAM_LOGIN_FAILED = "upstream_login_failed"
    """The broker was reached and did not accept the account that the gateway has there for this client."""
    AUTHENTICATION_FAILED = "authentication_failed"
    AUTHENTICATION_TIMEOUT = "authentication_timeout"
    NOT_AUTHENTICATED = "not_authenticated"
    """A request came before authentication."""
    SESSION_EXPIRED = "session_expired"
    """A request came after `max_reauth_ms` without a new authentication."""
    UNAUTHENTICATED_REQUESTS = "unauthenticated_requests"
    """More than `max_unauthenticated_requests` came before authentication."""
    UNAUTHENTICATED_BYTES = "unauthenticated_bytes"
    """More than `max_unauthenticated_bytes` came before authentication."""
    UNAUTHENTICATED_CPU = "unauthenticated_cpu"
    """What came before authentication took more than `max_unauthenticated_cpu_ms` of the gateway's CPU."""
    TLS_ON_PLAINTEXT = "tls_on_plaintext"
    PLAINTEXT_ON_TLS = "plaintext_on_tls"
    TLS_HANDSHAKE_FAILED = "tls_handshake_failed"
    """TLS failed: no version or cipher in common, or the client does not trust the gateway's certificate."""
    CLIENT_CERTIFICATE_REFUSED = "client_certificate_refused"
    """The client showed no certificate, or one that is not trusted, expired or not for a client."""
    BAD_PROXY_HEADER = "bad_proxy_header"
    """The first bytes are not the PROXY header that the listener set requires, or it is not valid."""
    HTTP = "http"
    FRAME_TOO_LARGE = "frame_too_large"
    FRAME_TIMEOUT = "frame_timeout"
    """A request did not come to its end within `frame_timeout_ms`."""
    STALLED = "stalled"
    """The client, or its broker, read nothing for `frame_timeout_ms` while others waited for the memory it held."""
    MALFORMED = "malformed"
    UNSUPPORTED = "unsupported"
    """The API or version is not served, and its response has no place for an error: a broker closes as well."""
    BROKER_MISBEHAVED = "broker_misbehaved"
    """The broker's answer could not be read, or contained what the tenant must not see."""
    INTERNAL_ERROR = "internal_error"
    TOO_MANY_TOPIC_IDS = "too_many_topic_ids"
    """One message named more unknown topic IDs than are looked up at once."""
    CREDENTIAL_REMOVED = "credential_removed"
    """The configuration was reloaded, and the client's account does not belong to the tenant any more."""
    RECONFIGURED = "reconfigured"
    """The configuration was reloaded, and what the connection was for is gone or means something else."""
    NAMESPACE_DELETED = "namespace_deleted"
    """The namespace that the client was bound to does not exist any more."""
    UNKNOWN_SERVER_NAME = "unknown_server_name"
    """The client asked for a host that its listener set does not have (SNI)."""
    TOO_MANY_CONNECTIONS = "too_many_connections"
    NO_WORKER = "no_worker"
    """No worker process could take the connection: all are starting, or have died."""
    TENANT_CONNECTIONS = "tenant_connections"
    """The tenant has its maximum number of connections."""
    UNAUTHENTICATED_CONNECTIONS = "unauthenticated_connections"
    """Too many clients were authenticating: this one gave its place to another, or found none."""
    ADDRESS_CONNECTIONS = "address_connections"
    """Too many clients of this one's address were authenticating: it found no place."""
    IDLE = "idle"
    """The client sent nothing for `max_idle_ms`, and awaited no answer or had closed its side."""
    DRAINED = "drained"
    """The gateway stops, and every request was answered."""
    SHUTDOWN = "shutdown"
    """The gateway stops, and did not wait longer for answers."""


NOT_LET_IN = frozenset({CloseReason.AUTHENTICATION_FAILED, CloseReason.CLIENT_CERTIFICATE_REFUSED})
"""The client did not prove who it is: it may be guessing."""


OVER_BUDGET = frozenset(
    {
        CloseReason.UNAUTHENTICATED_REQUESTS,
        CloseReason.UNAUTHENTICATED_BYTES,
        CloseReason.UNAUTHENTICATED_CPU,
    }
)
"""The client took more before authentication than any needs: its address waits as after a failed authentication."""


class SessionEnded(Exception):
    """The connection is to be closed after the frames in `to_client` are written."""

    def __init__(self, reason: CloseReason, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


def limit_of(reason: CloseReason, tenant: str | None) -> str | None:
    """Return the setting that ends a connection for this reason, if one does."""
    match reason:
        case CloseReason.TOO_MANY_CONNECTIONS | CloseReason.TENANT_CONNECTIONS:
            return "max_connections"
        case CloseReason.UNAUTHENTICATED_CONNECTIONS:
            return "max_unauthenticated_connections"
        case CloseReason.ADDRESS_CONNECTIONS:
            return "max_unauthenticated_connections_per_address"
        case CloseReason.FRAME_TOO_LARGE:
            return "max_unauthenticated_frame_bytes" if tenant is None else "max_request_bytes"
        case CloseReason.FRAME_TIMEOUT | CloseReason.STALLED:
            return "frame_timeout_ms"
        case CloseReason.UNAUTHENTICATED_REQUESTS:
            return "max_unauthenticated_requests"
        case CloseReason.UNAUTHENTICATED_BYTES:
            return "max_unauthenticated_bytes"
        case CloseReason.UNAUTHENTICATED_CPU:
            return "max_unauthenticated_cpu_ms"
        case _:
            return None
