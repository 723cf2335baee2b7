"""The ports of a process that is alone, over a socket that is no TCP port."""

import asyncio
import socket
from pathlib import Path
from typing import Any

import pytest

from bifrost.gateway import ports
from bifrost.gateway.ports import OwnPorts


@pytest.fixture
def bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> socket.socket:
    found = socket.socket(socket.AF_UNIX)
    found.bind(str(tmp_path / "port"))
    asked = []

    def bind(*where: object) -> socket.socket:
        asked.append(where)
        return found

    monkeypatch.setattr(ports, "bind", bind)
    monkeypatch.setattr(ports, "log_listening", lambda *_: None)
    return found


def test_a_port_that_is_served_accepts_until_it_is_closed(bound: socket.socket, tmp_path: Path) -> None:
    came = []

    class Client(asyncio.Protocol):
        def connection_made(self, transport: Any) -> None:
            came.append(transport)
            transport.close()

    async def scenario() -> None:
        port = await OwnPorts().bind("plaintext", "h", 9092)
        bound.setblocking(False)
        with pytest.raises(OSError, match="refused"):
            await asyncio.open_unix_connection(str(tmp_path / "port"))
        await port.serve(Client, "bootstrap")
        reader, writer = await asyncio.open_unix_connection(str(tmp_path / "port"))
        assert await reader.read() == b""
        writer.close()
        port.close()
        await asyncio.sleep(0)

    asyncio.run(scenario())

    assert len(came) == 1
    assert bound.fileno() < 0


def test_a_port_that_was_never_served_can_be_closed(bound: socket.socket) -> None:
    async def scenario() -> None:
        (await OwnPorts().bind("plaintext", "h", 9092)).close()

    asyncio.run(scenario())

    assert bound.fileno() < 0


def test_a_port_opens_again_on_a_new_socket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def bind(*_where: object) -> socket.socket:
        (tmp_path / "port").unlink(missing_ok=True)
        found = socket.socket(socket.AF_UNIX)
        found.bind(str(tmp_path / "port"))
        found.setblocking(False)
        return found

    monkeypatch.setattr(ports, "bind", bind)
    monkeypatch.setattr(ports, "log_listening", lambda *_: None)

    class Client(asyncio.Protocol):
        def connection_made(self, transport: Any) -> None:
            transport.close()

    async def scenario() -> None:
        own = OwnPorts()
        port = await own.bind("plaintext", "h", 9092)
        assert list(own.served()) == []
        await port.serve(Client, "bootstrap")
        [served] = own.served()
        before = served.bound
        for accepted in (1, 2):
            reader, writer = await asyncio.open_unix_connection(str(tmp_path / "port"))
            assert await reader.read() == b""
            writer.close()
            assert served.accepted == accepted
            await served.reopen()
        await asyncio.sleep(0)
        assert before.fileno() < 0
        port.close()
        await served.reopen()
        assert list(own.served()) == []
        await asyncio.sleep(0)

    asyncio.run(scenario())
