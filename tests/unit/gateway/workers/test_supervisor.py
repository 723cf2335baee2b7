"""Who gets a connection, and what is told of workers; that they are started, die and drain is in tests/kafka."""

import asyncio
import socket
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bifrost.config.config_source import ConfigFiles
from bifrost.config.model import Config
from bifrost.gateway.errors import StartError
from bifrost.gateway.workers import pace
from bifrost.gateway.workers.channel import Refused
from bifrost.gateway.workers.kept_ports import KeptPort
from bifrost.gateway.workers.spread import WorkerLoad
from bifrost.gateway.workers.supervisor import Supervisor
from bifrost.session.close_reason import CloseReason
from support.journal.loading import SALT_KEY
from unit.gateway.test_gateway import CONFIG

from .conftest import Pair

PORT: Any = SimpleNamespace(number=3)


class FakeChild:
    """A worker."""

    def __init__(self, number: int) -> None:
        self.number, self.load = number, WorkerLoad()
        self.can_take, self.takes, self.is_ready = True, True, True
        self.connections, self.silent, self.cpu_s = 0, 0, 2.0
        self.status: int | None = None
        self.failure: str | None = None
        self.ready_s: float | None = None
        self.process = SimpleNamespace(pid=100 + number)
        self.heard: list[str] = []
        self.contents: list[bytes] = []
        self.events: list[dict[str, Any]] = []
        self.refuses: str | None = None
        self.is_killed = False

    @property
    def channel(self) -> "FakeChild":
        return self

    def tell(self, message: Any, content: bytes = b"") -> None:
        self.heard.append(message["do"])
        self.contents.append(content)
        self.events += message.get("events", ())

    async def ask(self, message: Any, content: bytes = b"") -> Any:
        self.heard.append(message["do"])
        if self.refuses == message["do"]:
            raise Refused("it cannot")
        return {}

    def silent_ms(self, now_ms: int) -> int:
        return self.silent

    def give(self, port: int, client: socket.socket) -> bool:
        if self.takes:
            self.connections += 1
            self.load.give(port)
        return self.takes

    def kill(self) -> None:
        self.is_killed = True


class Scene:
    def __init__(self, folder: Path, pair: Pair, workers: int = 2, **proxy: Any) -> None:
        self.pair = pair
        config = Config.model_validate({**CONFIG, "proxy": {**CONFIG["proxy"], "workers": workers, **proxy}})
        (folder / "proxy.yaml").write_text("")
        self.supervisor = Supervisor(
            config, ConfigFiles(folder / "proxy.yaml", SALT_KEY), workers, ["worker"]
        )
        self.children = [FakeChild(number) for number in range(workers)]
        children: Any = self.children
        self.supervisor._children = dict(enumerate(children))
        self.port: Any = KeptPort(3, "plaintext", ("h", 1), pair()[0], set(children), set(children))

    def come(self) -> None:
        """Let a client come."""
        self.supervisor.give(self.port, self.pair()[0])

    @property
    def connections(self) -> list[int]:
        return [child.connections for child in self.children]


@pytest.fixture
def scene(tmp_path: Path, pair: Pair) -> Scene:
    return Scene(tmp_path, pair)


def test_connections_go_to_who_has_least(scene: Scene) -> None:
    scene.come()
    scene.come()

    assert scene.connections == [1, 1]


def test_there_are_no_more_than_there_may_be(scene: Scene, logged: list[dict[str, Any]]) -> None:
    for _ in range(5):
        scene.come()

    assert scene.connections == [1, 1]
    assert scene.supervisor.refused == {CloseReason.TOO_MANY_CONNECTIONS: 3}
    assert [one["reason"] for one in logged] == ["too_many_connections"] * 3
    assert scene.supervisor.count_open() == 2


def test_the_connections_of_a_worker_that_died_do_not_count(scene: Scene) -> None:
    """Its clients reconnect before the supervisor has buried it, and find room: two may be open."""
    scene.come()
    scene.come()
    dead, alive = scene.children
    dead.status, dead.can_take, dead.takes = -9, False, False

    scene.come()

    assert (scene.supervisor.refused, scene.supervisor.count_open(), alive.connections) == ({}, 2, 2)


def test_one_that_takes_none_is_passed_over(scene: Scene) -> None:
    scene.children[0].takes = False
    scene.come()
    scene.children[1].can_take = False

    assert scene.connections == [0, 1]
    assert scene.supervisor.can_give(scene.port)
    scene.children[0].can_take = False
    assert not scene.supervisor.can_give(scene.port)


def test_when_none_takes_it_a_connection_is_closed(scene: Scene, logged: list[dict[str, Any]]) -> None:
    for child in scene.children:
        child.takes = False

    scene.come()

    assert scene.supervisor.refused == {CloseReason.NO_WORKER: 1}
    assert [one["reason"] for one in logged] == ["no_worker"]


def test_one_that_is_slow_is_given_none_while_another_is_not(scene: Scene) -> None:
    scene.children[0].silent = 5_000
    scene.come()
    assert scene.connections == [0, 1]

    scene.children[1].silent = 5_000
    scene.come()

    assert scene.connections == [1, 1]


def test_a_gateway_is_ready_when_clients_are_let_in_and_one_can_serve_them(scene: Scene) -> None:
    supervisor = scene.supervisor
    assert not supervisor.is_ready

    supervisor._is_open = True

    assert supervisor.is_ready
    for child in scene.children:
        child.is_ready = False
    assert not supervisor.is_ready


