"""The ports of a process that is alone, over a socket that is no TCP port."""

import asyncio
import errno
import socket
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from bifrost.gateway.sockets import ports
from bifrost.gateway.sockets.ports import OwnPorts


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

    class Client(asyncio.BufferedProtocol):
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


def test_a_probe_of_the_gateway_itself_is_closed_and_is_no_client(monkeypatch: pytest.MonkeyPatch) -> None:
    came: list[object] = []
    crowd = Crowd(1)
    monkeypatch.setattr(ports, "bind", lambda *_: crowd)
    monkeypatch.setattr(ports, "log_listening", lambda *_: None)

    async def scenario() -> bytes:
        own = OwnPorts()
        port = await own.bind("plaintext", "h", 9092)
        await port.serve(lambda: came.append(1) or asyncio.BufferedProtocol(), "bootstrap")
        [found] = own.served()
        found.probes.add("")
        await asyncio.sleep(0.05)
        [other] = crowd.others
        said = other.recv(1)
        port.close()
        await asyncio.sleep(0)
        return said

    assert asyncio.run(scenario()) == b""
    assert came == []


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

    class Client(asyncio.BufferedProtocol):
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


class Crowd:
    """A listening socket at which many wait."""

    def __init__(self, waiting: int, error: OSError | None = None) -> None:
        self.waiting, self.error, self.others = waiting, error, []

    def accept(self) -> tuple[socket.socket, str]:
        if self.error is not None:
            error, self.error = self.error, None
            raise error
        if not self.waiting:
            raise BlockingIOError
        self.waiting -= 1
        one, other = socket.socketpair()
        self.others.append(other)
        return one, ""

    def fileno(self) -> int:
        return self._own.fileno()

    def setblocking(self, _is_blocking: bool) -> None:
        """It is played."""

    def listen(self, _backlog: int) -> None:
        """By a pair of sockets, one of which can always be read."""
        self._own, self._writer = socket.socketpair()
        self._writer.send(b"x")

    def close(self) -> None:
        for one in (self._own, self._writer, *self.others):
            one.close()


def served(crowd: Crowd, monkeypatch: pytest.MonkeyPatch, seconds: float = 0.0) -> tuple[int, int]:
    """Serve a crowd; return how many were accepted in the first turn, and how many in all."""
    monkeypatch.setattr(ports, "bind", lambda *_: crowd)
    monkeypatch.setattr(ports, "log_listening", lambda *_: None)

    class Client(asyncio.BufferedProtocol):
        def connection_made(self, transport: Any) -> None:
            transport.close()

    async def scenario() -> tuple[int, int]:
        own = OwnPorts()
        port = await own.bind("plaintext", "h", 9092)
        await port.serve(Client, "bootstrap")
        [found] = own.served()
        for _ in range(10):
            if found.accepted:
                break
            await asyncio.sleep(0)
        first = found.accepted
        await asyncio.sleep(0.1 + seconds)
        port.close()
        await asyncio.sleep(0)
        return first, found.accepted

    return asyncio.run(scenario())


def test_a_crowd_is_accepted_in_turns_with_others(monkeypatch: pytest.MonkeyPatch) -> None:
    assert served(Crowd(40), monkeypatch) == (ports.ACCEPTED_AT_ONCE, 40)


def test_a_port_without_descriptors_waits_and_accepts_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "NO_DESCRIPTORS_RETRY_S", 0.05)
    no_descriptors = OSError(errno.EMFILE, "too many open files")

    with capture_logs() as logged:
        _, accepted = served(Crowd(3, no_descriptors), monkeypatch, 0.3)

    assert accepted == 3
    assert [one["event"] for one in logged] == ["accept_failed"]


def test_a_port_outlives_an_error_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    with capture_logs() as logged:
        _, accepted = served(Crowd(3, OSError(errno.EBADMSG, "impossible")), monkeypatch, 0.3)

    assert accepted == 3
    assert [(one["event"], one["place"]) for one in logged] == [("internal_error", "accept")]
