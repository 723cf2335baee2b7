"""What begins when a connection is accepted."""

import asyncio
import socket
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
import uvloop

from bifrost.gateway.loop.loop_guard import InternalErrors
from bifrost.gateway.sockets.accepted_socket import Accept, enter

ADDRESS = ("192.0.2.7", 50_000)


class Greeter(asyncio.BufferedProtocol):
    """Greets, says what it hears, and closes."""

    def __init__(self) -> None:
        self.memory = bytearray(10)

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        transport.write(b"hello %s" % transport.get_extra_info("peername")[0].encode())
        transport.resume_reading()

    def get_buffer(self, _sizehint: int) -> bytearray:
        return self.memory

    def buffer_updated(self, nbytes: int) -> None:
        self.transport.write(bytes(self.memory[:nbytes]))
        self.transport.close()


class Raises(Greeter):
    """A protocol with a bug."""

    def connection_made(self, transport: Any) -> None:
        raise RuntimeError("a bug")


def broken() -> asyncio.BufferedProtocol:
    raise RuntimeError("a bug")


def on_uvloop(accept: Accept, then: Callable[[socket.socket], Any]) -> tuple[Any, Counter[str]]:
    """Enter a connection, and return what `then` returns of its other end, and the errors by place."""

    async def run() -> tuple[Any, Counter[str]]:
        errors = InternalErrors(Counter())
        errors.install(asyncio.get_running_loop())
        client, server = socket.socketpair()
        client.setblocking(False)
        with client:
            enter(server, ADDRESS, accept)
            return await then(client), errors.counts

    return uvloop.run(run())


async def talk(client: socket.socket) -> bytes:
    loop, heard = asyncio.get_running_loop(), b""
    async with asyncio.timeout(5):
        heard += await loop.sock_recv(client, 100)
        await loop.sock_sendall(client, b" you")
        while more := await loop.sock_recv(client, 100):
            heard += more
    return heard


async def heard(client: socket.socket) -> bytes:
    async with asyncio.timeout(5):
        return await asyncio.get_running_loop().sock_recv(client, 100)


def test_a_protocol_reads_and_writes_and_knows_the_address() -> None:
    assert on_uvloop(Greeter, talk) == (b"hello 192.0.2.7 you", {})


@pytest.mark.parametrize("accept", [broken, Raises], ids=["makes no protocol", "raises when it is connected"])
def test_a_bug_ends_the_connection_and_is_counted(accept: Accept, logged: list[dict[str, Any]]) -> None:
    assert on_uvloop(accept, heard) == (b"", {"accept": 1})
    assert [(one["event"], one["place"], one["peer"]) for one in logged] == [
        ("internal_error", "accept", "192.0.2.7:50000")
    ]
