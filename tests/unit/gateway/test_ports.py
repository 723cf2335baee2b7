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
