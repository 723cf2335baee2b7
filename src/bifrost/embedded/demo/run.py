"""Runs a demo from start to end: starts Kafka, the gateway and two tenants, and stops everything again.

    start Kafka -> start the gateway -> start the tenants -> show -> stop sending -> read the rest -> stop all

Ctrl-C and SIGTERM end the demo (or its start) and are ignored from then on, so that they never interrupt the stopping.
In every case no process is left running and the temporary directory is removed.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import FrameType
from typing import Protocol

from kafka.errors import KafkaError as ClientError

from bifrost.embedded.child import Child, tail
from bifrost.embedded.demo.files import TOPIC, Address, demo_tenants, hints, write_files
from bifrost.embedded.demo.observer import Observer
from bifrost.embedded.demo.state import DemoState, Observation, TenantView, is_proven
from bifrost.embedded.demo.tenant import TenantClients
from bifrost.embedded.errors import EmbeddedError
from bifrost.embedded.kafka import EmbeddedKafka

HOST = "127.0.0.1"
USUAL_PORTS = (9092, 9093)
"""Kafka's own port and the next, used if they are free, because users know them."""
GATEWAY_TIMEOUT_S = 30
"""Time for the gateway to listen, in seconds."""
STOP_TIMEOUT_S = 5
"""Time for all clients together to close, in seconds."""
FAILED_STOP_TIMEOUT_S = 1
"""The same when the gateway or Kafka is gone."""
DRAIN_TIMEOUT_S = 10
"""Time for the tenants to read the last records, in seconds."""
FRAME_S = 0.2
"""Time between two updates of the screen."""


class Screen(Protocol):
    """Shows a demo to the user."""

    def step(self, text: str) -> None:
        """Show the current step of the start."""

    def progress(self, text: str) -> None:
        """Show the progress of the step."""

    def show(self, state: DemoState) -> None:
        """Show the current state."""

    def leave(self) -> None:
        """Stop showing."""

    def finish(self, tenants: Sequence[TenantView], observation: Observation, topic: str) -> None:
        """Show the result."""


