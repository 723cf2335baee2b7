"""The operator's HTTP port: /metrics, /healthz, /readyz, for scrapers and probes, one request per connection.

It shows data of all tenants, so tenants must not reach it: configure an address that only operators reach. h11 reads
HTTP; a request that h11 refuses, that is too large or that does not arrive in time ends its connection.
"""

import asyncio
import contextlib
import socket
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus

import h11
import structlog

from bifrost.gateway.admin.admin_request import AdminRequest, read_request
from bifrost.gateway.loop.loop_guard import report
from bifrost.gateway.sockets.bound_socket import bind

log = structlog.get_logger()

MAX_OPEN = 32
"""Connections at one time: a few scrapers and probes; a further one is closed at once."""

MAX_REQUEST_BYTES = 8 * 1024
"""Largest request; the requests of scrapers and probes are a tenth of it."""

PIECE_BYTES = 256 * 1024
"""Bytes of an answer that are written at once: the metrics of thousands of tenants are tens of MiB."""

TIMEOUT_S = 10.0
"""Time of a connection, from accepting to closing it: the time a Prometheus server waits by default."""


COMMAND_TIMEOUT_S = 300.0
"""The same for a connection that sends a command: a reload reads thousands of files, and asks new clusters."""


@dataclass(frozen=True, slots=True)
class Page:
    """The answer to a request of a path."""

    status: HTTPStatus
    body: bytes | bytearray
    content_type: str = "text/plain; charset=utf-8"


Handler = Callable[[AdminRequest], Awaitable[Page]]
"""A page or a command: it gets the request, and returns the answer."""


class Admin:
    """The server of the operator's port."""

    def __init__(
        self, host: str, port: int, pages: Mapping[str, Handler], commands: Mapping[str, Handler]
    ) -> None:
        """Create the server; it does not listen yet.

        Args:
            host: the address to listen on.
            port: the TCP port to listen on.
            pages: by path, for GET and HEAD.
            commands: by path, for POST.
        """
        self._host, self._port = host, port
        self._pages, self._commands = pages, commands
        self._server: asyncio.Server | None = None
        self._bound: socket.socket | None = None
        self._open = 0

    async def open(self, replaces: "Admin | None" = None) -> None:
        """Listen.

        Args:
            replaces: the port that is closed when this one is open; both may have the same number.
        Raises:
            StartError: the port cannot be bound.
        """
        before = None if replaces is None else replaces._bound
        self._bound = bind("admin", self._host, self._port, before)
        self._server = await asyncio.start_server(self._serve, sock=self._bound)
        log.info("listening", listener="admin", address=f"{self._host}:{self._port}")

    def close(self) -> None:
        """Stop listening; requests that were begun are answered."""
        if self._server is not None:
            self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open += 1
        try:
            if self._open <= MAX_OPEN:
                async with asyncio.timeout(TIMEOUT_S) as limit:
                    await self._answer(reader, writer, limit)
        except (OSError, TimeoutError, h11.ProtocolError):
            pass
        except Exception as error:
            report("admin", error)
        finally:
            self._open -= 1
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def _answer(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, limit: asyncio.Timeout
    ) -> None:
        connection = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_REQUEST_BYTES)
        try:
            request = read_request(await _receive(connection, reader))
        except h11.RemoteProtocolError as error:
            page, is_head = Page(HTTPStatus(error.error_status_hint), b"not an HTTP request\n"), False
        else:
            page, is_head = await self._page(request, limit), request.method == "HEAD"
        headers = [
            ("Content-Type", page.content_type),
            ("Content-Length", str(len(page.body))),
            ("Connection", "close"),
        ]
        response = h11.Response(status_code=page.status, headers=headers, reason=page.status.phrase)
        writer.write(connection.send(response) or b"")
        for at in range(0, 0 if is_head else len(page.body), PIECE_BYTES):
            piece = h11.Data(bytes(page.body[at : at + PIECE_BYTES]))
            writer.write(connection.send(piece) or b"")
            await writer.drain()
        writer.write(connection.send(h11.EndOfMessage()) or b"")
        await writer.drain()

    async def _page(self, request: AdminRequest, limit: asyncio.Timeout) -> Page:
        is_command = request.path in self._commands
        if request.method not in (("POST",) if is_command else ("GET", "HEAD")):
            allowed = b"only POST\n" if is_command else b"only GET and HEAD\n"
            return Page(HTTPStatus.METHOD_NOT_ALLOWED, allowed)
        handler = (self._commands if is_command else self._pages).get(request.path)
        if handler is None:
            return Page(HTTPStatus.NOT_FOUND, f"here is only {', '.join(self._pages)}\n".encode())
        if is_command:
            limit.reschedule(asyncio.get_running_loop().time() + COMMAND_TIMEOUT_S)
        return await handler(request)


async def _receive(connection: h11.Connection, reader: asyncio.StreamReader) -> h11.Request:
    while True:
        event = connection.next_event()
        if isinstance(event, h11.Request):
            return event
        if event is not h11.NEED_DATA:
            raise h11.RemoteProtocolError("no request")
        connection.receive_data(await reader.read(MAX_REQUEST_BYTES))
