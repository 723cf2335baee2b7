"""A raw client: frames out of memory into a blocking socket, and answers into one buffer that is used again."""

import contextlib
import socket
import ssl
import struct
from typing import Any

from bench.frames import read_response, request_frame
from bifrost.wire.message import Message
from bifrost.wire.messages import SaslAuthenticateRequest, SaslHandshakeRequest

TIMEOUT_S = 30


class RawClient:
    """One connection."""

    def __init__(
        self,
        host: str,
        port: int,
        credentials: tuple[str, str] | None = None,
        tls: ssl.SSLContext | None = None,
        source: str = "",
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        """Connect, with TLS if there is a context, and authenticate by SASL/PLAIN if there are credentials.

        `source` is the address that the connection comes from, if it is not to be the system's choice.
        """
        connection = socket.create_connection((host, port), timeout_s, (source, 0) if source else None)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # Blocking, with the kernel's own time limit: Python's would make every receive two system calls.
        connection.settimeout(None)
        connection.setsockopt(
            socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", max(int(timeout_s), 1), 0)
        )
        self.socket = connection if tls is None else tls.wrap_socket(connection, server_hostname=host)
        self._flags = 0 if tls is not None else socket.MSG_WAITALL
        self._length = bytearray(4)
        self.send = self.socket.sendall
        if credentials is not None:
            self.request(SaslHandshakeRequest(mechanism="PLAIN"), 1)
            token = f"\0{credentials[0]}\0{credentials[1]}".encode()
            answer = self.request(SaslAuthenticateRequest(auth_bytes=token), 2)
            assert answer.error_code == 0, answer

    def close(self) -> None:
        """Close the connection."""
        with contextlib.suppress(OSError):
            self.socket.close()

    def request(self, message: Message, version: int) -> Any:
        """Send one request and return its decoded response."""
        self.send(request_frame(message, version, 1))
        assert message.SCHEMA.api_key is not None
        return read_response(message.SCHEMA.api_key, version, bytes(self.receive(bytearray(64 * 1024))))

    def receive(self, buffer: bytearray) -> memoryview:
        """Receive one frame into `buffer`, which grows if it must; return it without its length."""
        self._receive_exactly(memoryview(self._length))
        size = int.from_bytes(self._length, "big")
        if size > len(buffer):
            buffer.extend(bytes(size - len(buffer)))
        view = memoryview(buffer)[:size]
        self._receive_exactly(view)
        return view

    def receive_known(self, view: memoryview) -> None:
        """Receive a frame of known size, its length included, in one system call as a rule."""
        self._receive_exactly(view)
        if int.from_bytes(view[:4], "big") != len(view) - 4:
            raise ConnectionError("an answer has another size than those before it")

    def receive_all(self, view: memoryview) -> None:
        """Receive as many bytes as `view` has, of however many frames."""
        self._receive_exactly(view)

    def _receive_exactly(self, view: memoryview) -> None:
        while view:
            received = self.socket.recv_into(view, 0, self._flags)
            if not received:
                raise ConnectionError("the connection was closed")
            view = view[received:]
