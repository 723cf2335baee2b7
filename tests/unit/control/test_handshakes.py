"""TLS handshakes at the API's port, over pairs of sockets."""

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from bifrost.control import handshakes
from bifrost.control.handshakes import Handshakes
from support.identity.certificates import Authority


class Connection(asyncio.Protocol):
    """Answers what it gets, and notes how it was made."""

    made: list["Connection"]

    def __init__(self, **arguments: Any) -> None:
        self.arguments, self.has_ended = arguments, False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self.made.append(self)

    def data_received(self, data: bytes) -> None:
        assert isinstance(self.transport, asyncio.Transport)
        self.transport.write(b"seen " + data)

    def connection_lost(self, _exc: Exception | None) -> None:
        self.has_ended = True


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Handshakes:
    authority = Authority("CA")
    authority.server("localhost").write(tmp_path, "server")
    authority.write(tmp_path / "ca.pem")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "server.pem", tmp_path / "server.key")
    monkeypatch.setattr(Connection, "made", [], raising=False)
    return Handshakes(context, Connection)


async def accepted(server: Handshakes) -> socket.socket:
    """Return the client's end of a connection that the server has accepted."""
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    theirs.setblocking(False)
    await asyncio.get_running_loop().connect_accepted_socket(lambda: server(config="settings"), ours)
    return theirs


async def encrypted(client: socket.socket, folder: Path) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    context = ssl.create_default_context(cafile=folder / "ca.pem")
    return await asyncio.open_connection(sock=client, ssl=context, server_hostname="localhost")


def run(scenario: Callable[[], Awaitable[None]]) -> None:
    async def within() -> None:
        async with asyncio.timeout(20):
            await scenario()

    asyncio.run(within())


def test_a_connection_is_made_when_its_handshake_is_whole(server: Handshakes, tmp_path: Path) -> None:
    async def scenario() -> None:
        client = await accepted(server)
        assert (len(server.waiting), Connection.made) == (1, [])

        reader, writer = await encrypted(client, tmp_path)
        writer.write(b"a request")
        assert await reader.readexactly(14) == b"seen a request"

        [made] = Connection.made
        assert made.arguments == {"config": "settings"}
        assert made.transport.get_extra_info("sslcontext") is server.context
        assert not server.waiting
        writer.close()
        await reader.read()

    run(scenario)


def test_what_comes_with_the_end_of_the_handshake_is_not_lost(server: Handshakes, tmp_path: Path) -> None:
    async def scenario() -> None:
        client = await accepted(server)
        context = ssl.create_default_context(cafile=tmp_path / "ca.pem")
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        side = context.wrap_bio(incoming, outgoing, server_hostname="localhost")
        loop = asyncio.get_running_loop()
        while True:
            try:
                side.do_handshake()
                break
            except ssl.SSLWantReadError:
                await loop.sock_sendall(client, outgoing.read())
                incoming.write(await loop.sock_recv(client, 65_536))
        side.write(b"early")
        await loop.sock_sendall(
            client, outgoing.read()
        )  # The end of the handshake and a request in one piece.

        while True:
            incoming.write(await loop.sock_recv(client, 65_536))
            try:
                assert side.read() == b"seen early"
                break
            except ssl.SSLWantReadError:
                continue
        client.close()

    run(scenario)


def test_a_further_handshake_ends_the_oldest(
    server: Handshakes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handshakes, "MAX_HANDSHAKES", 3)

    async def scenario() -> None:
        loop = asyncio.get_running_loop()
        halves = [await accepted(server) for _ in range(3)]
        for one in halves:
            await loop.sock_sendall(one, b"\x16\x03\x01")
        client = await accepted(server)

        with pytest.raises(ConnectionResetError):
            await loop.sock_recv(halves[0], 100)
        assert len(server.waiting) == 3
        reader, writer = await encrypted(client, tmp_path)
        writer.write(b"x")
        assert await reader.readexactly(6) == b"seen x"
        writer.close()
        await reader.read()
        for one in halves:
            one.close()

    run(scenario)


@pytest.mark.parametrize("sent", [b"", b"\x16\x03\x01", b"GET / HTTP/1.1\r\n\r\n"])
def test_a_handshake_that_does_not_come_ends_in_time(
    server: Handshakes, monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    monkeypatch.setattr(handshakes, "HANDSHAKE_S", 0.2)

    async def scenario() -> None:
        loop = asyncio.get_running_loop()
        client = await accepted(server)
        await loop.sock_sendall(client, sent)
        while await loop.sock_recv(client, 100):
            """A TLS alert."""
        client.close()
        assert not server.waiting
        assert Connection.made == []

    run(scenario)


def test_a_client_that_leaves_in_its_handshake_leaves_nothing_behind(server: Handshakes) -> None:
    async def scenario() -> None:
        client = await accepted(server)
        [waiting] = server.waiting
        client.close()
        await waiting.task
        assert not server.waiting
        assert Connection.made == []

    run(scenario)
