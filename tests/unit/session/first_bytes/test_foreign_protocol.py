import pytest

from bifrost.session.close_reason import CloseReason
from bifrost.session.first_bytes.foreign_protocol import recognise_foreign_protocol, recognise_plaintext


@pytest.mark.parametrize("minor", range(5))
def test_a_tls_hello_is_recognised(minor: int) -> None:
    hello = bytes([0x16, 0x03, minor, 0x02, 0x00, 0x01])

    reason, detail = recognise_foreign_protocol(hello)

    assert reason is CloseReason.TLS_ON_PLAINTEXT
    assert "SASL_PLAINTEXT" in detail


@pytest.mark.parametrize(
    "method", ["GET", "POST", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "CONNECT", "PRI"]
)
def test_http_is_recognised(method: str) -> None:
    reason, detail = recognise_foreign_protocol(f"{method} / HTTP/1.1".encode()[:16])

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
    assert recognise_foreign_protocol(first_bytes) is None


@pytest.mark.parametrize(
    "first_bytes", [b"PROX", b"PROXY TCP4 1.2.3.4", b"\r\n\r\n", b"\r\n\r\n\0\r\nQUIT\n!\x11\0\x0c"]
)
def test_a_load_balancers_header_is_recognised(first_bytes: bytes) -> None:
    reason, detail = recognise_foreign_protocol(first_bytes)

    assert reason is CloseReason.BAD_PROXY_HEADER
    assert "set proxy_protocol" in detail


def test_the_advice_is_what_the_listener_set_speaks() -> None:
    assert "security.protocol to PLAINTEXT" in recognise_foreign_protocol(b"\x16\x03\x01", "PLAINTEXT")[1]


@pytest.mark.parametrize(
    ("first_bytes", "reason"),
    [
        (b"\0\0\0\x0e\0", CloseReason.PLAINTEXT_ON_TLS),
        (b"\x16\x02\0\0\0", CloseReason.PLAINTEXT_ON_TLS),
        (b"GET /", CloseReason.HTTP),
        (b"PROXY", CloseReason.BAD_PROXY_HEADER),
        (b"\r\n\r\n\0", CloseReason.BAD_PROXY_HEADER),
    ],
)
def test_what_is_no_tls_is_told_apart_at_a_port_of_tls(first_bytes: bytes, reason: CloseReason) -> None:
    found = recognise_plaintext(first_bytes, "SASL_SSL")

    assert found is not None
    assert found[0] is reason


def test_a_hello_is_no_stranger_at_a_port_of_tls() -> None:
    assert recognise_plaintext(b"\x16\x03\x01\x02\0", "SSL") is None
