"""Bugs of ours in each place that the event loop calls: one connection ends, and the listener accepts the next.

The gateway runs in this process, on uvloop in a thread, so that a test can put a bug where it wants one.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.gateway.brokers.broker_connection import BrokerConnection
from bifrost.gateway.brokers.cluster import Cluster
from bifrost.gateway.clients import idle_sweep
from bifrost.gateway.clients.client_connection import ClientConnection
from bifrost.gateway.clients.client_handshake import ClientHandshake
from bifrost.gateway.clients.ingress import Ingress
from bifrost.gateway.clients.listener import Listener, TurnedAway
from bifrost.gateway.clients.probation import Probation
from bifrost.gateway.gateway import Gateway
from bifrost.gateway.loop import spare_memory
from bifrost.gateway.sockets import listener_watch
from bifrost.gateway.sockets.ports import OwnPort
from bifrost.session.client_session import ClientSession
from bifrost.session.close_reason import CloseReason, SessionEnded
from bifrost.wire.messages import MetadataRequest
from support.gateways.gateway_process import HOST
from support.gateways.in_process import InProcess, raise_bug, raise_bug_later
from support.gateways.worker_gateway import await_true

pytestmark = pytest.mark.timeout(120)


@pytest.fixture(scope="module")
def running(kafka: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[InProcess]:
    one = InProcess(tmp_path_factory.mktemp("in-process"), kafka.bootstrap)
    one.start()
    yield one
    one.stop()


@pytest.fixture(scope="module")
def behind_a_balancer(kafka: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[InProcess]:
    """A gateway whose clients begin with a handshake; those without a PROXY header, too."""
    folder = tmp_path_factory.mktemp("balancer")
    one = InProcess(folder, kafka.bootstrap, listener={"proxy_protocol": "allowed"})
    one.start()
    yield one
    one.stop()


def speak(running: InProcess) -> None:
    """Do all that a client does, as far as it gets; and be silent on another connection."""
    try:
        with socket.create_connection((HOST, running.port), 5) as silent, running.connect() as client:
            client.request(MetadataRequest(topics=[]), 9)
            time.sleep(0.7)
            silent.settimeout(0.1)
            silent.recv(1)
    except (OSError, EOFError):
        pass


PLACES: list[tuple[Any, str]] = [
    (Ingress, "open"),
    (Listener, "_enter"),
    (ClientConnection, "__init__"),
    (ClientConnection, "connection_made"),
    (Probation, "begin"),
    (Probation, "hear"),
    (ClientConnection, "client_frames"),
    (ClientConnection, "flush"),
    (ClientConnection, "_let_in"),
    (ClientConnection, "end"),
    (ClientSession, "begin"),
    (ClientSession, "receive_from_client"),
    (ClientSession, "close"),
    (BrokerConnection, "connection_made"),
    (Gateway, "count_end"),
    (Gateway, "admit"),
]


@pytest.mark.parametrize("place", PLACES, ids=lambda place: f"{place[0].__name__}.{place[1]}")
def test_a_bug_in_what_the_loop_calls_leaves_the_listener_accepting(
    running: InProcess, monkeypatch: pytest.MonkeyPatch, place: tuple[Any, str]
) -> None:
    before = running.errors
    with monkeypatch.context() as patch:
        patch.setattr(*place, raise_bug)
        speak(running)

    await_true(lambda: running.errors > before, "the bug was not counted")
    assert running.is_served()
    assert running.is_served(running.broker_port)
    await_true(lambda: not running.gateway.connections(), "connections have kept their places")


def test_a_bug_where_a_lost_broker_is_noticed_ends_the_client(
    running: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = running.errors
    with running.connect() as client:
        client.request(MetadataRequest(topics=[]), 9)
        [connection] = running.gateway.connections()
        side = connection._broker_side
        assert isinstance(side, BrokerConnection)
        assert side.transport is not None
        monkeypatch.setattr(BrokerConnection, "_lose", raise_bug)
        running.loop.call_soon_threadsafe(side.transport.abort)
        assert client.receives_end(5)

    assert running.errors > before
    await_true(lambda: not running.gateway.connections(), "connections have kept their places")


def test_a_bug_where_a_client_is_turned_away_closes_its_connection(
    running: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = running.errors

    def enter(*_: object) -> None:
        raise SessionEnded(CloseReason.BROKER_UNREACHABLE, "no broker is known")

    with monkeypatch.context() as patch:
        patch.setattr(Listener, "_enter", enter)
        patch.setattr(TurnedAway, "connection_made", raise_bug)
        with (
            socket.create_connection((HOST, running.port), 5) as client,
            contextlib.suppress(ConnectionError),
        ):
            assert client.recv(1) == b""

    await_true(lambda: running.errors > before, "the bug was not counted")
    assert running.is_served()


@pytest.mark.parametrize("name", ["connection_made", "_read_on", "_hand_over", "connection_lost"])
def test_a_bug_in_a_handshake_leaves_the_listener_accepting(
    behind_a_balancer: InProcess, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    before = behind_a_balancer.errors
    with monkeypatch.context() as patch:
        patch.setattr(ClientHandshake, name, raise_bug)
        speak(behind_a_balancer)
        if name == "connection_lost":
            socket.create_connection((HOST, behind_a_balancer.port)).close()
            await_true(lambda: behind_a_balancer.errors > before, "it was not told")

    await_true(lambda: behind_a_balancer.errors > before, "it was not told")
    assert behind_a_balancer.is_served()


BACKGROUND: list[tuple[Any, str, Callable[..., Any], str]] = [
    (Cluster, "refresh", raise_bug_later, "refresh"),
    (Listener, "follow_brokers", raise_bug_later, "refresh"),
    (idle_sweep, "_look", raise_bug_later, "idle_sweep"),
    (spare_memory, "release_spares", raise_bug, "spare_memory"),
    (listener_watch.ListenerWatch, "look", raise_bug_later, "listener_watch"),
]


@pytest.mark.parametrize(("owner", "name", "bug", "place"), BACKGROUND, ids=[one[1] for one in BACKGROUND])
def test_a_background_task_that_fails_is_begun_again(
    running: InProcess,
    monkeypatch: pytest.MonkeyPatch,
    owner: Any,
    name: str,
    bug: Callable[..., Any],
    place: str,
) -> None:
    monkeypatch.setattr(listener_watch, "CHECK_EVERY_S", 0.2)
    real, counts = getattr(owner, name), running.gateway.internal_errors.counts
    before, called = counts[place], threading.Event()

    def wrapped(*arguments: Any, **keywords: Any) -> Any:
        called.set()
        return real(*arguments, **keywords)

    with monkeypatch.context() as patch:
        patch.setattr(owner, name, bug)
        await_true(lambda: counts[place] >= before + 2, f"no errors of {place}")
        assert running.is_served()
    monkeypatch.setattr(owner, name, wrapped)

    assert called.wait(15)
    assert running.is_served()


# -- a listener that does not accept


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener_watch, "CHECK_EVERY_S", 0.3)
    monkeypatch.setattr(listener_watch, "PROBE_TIMEOUT_S", 0.5)


@pytest.mark.usefixtures("quick")
def test_a_listener_that_the_loop_polls_no_more_is_noticed_and_opened_again(
    running: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch, seen = running.gateway.listener_watch, []
    reopen = OwnPort.reopen

    async def noted(self: OwnPort) -> None:
        seen.append(watch.not_accepting())
        await reopen(self)

    monkeypatch.setattr(OwnPort, "reopen", noted)
    [port] = [one for one in running.gateway.peers.ports.served() if one.where[1] == running.port]
    running.loop.call_soon_threadsafe(running.loop.remove_reader, port.bound.fileno())

    await_true(lambda: bool(seen), "the gateway did not notice")
    await_true(lambda: not watch.not_accepting(), "it was not opened again")
    assert seen[0] == [f"plaintext at {HOST}:{running.port} (bootstrap)"]
    assert running.is_served()
    assert running.is_served(running.broker_port)


@pytest.mark.usefixtures("quick")
def test_a_listener_that_is_closed_is_noticed_and_opened_again(running: InProcess) -> None:
    [port] = [one for one in running.gateway.peers.ports.served() if one.where[1] == running.port]

    running.loop.call_soon_threadsafe(port._close)  # type: ignore[attr-defined]
    await_true(lambda: port.bound.fileno() < 0, "it was not closed")

    await_true(
        lambda: port.bound.fileno() > 0 and not running.gateway.listener_watch.not_accepting(),
        "it stays closed",
    )
    time.sleep(0.2)
    assert running.is_served()
    assert running.gateway.listener_watch.not_accepting() == []


@pytest.mark.usefixtures("quick")
def test_probes_are_no_clients(running: InProcess) -> None:
    served = list(running.gateway.peers.ports.served())
    time.sleep(0.5)
    before = running.gateway.ends.copy(), [one.accepted for one in served]
    time.sleep(3)

    assert running.gateway.ends == before[0]
    assert all(one.accepted > count for one, count in zip(served, before[1], strict=True))
    assert running.gateway.connections() == ()


@pytest.mark.usefixtures("quick")
def test_a_port_shared_with_another_gateway_is_no_false_alarm(running: InProcess) -> None:
    """During a rolling restart the kernel gives half of the probes to the other one."""
    taken: list[socket.socket] = []
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        other.bind((HOST, running.port))
        other.listen(100)
        other.settimeout(0.1)
        end = time.monotonic() + 8
        while time.monotonic() < end:
            try:
                taken.append(other.accept()[0])
            except TimeoutError:
                continue
            assert running.gateway.listener_watch.not_accepting() == []
    for one in taken:
        one.close()

    assert taken, "no probe went to the other one: this shows nothing"
    assert running.is_served()
