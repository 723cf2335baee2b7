"""Recognise who speaks something else than Kafka's protocol to a Kafka port, from the first bytes alone.

Read as a frame length a TLS hello is 369296129 and `GET ` is 1195725856: numbers that have cost many an afternoon.
"""

from bifrost.session.close_reason import CloseReason

_TLS_HANDSHAKE = 0x16
_TLS_MAJOR_VERSION = 0x03
_HTTP_METHODS = (b"GET ", b"POST", b"HEAD", b"PUT ", b"DELE", b"OPTI", b"PATC", b"CONN", b"TRAC", b"PRI ")


def recognise_stranger(first_bytes: bytes) -> tuple[CloseReason, str] | None:
    """Return why the connection is closed, in words, or None when the bytes are nothing known."""
    if len(first_bytes) >= 2 and first_bytes[0] == _TLS_HANDSHAKE and first_bytes[1] == _TLS_MAJOR_VERSION:
        return CloseReason.TLS_ON_PLAINTEXT, (
            "the client speaks TLS to a port without it: set its security.protocol to SASL_PLAINTEXT"
        )
    if first_bytes[:4] in _HTTP_METHODS:
        return CloseReason.HTTP, "the client speaks HTTP to a Kafka port"
    return None
