"""The PROXY protocol, version 2: a load balancer sends the client's address before the connection's first byte.

    0D 0A 0D 0A 00 0D 0A 51 55 49 54 0A   signature
    21                                    version 2 (high half), command (low half): 0 LOCAL, 1 PROXY
    11                                    address family (high half): 1 IPv4, 2 IPv6; transport (low half): 1 stream
    00 0C                                 bytes that follow
    addresses                             source, destination: 4 or 16 bytes each; source port, destination port
    TLVs                                  up to the end; skipped

LOCAL (the balancer's own health checks) and families that are no addresses of TCP stand for the balancer's own address.
The text of version 1 is not read. Source: HAProxy's proxy-protocol.txt, sections 2.2 and 2.2.7.
"""

import ipaddress
import struct
from dataclasses import dataclass

SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"
TEXT_START = b"PROXY "
HEAD_BYTES = 16
"""Bytes that every header has, up to the length of the rest."""

MAX_REST_BYTES = 4096
"""Largest rest, in bytes. Addresses take 36, a TLV of a cloud some hundred; a client certificate's details, the largest
thing that balancers send, take 2 to 3 KiB. No load balancer sends more."""

_LOCAL, _PROXY = 0, 1
_TCP4, _TCP6 = 0x11, 0x21
_ADDRESS_BYTES = {_TCP4: 4, _TCP6: 16}
_UNIX = (0x31, 0x32)
_KNOWN = (0x00, _TCP4, 0x12, _TCP6, 0x22, *_UNIX)


class BadProxyHeader(Exception):
    """The bytes are not a valid header; the text is for the operator."""


@dataclass(frozen=True, slots=True)
class ProxyHead:
    """The first bytes of a header."""

    command: int
    family: int
    rest_bytes: int
    """Number of bytes that follow."""


def is_other(first_bytes: bytes) -> bool:
    """Whether these bytes, which may be few yet, do not begin a PROXY header."""
    return not SIGNATURE.startswith(first_bytes[: len(SIGNATURE)])


def read_head(head: bytes) -> ProxyHead:
    """Read the first HEAD_BYTES.

    Raises:
        BadProxyHeader: they are no header, of another version, or announce too many bytes.
    """
    if is_other(head):
        if head.startswith(TEXT_START):
            raise BadProxyHeader("the PROXY protocol's version 1 (text): set the load balancer to version 2")
        raise BadProxyHeader("no PROXY header came first: let the load balancer send it, version 2")
    version, command, family = head[12] >> 4, head[12] & 0x0F, head[13]
    (rest_bytes,) = struct.unpack_from(">H", head, 14)
    if version != 2:
        raise BadProxyHeader(f"the PROXY protocol's version {version}; only 2 is read")
    if command not in (_LOCAL, _PROXY):
        raise BadProxyHeader(f"a PROXY header with the unknown command {command}")
    if family not in _KNOWN:
        raise BadProxyHeader(f"a PROXY header with the unknown family and transport 0x{family:02x}")
    if rest_bytes > MAX_REST_BYTES:
        raise BadProxyHeader(f"a PROXY header of {rest_bytes} bytes; at most {MAX_REST_BYTES} are read")
    if command == _PROXY and rest_bytes < _needed(family):
        raise BadProxyHeader(f"a PROXY header with {rest_bytes} bytes for addresses of {_needed(family)}")
    return ProxyHead(command, family, rest_bytes)


def read_source(head: ProxyHead, rest: bytes) -> tuple[str, int] | None:
    """Return address and port of the client, or None where the balancer speaks for itself or names no address."""
    size = _ADDRESS_BYTES.get(head.family)
    if head.command == _LOCAL or size is None:
        return None
    address = ipaddress.ip_address(rest[:size])
    (port,) = struct.unpack_from(">H", rest, 2 * size)
    return str(address), port


def _needed(family: int) -> int:
    """Return how many bytes the two addresses and ports take, 0 for families that are not read."""
    size = _ADDRESS_BYTES.get(family)
    return 0 if size is None else 2 * size + 4
