"""The ports of a worker, with a supervisor that is played here."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from bifrost.gateway.errors import StartError
from bifrost.gateway.workers.channel import ChannelClosed, Message, Refused
from bifrost.gateway.workers.given_ports import NUMBER_BYTES, GivenPorts


class FakeSupervisor:
    """What the channel leads to."""

    def __init__(self) -> None:
        self.told: list[Message] = []
        self.refuses: Exception | None = None

    def tell(self, message: Message) -> None:
        self.told.append(message)

    async def ask(self, message: Message) -> Message:
        self.told.append(message)
        if self.refuses is not None:
            raise self.refuses
        return {"number": 4}


class Client(asyncio.BufferedProtocol):
    """What a connection's bytes go to: it says who it is."""

    def connection_made(self, transport: Any) -> None:
        transport.write(b"hello")
        transport.close()


class Scene:
    """A worker's ports, and the other end of where connections come."""

    def __init__(self) -> None:
        self.supervisor = FakeSupervisor()
        self.notes: list[int] = []
        self.outside, self.inside = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.ports = GivenPorts(self.supervisor, self.inside, self.notes.append)  # type: ignore[arg-type]

    def give(self, number: int) -> socket.socket:
        """Give a connection; return the client's end."""
        client, server = socket.socketpair()
        with server:
            socket.send_fds(self.outside, [number.to_bytes(NUMBER_BYTES, "big")], [server.fileno()])
        client.setblocking(False)
        return client


def played(scenario: Callable[[Scene], Awaitable[None]]) -> Scene:
    async def play() -> Scene:
        scene = Scene()
        with scene.outside, scene.inside:
            scene.ports.start()
            await scenario(scene)
            asyncio.get_running_loop().remove_reader(scene.inside.fileno())
        return scene

    return asyncio.run(play())


async def said(client: socket.socket) -> bytes:
    with client:
        return await asyncio.get_running_loop().sock_recv(client, 10)


def test_connections_to_a_port_that_is_served_are_accepted() -> None:
    async def scenario(scene: Scene) -> None:
        port = await scene.ports.bind("plaintext", "h", 9092)
        await port.serve(Client, "bootstrap")

        answers = await asyncio.gather(*(said(scene.give(4)) for _ in range(3)))

        assert answers == [b"hello"] * 3

    scene = played(scenario)

    assert scene.supervisor.told == [
        {"do": "bind", "name": "plaintext", "host": "h", "port": 9092},
        {"do": "serve", "number": 4, "stands_for": "bootstrap"},
    ]
    assert scene.notes[-1] == 3


def test_one_that_comes_to_a_port_that_was_given_up_is_closed() -> None:
    async def scenario(scene: Scene) -> None:
        port = await scene.ports.bind("plaintext", "h", 9092)
        await port.serve(Client, "bootstrap")
        port.close()

        assert await said(scene.give(4)) == b""

    scene = played(scenario)

    assert scene.supervisor.told[-1] == {"do": "leave", "number": 4}
    assert scene.notes == [1]


@pytest.mark.parametrize(("error", "says"), [(Refused("in use"), "in use"), (ChannelClosed(), "gone")])
def test_a_port_that_cannot_be_had_is_said_in_the_supervisors_words(error: Exception, says: str) -> None:
    async def scenario(scene: Scene) -> None:
        scene.supervisor.refuses = error
        with pytest.raises(StartError, match=says):
            await scene.ports.bind("plaintext", "h", 9092)

    assert len(played(scenario).supervisor.told) == 1


def test_a_connection_without_a_descriptor_is_counted_and_logged(logged: list[dict[str, Any]]) -> None:
    async def scenario(scene: Scene) -> None:
        scene.outside.send(bytes(NUMBER_BYTES))
        await asyncio.sleep(0.01)
        scene.outside.close()
        await asyncio.sleep(0.01)

    assert played(scenario).notes == [1]
    assert [one["event"] for one in logged] == ["connection_lost"]


def test_a_bug_while_a_connection_is_accepted_ends_it_alone(logged: list[dict[str, Any]]) -> None:
    def broken() -> asyncio.Protocol:
        raise RuntimeError("a bug")

    async def scenario(scene: Scene) -> None:
        port = await scene.ports.bind("plaintext", "h", 9092)
        await port.serve(broken, "bootstrap")
        assert await said(scene.give(4)) == b""
        await port.serve(Client, "bootstrap")
        assert await said(scene.give(4)) == b"hello"
        await asyncio.sleep(0)

    assert played(scenario).notes[-1] == 2
    assert [line["place"] for line in logged] == ["accept"]
