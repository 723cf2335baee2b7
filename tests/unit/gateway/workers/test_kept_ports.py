"""The listening sockets of all workers, which are no TCP ports here."""

import asyncio
import errno
import itertools
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from bifrost.gateway.errors import StartError
from bifrost.gateway.workers import kept_ports
from bifrost.gateway.workers.channel import Refused
from bifrost.gateway.workers.kept_ports import KeptPort, KeptPorts


class Hands:
    """Gives connections to no worker, but counts them."""

    def __init__(self) -> None:
        self.given: list[tuple[int, set[str]]] = []
        self.is_able = True

    def can_give(self, port: KeptPort[str]) -> bool:
        return self.is_able

    def give(self, port: KeptPort[str], client: socket.socket) -> None:
        self.given.append((port.number, set(port.serving)))
        client.close()


class Scene:
    def __init__(self, folder: Path) -> None:
        self.hands, self.folder = Hands(), folder
        self.ports: KeptPorts[str] = KeptPorts(self.hands)

    async def connect(self, port: int) -> None:
        """Come to a port; a client that is let in is sent away at once."""
        reader, writer = await asyncio.open_unix_connection(str(self.folder / str(port)))
        assert await reader.read() == b""
        writer.close()


@pytest.fixture
def play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Scene]:
    taken: set[int] = set()

    def bind(name: str, host: str, port: int) -> socket.socket:
        if port in taken:
            raise StartError(f"{name}: port {port} on {host} is in use")
        taken.add(port)
        bound = socket.socket(socket.AF_UNIX)
        bound.bind(str(tmp_path / str(port)))
        return bound

    monkeypatch.setattr(kept_ports, "bind", bind)
    monkeypatch.setattr(kept_ports, "log_listening", lambda *_: None)

    def play(scenario: Callable[[Scene], Awaitable[None]]) -> Scene:
        async def run() -> Scene:
            scene = Scene(tmp_path)
            await scenario(scene)
            scene.ports.close()
            return scene

        return asyncio.run(run())

    return play


Play = Callable[[Callable[[Scene], Awaitable[None]]], Scene]


def test_a_port_is_bound_once_for_all_workers_and_opens_when_all_are_let_in(play: Play) -> None:
    async def scenario(scene: Scene) -> None:
        numbers = [scene.ports.bind(worker, "plaintext", "h", 1) for worker in ("a", "b")]
        assert numbers == [1, 1]
        for worker in ("a", "b"):
            scene.ports.serve(worker, 1, "bootstrap")
        with pytest.raises(OSError, match="refused"):
            await scene.connect(1)

        scene.ports.open()
        await scene.connect(1)

    assert play(scenario).hands.given == [(1, {"a", "b"})]


def test_one_worker_cannot_have_a_port_twice_nor_one_that_is_taken(play: Play) -> None:
    async def scenario(scene: Scene) -> None:
        scene.ports.bind("a", "plaintext", "h", 1)
        with pytest.raises(Refused, match="listener other: port 1 on h is in use"):
            scene.ports.bind("a", "other", "h", 1)

    assert play(scenario).hands.given == []


def test_a_port_that_no_worker_wants_any_more_is_closed(play: Play) -> None:
    async def scenario(scene: Scene) -> None:
        scene.ports.open()
        for worker in ("a", "b"):
            scene.ports.serve(worker, scene.ports.bind(worker, "plaintext", "h", 1), "bootstrap")
        scene.ports.leave("a", 1)
        await scene.connect(1)
        scene.ports.leave("b", 1)
        scene.ports.leave("b", 1)
        assert list(scene.ports) == []

    assert play(scenario).hands.given == [(1, {"b"})]


def test_a_worker_that_is_lost_or_too_late_gets_no_connections(play: Play) -> None:
    async def scenario(scene: Scene) -> None:
        number = scene.ports.bind("one", "listener", "host", 1)
        lost = scene.ports.bind("other", "listener", "host", 1)
        scene.ports.open()
        scene.ports.lose("other")

        scene.ports.serve("other", lost, "bootstrap")
        assert scene.ports.served() == []

        scene.ports.close()
        scene.ports.serve("one", number, "bootstrap")

        assert list(scene.ports) == []

    play(scenario)


