"""The gateway's own requests to a broker: the cluster's brokers, what each offers, which topic has an ID.

One request at a time over one connection, with a time limit on each. Clients' requests never use this connection.
"""

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from bifrost.gateway.brokers.broker_login import Login, connect_failure
from bifrost.gateway.brokers.broker_security import BrokerSecurity
from bifrost.gateway.errors import BrokerError, OtherMechanism
from bifrost.wire.errors import WireError
from bifrost.wire.message import Message
from bifrost.wire.own.own_request import decode_response, encode_request

MAX_RESPONSE_BYTES = 256 * 1024 * 1024
"""More than the metadata of a million partitions; a larger length means that the other side is no Kafka broker."""

IN_THREAD_BYTES = 16 * 1024
"""A larger answer is decoded in a thread, so that clients do not wait for it: ten thousand ACLs take some 20 ms."""

T = TypeVar("T")

_TLS_ALERT = 0x1503
"""How a TLS alert begins: its type and the major version (RFC 8446, section 5.1)."""


class BrokerClient:
    """A connection to one broker for the gateway's own requests."""

    def __init__(
        self,
        host: str,
        port: int,
        *,
        timeout_ms: int,
        security: BrokerSecurity | None = None,
        login: Login | None = None,
    ) -> None:
        """Prepare a connection.

        Args:
            host: the broker's host.
            port: the broker's port.
            timeout_ms: time limit of connecting with the login, and of every request.
            security: security of the connection; None for plain text.
            login: the account to use in place of the gateway's own.
        """
        self.address = f"{host}:{port}"
        self._host, self._port = host, port
        self._timeout_ms = timeout_ms
        self._security = security
        self._login = login or (security.own if security is not None else None)
        self._correlation_id = 0
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._renew_at: float | None = None

    async def request(self, message: Message, version: int) -> Any:
        """Send a request and return its response.

        Raises: as `read`.
        """
        return await self.read(message, version, decode_response)

    async def read(self, message: Message, version: int, read: Callable[[int, int, int, bytes], T]) -> T:
        """Send a request and return what `read` makes of its response (see `decode_response`).

        Raises:
            LoginError: the broker did not let the gateway in.
            BrokerError: no connection, no answer within the time limit, or an answer that does not parse. The
                connection is closed in either case; the next request makes a new one.
        """
        try:
            now = asyncio.get_running_loop().time()
            if self._writer is None:
                await self._connect(now + self._timeout_ms / 1000)
            elif self._renew_at is not None and now >= self._renew_at:
                await self._log_in(now + self._timeout_ms / 1000)
            with self._worded():
                async with asyncio.timeout(self._timeout_ms / 1000):
                    return await self._exchange(message, version, read)
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Close the connection, if there is one."""
        writer, self._reader, self._writer = self._writer, None, None
        if writer is not None:
            writer.close()

    @contextlib.contextmanager
    def _worded(self) -> Iterator[None]:
        """Raise a BrokerError that explains how the connection failed."""
        try:
            yield
        except (OSError, EOFError, WireError) as error:
            raise connect_failure(error, self.address, self._timeout_ms) from error

    async def _connect(self, deadline: float) -> None:
        options = await self._security.connect_options(self._host) if self._security is not None else {}
        login = self._login
        async with login.pace.attempt(deadline) if login is not None else contextlib.nullcontext():
            try:
                await self._open(options, deadline)
            except OtherMechanism:
                await self.close()
                await self._open(options, deadline)

    async def _open(self, options: dict[str, Any], deadline: float) -> None:
        with self._worded():
            async with asyncio.timeout_at(deadline):
                self._reader, self._writer = await asyncio.open_connection(self._host, self._port, **options)
        await self._log_in(deadline)

    async def _log_in(self, deadline: float) -> None:
        self._renew_at = None
        if self._login is None:
            return
        with self._worded():
            renew_after_ms = await self._login.log_in(self._send, self._host, self.address, deadline)
        if renew_after_ms is not None:
            self._renew_at = asyncio.get_running_loop().time() + renew_after_ms / 1000

    async def _exchange(self, message: Message, version: int, read: Callable[[int, int, int, bytes], T]) -> T:
        self._correlation_id = (self._correlation_id + 1) & 0x7FFFFFFF
        number = self._correlation_id
        frame = await self._send(encode_request(message, version, number))
        assert message.SCHEMA.api_key is not None
        if read is decode_response and len(frame) > IN_THREAD_BYTES:
            return await asyncio.to_thread(read, message.SCHEMA.api_key, version, number, frame)
        return read(message.SCHEMA.api_key, version, number, frame)

    async def _send(self, request: bytes) -> bytes:
        """Send a request; return the frame of its response."""
        assert self._reader is not None
        assert self._writer is not None
        self._writer.write(request)
        size = int.from_bytes(await self._reader.readexactly(4), "big", signed=True)
        if size >> 16 == _TLS_ALERT:
            raise BrokerError(f"{self.address}: its listener speaks TLS: mend security_protocol")
        if not 4 <= size <= MAX_RESPONSE_BYTES:
            raise WireError(f"response length {size}, this is no Kafka broker", 0)
        return await self._reader.readexactly(size)
