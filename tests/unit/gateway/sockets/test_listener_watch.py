"""Whether ports accept: sockets that are no TCP ports; those that are, are in tests/kafka/operations."""

import asyncio
import itertools
import socket
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from bifrost.gateway.errors import StartError
from bifrost.gateway.sockets import listener_watch
from bifrost.gateway.sockets.listener_watch import ListenerWatch, Probes


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener_watch, "PROBE_TIMEOUT_S", 0.05)
    monkeypatch.setattr(listener_watch, "_SETTLE_S", 0.01)


class PlayedPort:
    """A port that accepts while it is polled."""

    name, stands_for = "plaintext", "bootstrap"

    def __init__(self, path: Path, number: int) -> None:
        self.path, self.where = path, ("h", number)
        self.accepted = 0
        self.probes = Probes()
        self.clients: list[Any] = []
        self.reopened = 0
        self.can_reopen = True
        self.open()

    def open(self) -> None:
        self.path.unlink(missing_ok=True)
        self.bound = socket.socket(socket.AF_UNIX)
        self.bound.bind(str(self.path))
        self.bound.listen()
        self.bound.setblocking(False)

    def poll(self, wanted: bool = True) -> None:
        loop = asyncio.get_running_loop()
        loop.remove_reader(self.bound.fileno())
        if wanted:
            loop.add_reader(self.bound.fileno(), self.accept)

    def accept(self) -> None:
        client, address = self.bound.accept()
        self.accepted += 1
        with client:
            if not self.probes.take(address):
                self.clients.append(address)

    async def reopen(self) -> None:
        self.reopened += 1
        if not self.can_reopen:
            raise StartError("the port is in use")
        if self.bound.fileno() >= 0:
            self.poll(False)
        self.bound.close()
        self.open()
        self.poll()


class Scene:
    def __init__(self, folder: Path, ports: int) -> None:
        self.folder, self._numbers = folder, itertools.count()
        self.ports = [PlayedPort(folder / f"port-{number}", number) for number in range(ports)]
        self.probed = 0
        self.watch = ListenerWatch(lambda: self.ports, self.connect)

    def connect(self, bound: socket.socket) -> socket.socket:
        """Connect from an address of one's own, as every TCP connection does."""
        self.probed += 1
        probe = socket.socket(socket.AF_UNIX)
        probe.bind(str(self.folder / f"probe-{next(self._numbers)}"))
        probe.setblocking(False)
        probe.connect(bound.getsockname())
        return probe


Play = Callable[..., Scene]


@pytest.fixture
def play(tmp_path: Path) -> Iterator[Play]:
    with ExitStack() as stack:

        def play(scenario: Callable[[Scene], Awaitable[None]], ports: int = 1) -> Scene:
            async def run() -> Scene:
                scene = Scene(tmp_path, ports)
                for one in scene.ports:
                    stack.callback(lambda one=one: one.bound.close())
                    one.poll()
                await scenario(scene)
                return scene

            return asyncio.run(run())

        yield play


def test_a_port_that_accepts_is_well_and_the_probe_no_client(play: Play) -> None:
    async def scenario(scene: Scene) -> None:
        await scene.watch.look()
        await scene.watch.look()

    scene = play(scenario)

    [port] = scene.ports
    assert (scene.probed, port.accepted, port.clients, port.reopened) == (2, 2, [], 0)
    assert scene.watch.listeners() == [("plaintext", 0, True)]
    assert scene.watch.not_accepting() == []


def test_a_port_on_which_clients_were_accepted_is_not_probed(play: Play) -> None:
    async def scenario(scene: Scene) -> None:
        scene.ports[0].accepted = 7
        await scene.watch.look()
        assert scene.probed == 0
        await scene.watch.look()

    assert play(scenario).probed == 1


def test_a_port_that_is_not_polled_is_noticed_and_opened_again(
    play: Play, logged: list[dict[str, Any]]
) -> None:
    async def scenario(scene: Scene) -> None:
        scene.ports[0].poll(False)
        await scene.watch.look()
        assert scene.watch.listeners() == [("plaintext", 0, False)]
        assert scene.watch.not_accepting() == ["plaintext at h:0 (bootstrap)"]
        await scene.watch.look()

    scene = play(scenario)

    assert (scene.ports[0].reopened, scene.watch.not_accepting()) == (1, [])
    assert [line["event"] for line in logged] == ["listener_not_accepting", "listener_accepts_again"]


def test_a_port_that_cannot_be_opened_again_is_tried_each_time(
    play: Play, logged: list[dict[str, Any]]
) -> None:
    async def scenario(scene: Scene) -> None:
        [port] = scene.ports
        port.poll(False)
        port.bound.close()
        port.can_reopen = False
        for _ in range(3):
            await scene.watch.look()
        assert scene.watch.not_accepting()
        port.can_reopen = True
        await scene.watch.look()
        await scene.watch.look()

    scene = play(scenario)

    assert (scene.ports[0].reopened, scene.watch.not_accepting()) == (4, [])
    assert [line["event"] for line in logged] == [
        "listener_not_accepting",
        *["listener_not_reopened"] * 3,
        "listener_accepts_again",
    ]


def test_without_a_descriptor_for_the_probe_nothing_is_said(play: Play) -> None:
    async def scenario(scene: Scene) -> None:
        def connect(bound: socket.socket) -> socket.socket:
            raise OSError(24, "Too many open files")

        watch = ListenerWatch(lambda: scene.ports, connect)
        await watch.look()
        assert watch.not_accepting() == []

    assert play(scenario).ports[0].reopened == 0


def test_of_many_ports_each_has_its_turn(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener_watch, "MOST_PROBES", 2)

    async def scenario(scene: Scene) -> None:
        for _ in range(5):
            await scene.watch.look()

    scene = play(scenario, 5)

    assert scene.probed == 10
    assert all(port.accepted for port in scene.ports)


def test_a_port_that_is_gone_is_forgotten(play: Play) -> None:
    async def scenario(scene: Scene) -> None:
        scene.ports[0].poll(False)
        scene.ports[0].can_reopen = False
        await scene.watch.look()
        scene.ports = []
        await scene.watch.look()

    scene = play(scenario)

    assert (scene.watch.listeners(), scene.watch.not_accepting()) == ([], [])


def test_addresses_that_never_came_are_forgotten() -> None:
    probes = Probes()
    for port in range(10):
        probes.add(("::1", port, 0, 0))

    assert [port for port in range(10) if probes.awaits(("::1", port))] == [6, 7, 8, 9]
    assert (probes.take(("::1", 9)), probes.take(("::1", 9)), probes.take(None)) == (True, False, False)
