import ipaddress

import pytest

from bifrost.session.first_bytes.proxy_header import (
    HEAD_BYTES,
    MAX_REST_BYTES,
    SIGNATURE,
    BadProxyHeader,
    is_other,
    read_head,
    read_source,
)

V4 = bytes([203, 0, 113, 9, 127, 0, 0, 1]) + (5555).to_bytes(2, "big") + (9092).to_bytes(2, "big")
V6 = (
    ipaddress.ip_address("2001:db8::7").packed
    + ipaddress.ip_address("::1").packed
    + (4242).to_bytes(2, "big")
    + (9092).to_bytes(2, "big")
)


def header(family: int, rest: bytes, command: int = 0x21) -> bytes:
    return SIGNATURE + bytes([command, family]) + len(rest).to_bytes(2, "big") + rest


def source(data: bytes) -> tuple[str, int] | None:
    head = read_head(data[:HEAD_BYTES])
    assert head.rest_bytes == len(data) - HEAD_BYTES
    return read_source(head, data[HEAD_BYTES:])


@pytest.mark.parametrize("tlvs", [b"", b"\x04\0\x02ab" * 20, bytes(MAX_REST_BYTES - len(V6))])
def test_the_source_is_the_client(tlvs: bytes) -> None:
    assert source(header(0x11, V4 + tlvs)) == ("203.0.113.9", 5555)
    assert source(header(0x21, V6 + tlvs)) == ("2001:db8::7", 4242)


@pytest.mark.parametrize(
    "data",
    [
        header(0x11, V4, command=0x20),
        header(0x00, b"", command=0x20),
        header(0x00, b""),
        header(0x00, b"whatever"),
        header(0x12, V4),
        header(0x31, bytes(216)),
    ],
    ids=["local", "local of nothing", "unspec", "unspec with more", "datagrams", "unix"],
)
def test_what_names_no_client_stands_for_the_balancer(data: bytes) -> None:
    assert source(data) is None


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"\0\0\0\x0e", "no PROXY header"),
        (b"\x16\x03\x01", "no PROXY header"),
        (b"PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\n", "version 1"),
        (header(0x11, V4, command=0x11), "version 1; only 2"),
        (header(0x11, V4, command=0x2F), "unknown command 15"),
        (header(0x13, V4), "unknown family and transport 0x13"),
        (header(0x41, V4), "unknown family and transport 0x41"),
        (header(0x11, V4[:-1]), "11 bytes for addresses of 12"),
        (header(0x21, V4), "12 bytes for addresses of 36"),
        (SIGNATURE + b"\x21\x11\x10\x01", "of 4097 bytes; at most 4096"),
    ],
)
def test_what_is_not_sound_is_refused(data: bytes, expected: str) -> None:
    with pytest.raises(BadProxyHeader, match=expected):
        read_head(data[:HEAD_BYTES])


def test_few_bytes_are_another_protocol_as_soon_as_they_differ() -> None:
    assert not any(is_other(SIGNATURE[:size]) for size in range(len(SIGNATURE) + 1))
    assert not is_other(SIGNATURE + b"more")
    assert all(is_other(SIGNATURE[:size] + b"x") for size in range(len(SIGNATURE)))