def test_a_gateway_is_healthy_while_some_loop_turns(scene: Scene) -> None:
    scene.children[0].silent = 60_000
    assert scene.supervisor._is_healthy()

    scene.children[1].silent = 60_000

    assert not scene.supervisor._is_healthy()


def test_what_is_told_of_workers(scene: Scene) -> None:
    scene.come()
    scene.supervisor._starts, scene.supervisor._cpu_s = [1, 3], [0, 10]
    del scene.supervisor._children[1]

    first, second = scene.supervisor.worker_counts()

    assert (first.number, first.is_running, first.starts, first.connections, first.cpu_s) == (
        0,
        True,
        1,
        1,
        2,
    )
    assert (second.number, second.is_running, second.starts, second.connections) == (1, False, 3, 0)
    assert second.cpu_s == 10
    assert scene.supervisor._pids()[1:] == [100]


def test_clients_are_let_in_once_all_workers_are_ready(scene: Scene, logged: list[dict[str, Any]]) -> None:
    for child in scene.children:
        assert not scene.supervisor._is_open
        ready = {"do": "ready", "brokers": [1], "tenants": 2}
        scene.supervisor._handle(child, ready)  # type: ignore[arg-type]

    assert scene.supervisor._is_open
    assert [one["event"] for one in logged] == ["worker_ready", "worker_ready", "ready"]
    assert (logged[-1]["brokers"], logged[-1]["tenants"], logged[-1]["workers"]) == ([1], 2, 2)


def test_workers_that_never_become_ready_are_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, logged: list[dict[str, Any]]
) -> None:
    monkeypatch.setattr(pace, "FIRST_DELAY_S", 0.001)
    (tmp_path / "proxy.yaml").write_text("")
    config = Config.model_validate({**CONFIG, "proxy": {**CONFIG["proxy"], "workers": 2}})
    command = [sys.executable, "-S", "-c", "raise SystemExit(3)"]

    with pytest.raises(StartError, match="workers end before they are ready"):
        asyncio.run(Supervisor(config, ConfigFiles(tmp_path / "proxy.yaml", SALT_KEY), 2, command).run())

    died = [one["by"] for one in logged if one["event"] == "worker_died"]
    assert len(died) >= pace.MAX_FAILED_STARTS
    assert set(died) <= {"status 3", "signal SIGKILL"}
    assert logged[-1]["event"] == "stopped"


def another(scene: Scene, **proxy: Any) -> Config:
    user = CONFIG["tenants"][0]["auth"]["credentials"][0] | {"username": "new"}
    tenants = [*CONFIG["tenants"], {"name": "new", "auth": {"credentials": [user]}}]
    more = {**CONFIG["proxy"], "workers": scene.supervisor.shared_limits.workers, **proxy}
    return Config.model_validate({**CONFIG, "proxy": more, "tenants": tenants})


def test_all_workers_take_another_configuration(scene: Scene) -> None:
    config = another(scene)

    asyncio.run(scene.supervisor.reconfigure(config))

    assert scene.supervisor.config is config
    assert [child.heard for child in scene.children] == [["prepare", "take"]] * 2
    assert "new" in scene.supervisor.places.by_tenant


def test_when_one_cannot_none_does(scene: Scene) -> None:
    before = scene.supervisor.config
    scene.children[1].refuses = "prepare"

    with pytest.raises(StartError, match="it cannot"):
        asyncio.run(scene.supervisor.reconfigure(another(scene)))

    assert scene.supervisor.config is before
    assert [child.heard for child in scene.children] == [["prepare", "abandon"]] * 2


def test_one_that_fails_to_take_what_it_agreed_to_is_replaced(scene: Scene) -> None:
    scene.children[1].refuses = "take"

    asyncio.run(scene.supervisor.reconfigure(another(scene)))

    assert [child.is_killed for child in scene.children] == [False, True]


def test_the_number_of_workers_cannot_change(scene: Scene) -> None:
    with pytest.raises(StartError, match=r"proxy\.workers cannot change"):
        asyncio.run(scene.supervisor.reconfigure(another(scene, workers=4)))

    assert [child.heard for child in scene.children] == [[], []]


def test_what_one_worker_knows_of_topics_the_others_are_told(scene: Scene) -> None:
    teller: Any = scene.children[1]

    assert scene.supervisor._handle(teller, {"do": "known"}, b"[]") is None

    assert [child.contents for child in scene.children] == [[b"[]"], []]


def test_a_reload_and_a_death_are_written_down_by_a_worker(tmp_path: Path, pair: Pair) -> None:
    scene = Scene(tmp_path, pair, journal={"gateway_id": "gw"})
    supervisor, dead = scene.supervisor, scene.children[1]
    supervisor._journal.begin_epoch(1)
    dead.status = -9
    child: Any = dead

    supervisor.note_reload("applied", "the gateway goes on with it")
    supervisor._log_end(child, 1.0, 4)
    supervisor._journal.tell_last()

    reload, death = scene.children[0].events
    assert (reload["type"], reload["outcome"]) == ("reload", "applied")
    assert (death["type"], death["detail"]) == ("worker", "by signal SIGKILL")
    assert (death["before"]["gateway_id"], death["before"]["connections"]) == ("gw/1", "4")
