"""What a load goes through: nothing, an L4 relay, or the gateway; a process's CPU time and memory can be read."""

import os
import secrets
import shutil
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from bench.client import RawClient
from bifrost.embedded.child import Child, tail
from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.tenancy.names import TenantNames, VirtualTopic

TENANT = "bench"
READY_TIMEOUT_S = 30.0
_NAMES = TenantNames(TENANT)


@dataclass
class Subject:
    """One way to the broker."""

    name: str
    port: int
    pid: int | None = None
    """The process in between; None for the direct way."""
    credentials: tuple[str, str] | None = None

    @property
    def is_gateway(self) -> bool:
        """Whether names are the tenant's here."""
        return self.credentials is not None

    def connect(self) -> RawClient:
        """Open a connection, authenticated where it must be."""
        return RawClient(self.port, self.credentials)

    def called(self, name: str) -> str:
        """Return what a topic or group is called on this way."""
        return name if self.is_gateway else _NAMES.physical_topic(VirtualTopic(name.encode())).decode()

    def cpu_s(self) -> float:
        """Return the CPU time that the process has used, in seconds."""
        return 0.0 if self.pid is None else cpu_s_of(self.pid)

    def resident_mib(self) -> float:
        """Return the process's resident memory, in MiB."""
        return psutil.Process(self.pid).memory_info().rss / 2**20

    def peak_mib(self) -> float:
        """Return the most that was ever resident, in MiB."""
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
        raise RuntimeError("no VmHWM in /proc/<pid>/status")


def cpu_s_of(pid: int) -> float:
    """Return the CPU time that a process has used, user and system of all threads, in seconds.

    Source: MAKE_PROCESS_CPUCLOCK and CPUCLOCK_SCHED of include/linux/posix-timers.h; it counts in nanoseconds,
    where /proc/<pid>/stat counts in hundredths of a second.
    """
    return time.clock_gettime((~pid << 3) | 2)


@contextmanager
def all_subjects(kafka: EmbeddedKafka, directory: Path) -> Iterator[list[Subject]]:
    """Run everything beside `kafka`; the first subject is the direct way, the last the gateway."""
    broker_port = kafka.broker_port(1)
    with ExitStack() as running:
        subjects = [Subject("direct", broker_port)]
        port = free_port()
        relay = [sys.executable, "-m", "bench.relay", str(port), str(broker_port)]
        subjects.append(Subject("relay", port, _run(running, relay, port, directory / "relay.log").pid))
        haproxy = shutil.which("haproxy")
        if haproxy:
            port = free_port()
            config = _haproxy_config(directory, port, broker_port)
            child = _run(running, [haproxy, "-f", str(config)], port, directory / "haproxy.log")
            subjects.append(Subject("haproxy", port, child.pid))
        yield [*subjects, running.enter_context(run_gateway(directory / "gateway", kafka))]


@contextmanager
def run_gateway(
    directory: Path, kafka: EmbeddedKafka, *, workers: int = 1, has_journal: bool = False
) -> Iterator[Subject]:
    """Run a gateway of one tenant, as `bifrost run` does; `directory` is made for it."""
    directory.mkdir()
    port, password = free_port(count=2), secrets.token_hex(8)
    (directory / "bench.password").write_text(password)
    config = directory / "proxy.yaml"
    config.write_text(
        f"""\
proxy:
  {"journal: {}" if has_journal else ""}
  workers: {workers}
  listener_sets:
    - name: bench
      port_range:
        bind_host: 127.0.0.1
        advertised_host: 127.0.0.1
        bootstrap_port: {port}
        broker_port_range: {{ start: {port + 1}, end: {port + 1} }}
        broker_id_base: 1
upstream:
  bootstrap: ["{kafka.bootstrap}"]
tenants:
  - name: {TENANT}
    auth: {{ credentials: [{{ username: {TENANT}, password_file: bench.password }}] }}
"""
    )
    command = [sys.executable, "-m", "bifrost.cli.main", "run", "--config", str(config)]
    with ExitStack() as running:
        child = _run(running, command, port, directory / "gateway.log")
        name = "with journal" if has_journal else "gateway"
        yield Subject(name, port + 1, child.pid, (TENANT, password))


def _haproxy_config(directory: Path, port: int, broker_port: int) -> Path:
    config = directory / "haproxy.cfg"
    config.write_text(
        f"""\
global
    nbthread 1
defaults
    mode tcp
    timeout connect 10s
    timeout client 10m
    timeout server 10m
listen kafka
    bind 127.0.0.1:{port}
    server broker 127.0.0.1:{broker_port}
"""
    )
    return config


def _run(running: ExitStack, command: list[str], port: int, log_file: Path) -> Child:
    """Start a process that is stopped with `running`, and wait until it listens."""
    child = Child(command, log_file=log_file, env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"})
    running.callback(child.stop)
    deadline = time.monotonic() + READY_TIMEOUT_S
    while time.monotonic() < deadline and child.exit_status() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return child
    raise RuntimeError(f"{' '.join(command)} does not listen:\n{tail(child.log())}")


def free_port(count: int = 1) -> int:
    """Return the first of `count` neighbouring ports that nobody listens on."""
    for _ in range(100):
        with ExitStack() as held:
            first = held.enter_context(socket.socket())
            first.bind(("127.0.0.1", 0))
            port = int(first.getsockname()[1])
            try:
                for neighbour in range(port + 1, port + count):
                    held.enter_context(socket.socket()).bind(("127.0.0.1", neighbour))
            except (OSError, OverflowError):
                continue
            return port
    raise RuntimeError(f"no {count} neighbouring ports are free")