class Demo:
    """One run of the demo."""

    def __init__(self, screen: Screen, duration_s: float | None) -> None:
        self._screen = screen
        self._duration_s = duration_s
        self._stack = ExitStack()
        self._tenants = demo_tenants()
        self._clients: list[TenantClients] = []
        self._gateway: Child | None = None
        self._observer: Observer | None = None
        self._is_running = False

    def run(self) -> bool:
        """Run until the time is over or Ctrl-C.

        Returns:
            Whether the isolation was proven: each tenant sent something, read all of it and nothing else.
            Also True when it was interrupted before there was anything to prove.
        Raises:
            JvmError: there is no Java that is new enough, or a jar is missing.
            EmbeddedError: a process could not be started, or ended by itself.
        """
        is_proven = True
        with _interruptible() as ignore_signals:
            try:
                try:
                    self._start()
                    self._show()
                except KeyboardInterrupt:
                    pass
                finally:
                    ignore_signals()
                is_proven = self._settle()
                self._stop(STOP_TIMEOUT_S)
            finally:
                # After a failure the gateway or Kafka may be gone, and clients would wait for their answers.
                self._stop(FAILED_STOP_TIMEOUT_S)
        return is_proven

    def _start(self) -> None:
        self._screen.step("Starting Kafka")
        self._kafka = EmbeddedKafka(progress=lambda text: self._screen.progress(f"Downloading {text}"))
        self._directory = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="bifrost-demo-")))
        _log_clients_to(self._directory / "clients.log")
        self._stack.enter_context(self._kafka)
        self._screen.step("Starting the gateway")
        self._start_gateway()
        for tenant in self._tenants:
            self._screen.step(f"Starting tenant {tenant.name}")
            clients = TenantClients(tenant, self._address.bootstrap)
            self._clients.append(clients)
            clients.start()
        self._observer = Observer(self._kafka.bootstrap, self._clients)
        self._observer.start()
        self._is_running = True

    def _start_gateway(self) -> None:
        """Start the gateway on free ports; if another program takes one meanwhile, once more on others."""
        for ports in (USUAL_PORTS, None, None):
            self._address = Address(HOST, *(ports if ports and _are_free(ports) else _free_ports(2)))
            config = write_files(self._directory, self._address, self._kafka.bootstrap, self._tenants)
            command = [sys.executable, "-m", "bifrost.cli.main", "run", "--config", str(config)]
            gateway = Child(command, log_file=self._directory / "gateway.log")
            self._stack.callback(gateway.stop)
            deadline = time.monotonic() + GATEWAY_TIMEOUT_S
            while gateway.exit_status() is None and time.monotonic() < deadline:
                if "port_shared" in gateway.log():
                    gateway.stop()  # Another demo took the port between the check and the bind.
                    break
                if _answers(self._address.bootstrap_port):
                    self._gateway = gateway
                    return
                time.sleep(0.02)
            if "in use" not in gateway.log() and "port_shared" not in gateway.log():
                break
        raise EmbeddedError(f"the gateway did not start; its log ends:\n{tail(gateway.log())}")

    def _show(self) -> None:
        began = time.monotonic()
        while self._duration_s is None or time.monotonic() - began < self._duration_s:
            self._check_alive()
            self._screen.show(self._state(time.monotonic() - began))
            time.sleep(FRAME_S)

    def _check_alive(self) -> None:
        if self._gateway is not None and (status := self._gateway.exit_status()) is not None:
            log = tail(self._gateway.log())
            raise EmbeddedError(f"the gateway ended by itself, with status {status}; its log ends:\n{log}")
        if not self._kafka.is_running:
            log = tail(self._kafka.log_file.read_text(encoding="utf-8", errors="replace"))
            raise EmbeddedError(f"Kafka ended by itself; its log ends:\n{log}")

    def _state(self, elapsed_s: float) -> DemoState:
        return DemoState(
            title=f"Bifrost: two tenants on one Kafka {self._kafka.version}",
            bootstrap=self._address.bootstrap,
            elapsed_s=elapsed_s,
            duration_s=self._duration_s,
            tenants=[_view(clients) for clients in self._clients],
            observation=self._observer.latest if self._observer is not None else Observation(),
            hints=hints(self._directory, self._address, self._tenants, _short(sys.executable)),
        )

    def _settle(self) -> bool:
        """Let the tenants read what was sent, look at the broker a last time, and return the result."""
        if not self._is_running or self._observer is None:
            return True
        self._screen.leave()
        for clients in self._clients:
            clients.stop_producing()
        for clients in self._clients:
            clients.wait_until_read(DRAIN_TIMEOUT_S)
        observation = self._observer.latest
        with contextlib.suppress(ClientError):
            observation = self._observer.look()
        views = [_view(clients) for clients in self._clients]
        self._screen.finish(views, observation, TOPIC)
        return is_proven(views)

    def _stop(self, clients_timeout_s: float) -> None:
        """Stop everything that runs: the clients, the gateway, Kafka. A second call does nothing."""
        self._screen.leave()
        deadline = time.monotonic() + clients_timeout_s
        for clients in self._clients:
            clients.request_stop()
        # The observer stops first, because it uses the clients' connections.
        if self._observer is not None:
            self._observer.stop(deadline)
        for clients in self._clients:
            clients.stop(deadline)
        self._clients, self._observer = [], None
        self._stack.close()


def _view(clients: TenantClients) -> TenantView:
    lines, written = clients.ledger.console()
    return TenantView(clients.tenant.name, clients.tenant.password, clients.ledger.counts(), lines, written)


@contextlib.contextmanager
def _interruptible() -> Iterator[Callable[[], None]]:
    """Let SIGTERM and SIGHUP interrupt as Ctrl-C does; yield a function that makes the process ignore all of them."""
    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    def ignore() -> None:
        for number in signals:
            signal.signal(number, signal.SIG_IGN)

    before = [signal.signal(number, interrupt) for number in signals]
    try:
        yield ignore
    finally:
        for number, handler in zip(signals, before, strict=True):
            signal.signal(number, handler)


def _log_clients_to(path: Path) -> None:
    """Write the client library's log to a file instead of the screen, for as long as this process lives.

    A client that did not close in time may still log when everything else has ended.
    """
    logger = logging.getLogger("kafka")
    logger.addHandler(logging.FileHandler(path))
    logger.propagate = False


def _short(path: str) -> str:
    """Return a path relative to the working directory, if that is shorter."""
    return min(path, os.path.relpath(path), key=len)


def _free_ports(number: int) -> list[int]:
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(number)]
        for each in sockets:
            each.bind((HOST, 0))
        return [each.getsockname()[1] for each in sockets]


def _are_free(ports: Sequence[int]) -> bool:
    try:
        for port in ports:
            # This sets SO_REUSEADDR, so connections of the last run that have not timed out do not matter.
            socket.create_server((HOST, port)).close()
    except OSError:
        return False
    return True


def _answers(port: int) -> bool:
    try:
        socket.create_connection((HOST, port), 1).close()
    except OSError:
        return False
    return True
