"""The first look and the handshake, with a socket that is played. Real ones: tests/kafka/operations/test_tls.py."""

import asyncio
import socket
import ssl
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from bifrost.gateway.sockets.socket_transport import SocketTransport

from .played_socket import Listening, PlayedLoop, PlayedSocket


class Line:
    """A transport that was taken from an event loop."""

    def __init__(self) -> None:
        self.loop, self.socket, self.protocol = PlayedLoop(), PlayedSocket(), Listening()
        self.transport = SocketTransport(self.loop, self.socket, self.protocol)  # type: ignore[arg-type]
        self.transport._peername = ("192.0.2.1", 5)
        self.seen: list[bytes] = []

    def come(self, data: bytes | Exception) -> None:
        self.socket.records.append(data)
        assert self.loop.reader is not None
        self.loop.reader()


def test_what_is_looked_at_stays_and_can_be_skipped() -> None:
    line = Line()
    line.transport.peek(5, line.seen.append)
    assert line.socket.options == [(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 5)]
    line.come(b"header and more")

    assert line.seen == [b"heade"]
    assert line.loop.reader is None
    assert line.socket.options[-1] == (socket.SOL_SOCKET, socket.SO_RCVLOWAT, 1)
    line.transport.skip(7)
    assert line.socket.records[0] == b"and more"


@pytest.mark.parametrize(
    ("found", "error"), [(b"", None), (ConnectionResetError("reset"), ConnectionResetError)]
)
def test_who_says_nothing_and_goes_is_lost(found: bytes | Exception, error: type[Exception] | None) -> None:
    line = Line()
    line.transport.peek(5, line.seen.append)
    line.come(found)
    line.loop.turn()

    assert line.seen == []
    [(event, why)] = line.protocol.told  # type: ignore[misc]
    assert event == "lost"
    assert why is None if error is None else isinstance(why, error)


def test_what_a_transport_knows() -> None:
    transport = Line().transport
    assert transport.get_extra_info("peername") == ("192.0.2.1", 5)
    assert transport.get_extra_info("socket") is transport.socket
    assert transport.get_extra_info("ssl_object") is None
    assert transport.get_extra_info("sslcontext", "none") == "none"

    transport.encrypt(transport.socket)

    assert transport.get_extra_info("ssl_object") is transport.socket
    assert transport.get_extra_info("sslcontext") == "the context"
    assert transport.can_write_eof() is False


def shaken(line: Line, *steps: Exception | None) -> list[str]:
    """Play a handshake whose steps end so; return what it waited for, or what it failed by."""
    waits: list[str] = []
    left = list(steps)

    def do_handshake() -> None:
        step = left.pop(0)
        if step is not None:
            raise step

    line.socket.do_handshake = do_handshake  # type: ignore[attr-defined]
    wrapped: dict[str, Any] = {}

    def wrap_socket(given: PlayedSocket, **options: Any) -> PlayedSocket:
        wrapped.update(options)
        return given

    async def play() -> None:
        context = SimpleNamespace(wrap_socket=wrap_socket)
        task = asyncio.create_task(line.transport.shake_hands(context, server_side=True))  # type: ignore[arg-type]
        while True:
            for _ in range(3):
                await asyncio.sleep(0)
            if task.done():
                break
            waits.append("read" if line.loop.reader is not None else "write")
            ready = line.loop.reader or line.loop.writer
            assert ready is not None
            ready()
        assert await task is line.socket

    try:
        asyncio.run(play())
    except OSError as error:
        waits.append(type(error).__name__)
    assert wrapped["do_handshake_on_connect"] is False
    assert wrapped["server_side"] is True
    return waits


def test_a_handshake_waits_for_what_it_wants() -> None:
    line = Line()
    assert shaken(line, ssl.SSLWantReadError(), ssl.SSLWantWriteError(), None) == ["read", "write"]
    assert (line.loop.reader, line.loop.writer) == (None, None)


def test_a_failure_is_openssls_own() -> None:
    assert shaken(Line(), ssl.SSLError("NO_SHARED_CIPHER")) == ["SSLError"]


@pytest.mark.parametrize("gone", [ssl.SSLEOFError(), ssl.SSLZeroReturnError()])
def test_who_goes_in_a_handshake_has_not_failed_it(gone: Exception) -> None:
    assert shaken(Line(), gone) == ["ConnectionResetError"]


def test_who_was_gone_before_the_handshake_has_not_failed_it() -> None:
    line = Line()
    line.socket._sslobj = None  # As of an SSLSocket whose socket has no peer.
    assert shaken(line) == ["ConnectionResetError"]


def test_a_connection_that_was_closed_shakes_no_hands() -> None:
    line = Line()
    line.transport.abort()
    assert shaken(line, ssl.SSLWantReadError()) == ["ConnectionResetError"]


@pytest.mark.parametrize("end", ["none", "closed", "cancelled"])
def test_a_step_of_a_handshake_waits_for_its_turn(end: str) -> None:
    line, waiting, steps = Line(), list[Callable[[], None]](), list[str]()
    line.socket.do_handshake = lambda: steps.append("made")  # type: ignore[attr-defined]
    context: Any = SimpleNamespace(wrap_socket=lambda given, **_options: given)

    async def play() -> None:
        task = asyncio.create_task(line.transport.shake_hands(context, server_side=True, pace=waiting.append))
        await asyncio.sleep(0)
        assert len(waiting) == 1
        if end == "closed":
            line.transport.abort()
        if end == "cancelled":
            task.cancel()
            await asyncio.sleep(0)
        waiting.pop()()
        await task

    if end == "none":
        asyncio.run(play())
    else:
        with pytest.raises((ConnectionResetError, asyncio.CancelledError)):
            asyncio.run(play())
    assert steps == (["made"] if end == "none" else [])
