"""Starts what stands between the load and Kafka: HAProxy or our own relay, and gateways of one tenant or many."""

import json
import os
import random
import secrets
import shutil
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from bench.certificates import HOST, Certificate, client_context
from bench.kafka import BenchKafka
from bench.proxies import Proxy
from bench.subjects import DIRECT, GATEWAY, RELAY, Space, Subject
from bifrost.embedded.child import Child, tail
from bifrost.wire.messages import HeartbeatRequest

TENANT = "bench"
MANY_TENANTS = 1000
ACTIVE_TENANTS = 4
"""Of many, how many have topics of their own and are used, evenly spread; all have logged in once."""
READY_TIMEOUT_S = 40.0
PROXY_TIMEOUT_S = 120.0
FIRST_PORT, LAST_PORT = 20_000, 32_000
"""Linux takes ports for outgoing connections from 32768 on, unless it is told otherwise."""
MAX_CONNECTIONS = 9900
"""A proxy has two descriptors for each; most systems let a process have 20,000 or more."""


@dataclass
class Upstream:
    """What the subjects stand before."""

    port: int
    tls_port: int | None = None
    """Of its own listener with TLS, if it has one."""
    relayed_port: int | None = None
    """Of a listener that tells its clients the port `relay_port`, if it has one."""
    relay_port: int = 0


