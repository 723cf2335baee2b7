"""A load balancer for the tests: relays connections, with a PROXY header in front of each."""

from __future__ import annotations

import contextlib
import ipaddress
import socket
import struct
import threading
from collections.abc import Iterable
from typing import Self

HOST = "127.0.0.1"
BEHIND = "127.0.0.2"
"""Where the gateway listens that says it is at HOST."""
SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"
LOCAL, PROXY = 0, 1


def proxy_header(source: str, port: int, *, command: int = PROXY, tlvs: bytes = b"") -> bytes:
    """Return a header of version 2 for a connection from `source`."""
    address = ipaddress.ip_address(source)
    family = 0x11 if address.version == 4 else 0x21
    destination = ipaddress.ip_address("127.0.0.1" if address.version == 4 else "::1")
    rest = address.packed + destination.packed + struct.pack(">HH", port, 9092) + tlvs
    return SIGNATURE + bytes([0x20 | command, family]) + struct.pack(">H", len(rest)) + rest


class ProxyRelay:
    """Listens on ports of its own, each relayed to one of the gateway's; a context manager."""

    def __init__(self, ports: Iterable[int], header: bytes) -> None:
        """Relay connections to these ports of HOST to the same ones of BEHIND, with `header` in front."""
        self._header = header
        self._ports = tuple(ports)
        self._servers: list[socket.socket] = []
        self._open: list[socket.socket] = []

    def __enter__(self) -> Self:
        for port in self._ports:
            server = socket.create_server((HOST, port))
            self._servers.append(server)
            threading.Thread(target=self._accept, args=(server, port), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        for one in (*self._servers, *self._open):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _accept(self, server: socket.socket, port: int) -> None:
        while True:
            try:
                client, _ = server.accept()
                gateway = socket.create_connection((BEHIND, port))
            except OSError:
                return
            self._open += [client, gateway]
            gateway.sendall(self._header)
            for one, other in ((client, gateway), (gateway, client)):
                threading.Thread(target=_copy, args=(one, other), daemon=True).start()


def _copy(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
