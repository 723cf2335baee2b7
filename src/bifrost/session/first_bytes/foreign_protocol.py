"""Recognise clients that speak another protocol than Kafka's to a Kafka port, from the first bytes alone.

Read as a frame length, a TLS hello is 369296129 and `GET ` is 1195725856: numbers that are hard to recognise in a log.
"""

from bifrost.session.close_reason import CloseReason
from bifrost.session.first_bytes.proxy_header import SIGNATURE, TEXT_START

TLS_RECORD_BYTES = 5
"""Bytes of the head of a TLS record: type, version, length (RFC 8446, section 5.1)."""

_TLS_HANDSHAKE = 0x16
_TLS_MAJOR_VERSION = 0x03
_HTTP_METHODS = (b"GET ", b"POST", b"HEAD", b"PUT ", b"DELE", b"OPTI", b"PATC", b"CONN", b"TRAC", b"PRI ")


def recognise_foreign_protocol(
    first_bytes: bytes, security_protocol: str = "SASL_PLAINTEXT"
) -> tuple[CloseReason, str] | None:
    """Return why the connection is closed, in words, or None when the protocol is not recognised.

    Args:
        first_bytes: the first bytes that the client sent.
        security_protocol: the value that the client should have set.
    """
    if is_tls_hello(first_bytes):
        return CloseReason.TLS_ON_PLAINTEXT, (
            f"the client speaks TLS to a port without it: set its security.protocol to {security_protocol}"
        )
    if first_bytes[:4] in _HTTP_METHODS:
        return CloseReason.HTTP, "the client speaks HTTP to a Kafka port"
    if len(first_bytes) >= 4 and any(
        one.startswith(first_bytes[: len(one)]) for one in (SIGNATURE, TEXT_START)
    ):
        return CloseReason.BAD_PROXY_HEADER, (
            "a load balancer sends the PROXY protocol to a port without it: turn it off there, or set proxy_protocol"
        )
    return None


def recognise_plaintext(first_bytes: bytes, security_protocol: str) -> tuple[CloseReason, str] | None:
    """Return why a connection to a TLS port is closed, in words, or None when the bytes begin a TLS hello."""
    if is_tls_hello(first_bytes):
        return None
    stranger = recognise_foreign_protocol(first_bytes, security_protocol)
    if stranger is not None:
        return stranger
    return CloseReason.PLAINTEXT_ON_TLS, (
        f"the client speaks no TLS to a port of TLS: set its security.protocol to {security_protocol}"
    )


def is_tls_hello(first_bytes: bytes) -> bool:
    """Whether these bytes begin a TLS handshake."""
    return len(first_bytes) >= 2 and first_bytes[0] == _TLS_HANDSHAKE and first_bytes[1] == _TLS_MAJOR_VERSION
