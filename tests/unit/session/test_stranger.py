import pytest

from bifrost.session.close_reason import CloseReason
from bifrost.session.stranger import recognise_stranger


@pytest.mark.parametrize("minor", range(5))
def test_a_tls_hello_is_recognised(minor: int) -> None:
    hello = bytes([0x16, 0x03, minor, 0x02, 0x00, 0x01])

    reason, detail = recognise_stranger(hello)

    assert reason is CloseReason.TLS_ON_PLAINTEXT
    assert "SASL_PLAINTEXT" in detail


@pytest.mark.parametrize(
    "method", ["GET", "POST", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "CONNECT", "PRI"]
)
def test_http_is_recognised(method: str) -> None:
    reason, detail = recognise_stranger(f"{method} / HTTP/1.1".encode()[:16])

    assert reason is CloseReason.HTTP
    assert "HTTP" in detail


@pytest.mark.parametrize(
    "first_bytes",
    [
        b"",
        b"\x16",
        b"\x16\x02\x00",
        b"GE",
        b"get / HTTP/1.1",
        b"\x00\x00\x00\x2a\x00\x12\x00\x03\x00\x00\x00\x01",
        b"SSH-2.0-OpenSSH",
        b"\xff" * 16,
    ],
)
def test_anything_else_is_nothing_known(first_bytes: bytes) -> None:
    assert recognise_stranger(first_bytes) is None