def test_a_client_that_comes_while_the_last_worker_is_replaced_waits(play: Play) -> None:
    async def scenario(scene: Scene) -> None:
        scene.ports.open()
        scene.ports.serve("a", scene.ports.bind("a", "plaintext", "h", 1), "bootstrap")
        scene.ports.lose("a")
        waiting = asyncio.create_task(scene.connect(1))
        await asyncio.sleep(0.02)
        assert not waiting.done()

        scene.ports.serve("b", scene.ports.bind("b", "plaintext", "h", 1), "bootstrap")
        scene.ports.close_unwanted()
        await waiting

    assert play(scenario).hands.given == [(1, {"b"})]


def test_a_port_that_the_next_worker_does_not_want_is_closed(play: Play) -> None:
    async def scenario(scene: Scene) -> None:
        scene.ports.bind("a", "plaintext", "h", 1)
        scene.ports.lose("a")
        assert len(list(scene.ports)) == 1
        scene.ports.close_unwanted()
        assert list(scene.ports) == []

    assert play(scenario).hands.given == []


def test_when_no_worker_can_take_a_connection_it_waits(play: Play) -> None:
    async def scenario(scene: Scene) -> None:
        scene.ports.open()
        scene.ports.serve("a", scene.ports.bind("a", "plaintext", "h", 1), "bootstrap")
        scene.hands.is_able = False
        waiting = asyncio.create_task(scene.connect(1))
        await asyncio.sleep(0.05)
        assert not waiting.done()
        scene.hands.is_able = True
        await waiting

    assert len(play(scenario).hands.given) == 1


def test_without_descriptors_it_is_tried_again(
    play: Play, monkeypatch: pytest.MonkeyPatch, logged: list[dict[str, Any]]
) -> None:
    monkeypatch.setattr(kept_ports, "NO_DESCRIPTORS_RETRY_S", 0.01)
    failures = itertools.chain([OSError(errno.EMFILE, "Too many open files")], itertools.repeat(None))

    class Socket(socket.socket):
        def accept(self) -> Any:
            failure = next(failures)
            if failure is not None:
                raise failure
            return super().accept()

    async def scenario(scene: Scene) -> None:
        number = scene.ports.bind("a", "plaintext", "h", 1)
        [kept] = scene.ports
        kept.bound = Socket(fileno=kept.bound.detach())
        kept.bound.setblocking(False)
        scene.ports.open()
        scene.ports.serve("a", number, "bootstrap")
        await scene.connect(1)

    assert len(play(scenario).hands.given) == 1
    assert [one["event"] for one in logged] == ["accept_failed"]


def test_a_bug_while_a_connection_is_given_away_ends_it_alone(
    play: Play, monkeypatch: pytest.MonkeyPatch, logged: list[dict[str, Any]]
) -> None:
    monkeypatch.setattr(kept_ports, "FAILED_RETRY_S", 0.01)

    async def scenario(scene: Scene) -> None:
        scene.ports.open()
        scene.ports.serve("a", scene.ports.bind("a", "plaintext", "h", 1), "bootstrap")
        give, scene.hands.give = scene.hands.give, lambda *_: 1 / 0  # type: ignore[method-assign, assignment]
        await scene.connect(1)
        scene.hands.give = give  # type: ignore[method-assign]
        await scene.connect(1)
        [kept] = scene.ports
        assert kept.accepted == 2

    assert len(play(scenario).hands.given) == 1
    assert [line["place"] for line in logged] == ["accept"]


def test_a_port_that_should_accept_can_be_opened_again(play: Play, tmp_path: Path) -> None:
    async def scenario(scene: Scene) -> None:
        number = scene.ports.bind("a", "plaintext", "h", 1)
        scene.ports.open()
        assert scene.ports.served() == []
        scene.ports.serve("a", number, "bootstrap")
        [kept] = scene.ports.served()

        asyncio.get_running_loop().remove_reader(kept.bound.fileno())
        await kept.reopen()
        await scene.connect(1)

        asyncio.get_running_loop().remove_reader(kept.bound.fileno())
        kept.bound.close()
        with pytest.raises(StartError):
            await kept.reopen()
        assert kept.bound.fileno() < 0

    assert len(play(scenario).hands.given) == 1


def test_the_gateways_own_probe_is_given_to_no_worker(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(scene: Scene) -> None:
        scene.ports.open()
        scene.ports.serve("a", scene.ports.bind("a", "plaintext", "h", 1), "bootstrap")
        [kept] = scene.ports
        monkeypatch.setattr(kept.probes, "take", lambda _address: True)
        await scene.connect(1)
        assert kept.accepted == 1

    assert play(scenario).hands.given == []
