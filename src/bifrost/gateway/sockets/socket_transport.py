"""A connection of an accepted socket, or one that is taken from the event loop's own transport.

                  accepted ──▶ clear ──shake_hands──▶ encrypted ──close──▶ saying goodbye ──▶ closed
    loop's transport ──take──────▲└────────────────close──────────────────────▲

asyncio's own TLS (`create_server(ssl=...)`) tells neither the operator nor the client why a handshake failed: it closes
before OpenSSL's alert is sent, and a client takes that for a network fault and tries again. Here OpenSSL writes the
alert to the socket before the failure is reported. `socket_stream.pyx` moves the bytes.
"""

import asyncio
import os
import socket
import ssl
import time
from collections.abc import Callable
from typing import Any

from bifrost.gateway.sockets.socket_stream import SocketStream

Pace = Callable[[Callable[[], None]], object]
"""Calls a short piece of work when it is its turn: at once, or in a later turn of the event loop."""

_GONE = (ssl.SSLEOFError, ssl.SSLZeroReturnError, ssl.SSLSyscallError)
"""OpenSSL's errors when the other side is gone: no fault of the handshake."""


def at_once(call: Callable[[], None]) -> None:
    """Call now."""
    call()


class SocketTransport(SocketStream):
    """The transport of a connection; at first without TLS, and not reading."""

    __slots__ = ("_peername", "handshake_cpu_ns")

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        socket: Any,
        protocol: asyncio.BufferedProtocol,
        peername: Any = None,
    ) -> None:
        """Connect a protocol with a non-blocking socket; `peername` is the other side's address, if it is known."""
        super().__init__(loop, socket, protocol)
        self._peername = peername
        self.handshake_cpu_ns = 0
        """CPU time that the TLS handshake has taken, in nanoseconds."""

    @classmethod
    def take(cls, transport: asyncio.Transport, protocol: asyncio.BufferedProtocol) -> "SocketTransport":
        """Take a connection from its transport, which reports nothing about it any more.

        No byte is lost if the transport is not reading, or within `connection_made` or `buffer_updated`: then every
        byte that was read has been given to the protocol.

        Args:
            transport: the event loop's TCP transport, with nothing left to write.
            protocol: the connection's protocol from now on.
        Raises:
            OSError: there are no file descriptors left.
        """
        taken = socket.socket(fileno=os.dup(transport.get_extra_info("socket").fileno()))
        taken.setblocking(False)
        transport.set_protocol(asyncio.Protocol())
        transport.abort()
        return cls(asyncio.get_running_loop(), taken, protocol, transport.get_extra_info("peername"))

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """Return what asyncio's transports know: socket and peername, with TLS also ssl_object and sslcontext."""
        if name == "socket":
            return self.socket
        if name == "peername":
            return self._peername
        if self.is_encrypted and name == "ssl_object":
            return self.socket
        if self.is_encrypted and name == "sslcontext":
            return self.socket.context
        return default

    def peek(self, nbytes: int, look: Callable[[bytes], None]) -> None:
        """Call `look` with the next `nbytes` bytes once they have arrived; they stay in the socket.

        If the other side closes earlier, `look` gets the bytes that arrived. If none arrived, `look` is not called, and
        the connection is lost.
        """
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, nbytes)
        self.call_when_ready(lambda: self._look(nbytes, look))

    def _look(self, nbytes: int, look: Callable[[bytes], None]) -> None:
        try:
            found = self.socket.recv(nbytes, socket.MSG_PEEK)
        except BlockingIOError:
            return
        except OSError as error:
            self.lose(error)
            return
        self.call_when_ready(None)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 1)
        if found:
            look(found)
        else:
            self.lose(None)

    def skip(self, nbytes: int) -> None:
        """Remove bytes from the socket that `peek` has shown."""
        self.socket.recv(nbytes)

    async def shake_hands(
        self,
        context: ssl.SSLContext,
        *,
        server_side: bool = False,
        server_hostname: str | None = None,
        pace: Pace = at_once,
    ) -> ssl.SSLSocket:
        """Make the TLS handshake; bytes that follow it are not read yet.

        Args:
            context: the TLS context.
            server_side: whether this is the server's side.
            server_hostname: the host that the other side's certificate must prove.
            pace: calls each step, now or later.
        Raises:
            ssl.SSLError: the handshake failed; the other side has been sent the alert, if TLS has one for it.
            OSError: the other side is gone.
        """
        encrypted = context.wrap_socket(
            self.socket,
            server_side=server_side,
            server_hostname=server_hostname,
            do_handshake_on_connect=False,
        )
        self.encrypt(encrypted)
        while True:
            try:
                await self._paced(pace, encrypted)
            except ssl.SSLWantReadError:
                await self._until_ready()
            except ssl.SSLWantWriteError:
                await self._until_ready(is_to_write=True)
            except _GONE:
                raise ConnectionResetError("the other side is gone") from None
            else:
                return encrypted

    async def _paced(self, pace: Pace, encrypted: ssl.SSLSocket) -> None:
        """Make a step when it is its turn."""
        done = self.loop.create_future()

        def step() -> None:
            if done.done():
                return  # The task was cancelled while it waited.
            try:
                if self.is_closing():
                    raise ConnectionResetError("the connection was closed")
                self._step(encrypted)
            except Exception as error:
                done.set_exception(error)
            else:
                done.set_result(None)

        pace(step)
        await done

    def _step(self, encrypted: ssl.SSLSocket) -> None:
        began_ns = time.thread_time_ns()
        try:
            encrypted.do_handshake()
        finally:
            self.handshake_cpu_ns += time.thread_time_ns() - began_ns

    async def _until_ready(self, *, is_to_write: bool = False) -> None:
        """Wait until the socket can be read, or written."""
        if self.is_closing():
            raise ConnectionResetError("the connection was closed")
        is_ready = self.loop.create_future()
        self.call_when_ready(lambda: _set(is_ready), is_to_write)
        try:
            await is_ready
        finally:
            if not self.is_closing():  # Otherwise it may wait for the other side's end.
                self.call_when_ready(None)


def _set(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)