class Laboratory:
    """Starts subjects before one upstream; they end with the context that they are started in."""

    def __init__(self, upstream: Upstream, certificate: Certificate, directory: Path) -> None:
        self.upstream, self.certificate, self.directory = upstream, certificate, directory
        self._started = 0

    @classmethod
    def of(cls, kafka: BenchKafka, certificate: Certificate, directory: Path) -> "Laboratory":
        """Return the one before a Kafka that runs."""
        ports = kafka.broker_port(1), kafka.tls_port, kafka.relayed_port, kafka.relay_port
        return cls(Upstream(*ports), certificate, directory)

    def direct(self) -> list[Subject]:
        """Return the direct ways."""
        found = [Subject(DIRECT, self.upstream.port, [Space(TENANT)])]
        if self.upstream.tls_port is not None:
            found.append(self._with_tls(Subject(DIRECT, self.upstream.tls_port, [Space(TENANT)])))
        return found

    @contextmanager
    def relay(self, *, is_for_clients: bool = False) -> Iterator[list[Subject]]:
        """Run HAProxy, or our own relay where it is not installed: that one has no TLS.

        With `is_for_clients` real clients can use HAProxy as well, at the one port that the broker tells them.
        """
        haproxy, port = shutil.which("haproxy"), free_port(count=2)
        with ExitStack() as running:
            if haproxy is None:
                command = [sys.executable, "-m", "bench.relay", str(port), str(self.upstream.port)]
                child = run_child(running, command, port, self._log_file())
                yield [Subject(RELAY, port, [Space(TENANT)], child.pid, follows_addresses=False)]
                return
            config = self._new_directory() / "haproxy.cfg"
            config.write_text(_haproxy_config(port, self, is_for_clients=is_for_clients))
            child = run_child(running, [haproxy, "-f", str(config)], port, self._log_file())
            subjects = [
                Subject("haproxy", one, [Space(TENANT)], child.pid, follows_addresses=False)
                for one in (port, port + 1)
            ]
            if is_for_clients and self.upstream.relayed_port is not None:
                subjects[0].bootstrap_port, subjects[0].follows_addresses = self.upstream.relay_port, True
            yield [subjects[0], self._with_tls(subjects[1])]

    @contextmanager
    def gateway(
        self,
        tenants: int = 1,
        *,
        spread: int = ACTIVE_TENANTS,
        more: str = "",
        of_tenants: str = "",
        name: str = "",
        mechanisms: str = "PLAIN",
        visits: bool = True,
        ready_timeout_s: float = READY_TIMEOUT_S,
        tenant: str = TENANT,
        limits: str = "",
        users: int = 1,
    ) -> Iterator[list[Subject]]:
        """Run a gateway, as `bifrost run` does, with a listener set for PLAINTEXT and one for TLS.

        Args:
            tenants: how many it has.
            spread: how many of them its connections are of, in turns.
            more: a key of `proxy` with its value, such as `workers: 2`; it becomes a part of the subject's name.
            of_tenants: a key of each tenant with its value, such as `quotas: {request_rate: 100}`.
            name: the subject's, if not what the other arguments make it.
            mechanisms: what clients may authenticate by. The load uses PLAIN; with SCRAM the start takes seconds for
                thousands of tenants, because each password's verifiers are derived.
            visits: whether each of many tenants logs in once before, which takes 8 ms each.
            ready_timeout_s: how long it may take to listen.
            tenant: the name of the only tenant; of many it is what their names begin with.
            limits: more keys of `proxy.limits` with their values, as a mapping in one line without its braces.
            users: how many each tenant has.
        """
        directory, port = self._new_directory(), free_port(count=4)
        password = secrets.token_hex(8)
        (directory / "password").write_text(password)
        names = [tenant] if tenants == 1 else [f"{tenant}{number}" for number in range(tenants)]
        config = directory / "proxy.yaml"
        config.write_text(_gateway_config(port, self, names, more, of_tenants, mechanisms, limits, users))
        command = [sys.executable, "-m", "bifrost.cli.main", "run", "--config", str(config)]
        called = GATEWAY if tenants == 1 else f"{GATEWAY}, {tenants:,} tenants"
        called = name or (f"{called}, {more}" if more else called)
        step = -(-tenants // spread)
        spaces = [Space(name, (name, password), is_virtual=True) for name in names]
        with ExitStack() as running:
            child = run_child(running, command, port, self._log_file(), ready_timeout_s)
            for one in (port + 1, port + 3):
                # Workers may open the brokers' ports a moment after the bootstrap ports.
                _await_listener(HOST, one, ready_timeout_s, child)
            plain, tls = (
                Subject(called, one + 1, spaces[::step], child.pid, bootstrap_port=one, tenants=tenants)
                for one in (port, port + 2)
            )
            if visits and tenants > 1:
                visit_all(plain, spaces)
            yield [plain, self._with_tls(tls)]

    def other(self, proxy: Proxy) -> Subject:
        """Return another proxy, once it listens.

        Raises:
            RuntimeError: it does not, after two minutes.
        """
        for address in (proxy.bootstrap, proxy.broker):
            if not _await_listener(address.host, address.port, PROXY_TIMEOUT_S):
                raise RuntimeError(f"{proxy.name} does not listen on {address.host}:{address.port}")
        tenant = proxy.name.replace(" ", "-") if proxy.renames_topics else TENANT
        subject = Subject(
            proxy.name,
            proxy.broker.port,
            [Space(tenant, proxy.credentials, is_virtual=proxy.renames_topics)],
            proxy.process_id(),
            proxy.broker.host,
            proxy.bootstrap.port,
            makes_own_topics=proxy.renames_topics,
        )
        if proxy.ca_file is not None:
            subject.tls, subject.ca_file = client_context(proxy.ca_file), proxy.ca_file
        return subject

    def _with_tls(self, subject: Subject) -> Subject:
        subject.tls = self.certificate.client_context()
        subject.ca_file = self.certificate.certificate_file
        return subject

    def _new_directory(self) -> Path:
        self._started += 1
        directory = self.directory / f"{self._started}"
        directory.mkdir()
        return directory

    def _log_file(self) -> Path:
        return self.directory / f"{self._started}.log"


def visit_all(subject: Subject, spaces: list[Space]) -> None:
    """Let each tenant log in once and ask something, so that the gateway has met them all."""
    everywhere = replace(subject, spaces=spaces)
    for number in range(len(spaces)):
        client = everywhere.connect(number)
        client.request(HeartbeatRequest(group_id="unknown", generation_id=1, member_id="unknown"), 4)
        client.close()


def _gateway_config(
    port: int,
    bench: Laboratory,
    tenants: list[str],
    more: str,
    of_tenants: str,
    mechanisms: str,
    limits: str,
    users: int,
) -> str:
    upstream = f"{HOST}:{bench.upstream.port}"
    further = f", {of_tenants}" if of_tenants else ""
    return "\n".join(
        [
            "proxy:",
            f"  {more}",
            "  listener_sets:",
            *_listener_set("plain", port, "SASL_PLAINTEXT", mechanisms),
            *_listener_set("tls", port + 2, "SASL_SSL", mechanisms),
            "      tls:",
            f"        certificate_file: {json.dumps(str(bench.certificate.certificate_file))}",
            f"        key_file: {json.dumps(str(bench.certificate.key_file))}",
            f"  limits: {{max_connections: {2 * MAX_CONNECTIONS}, {limits}}}",
            f'upstream: {{ bootstrap: ["{upstream}"] }}',
            "tenants:",
            *(
                # Short, for a configuration may have no more than 1 MiB, and there may be 10,000 tenants.
                f"- {{name: {name}, auth: {{credentials: [{_credentials(name, users)}]}}{further}}}"
                for name in tenants
            ),
            "",
        ]
    )


def _credentials(name: str, users: int) -> str:
    names = [name, *(f"{name}-{number}" for number in range(1, users))]
    return ", ".join(f"{{username: {one}, password_file: password}}" for one in names)


def _listener_set(name: str, port: int, security_protocol: str, mechanisms: str) -> list[str]:
    return [
        f"    - name: {name}",
        "      port_range:",
        f"        bind_host: {HOST}",
        f"        advertised_host: {HOST}",
        f"        bootstrap_port: {port}",
        f"        broker_port_range: {{ start: {port + 1}, end: {port + 1} }}",
        "        broker_id_base: 1",
        f"      security_protocol: {security_protocol}",
        f"      sasl_mechanisms: [{mechanisms}]",
    ]


_HAPROXY = """\
global
    nbthread 1
    maxconn {maxconn}
defaults
    mode tcp
    timeout connect 10s
    timeout client 10m
    timeout server 10m
listen kafka
    bind {host}:{port}
    server broker {host}:{upstream_port}
listen kafka-tls
    bind {host}:{tls_port} ssl crt {both_file}
    server broker {host}:{upstream_port}
"""


_FOR_CLIENTS = """\
listen kafka-clients
    bind {host}:{port}
    server broker {host}:{upstream_port}
"""


def _haproxy_config(port: int, bench: Laboratory, *, is_for_clients: bool) -> str:
    upstream = bench.upstream
    config = _HAPROXY.format(
        host=HOST,
        port=port,
        tls_port=port + 1,
        upstream_port=upstream.port,
        both_file=bench.certificate.both_file,
        maxconn=MAX_CONNECTIONS,
    )
    if is_for_clients and upstream.relayed_port is not None:
        config += _FOR_CLIENTS.format(
            host=HOST, port=upstream.relay_port, upstream_port=upstream.relayed_port
        )
    return config


def run_child(
    running: ExitStack,
    command: list[str],
    port: int,
    log_file: Path,
    ready_timeout_s: float = READY_TIMEOUT_S,
) -> Child:
    """Start a process that is stopped with `running`, and wait until it listens.

    It keeps what it compiles, as an installed gateway does: else each start would compile hundreds of modules, for 2 s.
    """
    child = Child(command, log_file=log_file, env=dict(os.environ))
    running.callback(child.stop)
    if not _await_listener(HOST, port, ready_timeout_s, child):
        raise RuntimeError(f"{' '.join(command)} does not listen:\n{tail(child.log())}")
    return child


def _await_listener(host: str, port: int, timeout_s: float, child: Child | None = None) -> bool:
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline and (child is None or child.exit_status() is None):
        try:
            socket.create_connection((host, port), 1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return True
    return False


def free_port(count: int = 1) -> int:
    """Return the first of `count` neighbouring ports that no program listens on.

    They are of those below the system's range for outgoing connections: one of that may be taken between now and
    when a program listens there, by one of the many connections of a run.
    """
    for _ in range(100):
        port = random.randrange(FIRST_PORT, LAST_PORT - count)
        with ExitStack() as held:
            try:
                for neighbour in range(port, port + count):
                    held.enter_context(socket.socket()).bind((HOST, neighbour))
            except OSError:
                continue
            return port
    raise RuntimeError(f"no {count} neighbouring ports are free")
