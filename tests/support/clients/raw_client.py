"""A Kafka client that says exactly what it is told: any message, any version, any bytes; for the tests.

It speaks over the gateway's own engine, whose bytes are held against Kafka's own classes in tests/oracle; it has no
opinions, no retries and no metadata.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Sequence
from typing import Any, Self

from bifrost.wire import headers
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.codec import decode, encode
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.message import Message
from bifrost.wire.messages import ApiVersionsRequest, SaslAuthenticateRequest, SaslHandshakeRequest
from bifrost.wire.programs import compile_layout
from bifrost.wire.schema import request_schema, response_schema
from support.clients.endpoint import Endpoint

DEFAULT_TIMEOUT_S = 20.0
"""For every read: a failing test says so before pytest's own limit."""


def request_frame(message: Message, version: int, correlation_id: int, client_id: str = "raw") -> bytes:
    """Return a request as it goes over the wire, with its length."""
    schema = message.SCHEMA
    assert schema.api_key is not None
    name = client_id.encode()
    head = headers.REQUEST_PREFIX.pack(schema.api_key, version, correlation_id, len(name)) + name
    if schema.request_header_version(version) >= 2:
        head += b"\0"
    return encode(compile_layout(schema.name, version), message, head)


def decode_response(api_key: int, version: int, frame: bytes) -> Any:
    """Decode the frame of a response, without its length."""
    schema = response_schema(api_key)
    offset, _ = headers.response_body_offset(frame, schema.response_header_version(version) >= 1)
    return decode(compile_layout(schema.name, version), frame, offset)


class RawClient:
    """One connection."""

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        client_id: str = "raw",
        timeout_s: float = DEFAULT_TIMEOUT_S,
        never_receives: Sequence[bytes] = (),
        context: ssl.SSLContext | None = None,
        greeting: bytes = b"",
        server_name: str | None = None,
    ) -> None:
        """Connect, and say nothing yet.

        Args:
            endpoint: where to.
            client_id: in the header of every request.
            timeout_s: for every read.
            never_receives: bytes that must stand in no answer.
            context: to speak TLS by.
            greeting: what is sent before all else, TLS too.
            server_name: the host that it says it wants to reach (SNI), if not that of `endpoint`.
        """
        self.endpoint = endpoint
        self.client_id = client_id
        self._never_receives = tuple(never_receives)
        self.socket = socket.create_connection((endpoint.host, endpoint.port), timeout_s)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if greeting:
            self.socket.sendall(greeting)
        if context is not None:
            try:
                self.socket = context.wrap_socket(self.socket, server_hostname=server_name or endpoint.host)
            except BaseException:
                self.socket.close()
                raise
        host, port = self.socket.getsockname()[:2]
        self.address = f"{host}:{port}"
        """This end of the connection, as the other end's log names it."""
        self._correlation_id = 0
        self._versions: dict[int, tuple[int, int]] | None = None
        self._file = self.socket.makefile("rb")

    @classmethod
    def authenticated(cls, endpoint: Endpoint, **options: Any) -> Self:
        """Connect, and authenticate if the endpoint has a credential."""
        client = cls(endpoint, **options)
        try:
            if endpoint.username is not None:
                client.authenticate(endpoint.username, endpoint.password)
        except BaseException:
            client.close()
            raise
        return client

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._file.close()
        self.socket.close()

    def authenticate(self, username: str, password: str) -> None:
        """Authenticate by SASL/PLAIN, which must succeed."""
        response = self.try_to_authenticate(username, password)
        assert response.error_code == ErrorCode.NONE, response

    def try_to_authenticate(self, username: str, password: str) -> Any:
        """Authenticate by SASL/PLAIN and return the SaslAuthenticateResponse."""
        handshake = self.request(SaslHandshakeRequest(mechanism="PLAIN"), 1)
        assert handshake.error_code == ErrorCode.NONE, handshake
        token = f"\0{username}\0{password}".encode()
        return self.request(SaslAuthenticateRequest(auth_bytes=token), 2)

    def next_correlation_id(self) -> int:
        """Return the correlation ID for the next request."""
        self._correlation_id += 1
        return self._correlation_id

    def send(self, message: Message, version: int) -> int:
        """Send a request without waiting, and return its correlation ID."""
        correlation_id = self.next_correlation_id()
        self.send_bytes(request_frame(message, version, correlation_id, self.client_id))
        return correlation_id

    def send_bytes(self, data: bytes) -> None:
        """Send bytes as they are."""
        self.socket.sendall(data)

    def receive_frame(self) -> bytes:
        """Return the next response, without its length.

        Raises:
            EOFError: the connection is closed.
        """
        try:
            length = self._file.read(4)
            if len(length) < 4:
                raise EOFError("closed")
            size = int.from_bytes(length, "big")
            frame = self._file.read(size)
        except ConnectionResetError as error:
            raise EOFError("reset") from error
        if len(frame) < size:
            raise EOFError("closed within a response")
        for forbidden in self._never_receives:
            assert forbidden not in frame, frame
        return frame

    def receive(self, api_key: int, version: int, correlation_id: int) -> Any:
        """Return the next response, which must answer `correlation_id`."""
        frame = self.receive_frame()
        assert int.from_bytes(frame[:4], "big", signed=True) == correlation_id
        return decode_response(api_key, version, frame)

    def request(self, message: Message, version: int) -> Any:
        """Send a request and return its response, decoded."""
        assert message.SCHEMA.api_key is not None
        return self.receive(message.SCHEMA.api_key, version, self.send(message, version))

    def exchange(self, message: Message, version: int) -> bytes:
        """Send a request and return its response's bytes without length and correlation ID."""
        correlation_id = self.send(message, version)
        frame = self.receive_frame()
        assert int.from_bytes(frame[:4], "big", signed=True) == correlation_id
        return frame[4:]

    def receives_end(self, timeout_s: float = 10.0) -> bool:
        """Whether the other side closes the connection within the time, with nothing more to read."""
        self.socket.settimeout(timeout_s)
        try:
            return self.socket.recv(1) == b""
        except ConnectionResetError:
            return True
        except TimeoutError:
            return False

    def versions(self) -> dict[int, tuple[int, int]]:
        """Return what the other side offers: oldest and newest version by API key. Asked once."""
        if self._versions is None:
            response = self.request(
                ApiVersionsRequest(client_software_name="raw", client_software_version="1"), 3
            )
            assert response.error_code == ErrorCode.NONE, response
            self._versions = {api.api_key: (api.min_version, api.max_version) for api in response.api_keys}
        return self._versions

    def newest(self, api_key: ApiKey) -> int:
        """Return the newest version of an API that both sides know."""
        return min(self.versions()[api_key][1], request_schema(api_key).versions.high)

    def at_most(self, api_key: ApiKey, version: int) -> int:
        """Return the newest version of an API that both sides know and that is not above `version`."""
        return min(version, self.newest(api_key))
