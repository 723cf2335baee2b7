"""A gateway as a process of its own, as a user runs it: `bifrost run --config proxy.yaml`, for the tests.

Its configuration and password files are written into a directory of the caller; its ports are free ones. Stopping it is
a test of its own: SIGTERM must end it with status 0, and nothing in its log may be a bug of ours.
"""

from __future__ import annotations

import json
import os
import random
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import yaml

from bifrost.embedded.child import Child
from support.clients.endpoint import Endpoint

HOST = "127.0.0.1"
START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 15.0
PORTS = range(10_000, 32_768)
"""Linux gives out those from 32,768 on (ip_local_port_range)."""
WORKERS = {"workers": int(os.environ["BIFROST_WORKERS"])} if "BIFROST_WORKERS" in os.environ else {}
"""How many workers gateways have whose tests do not say; by default the one process."""

IS_SINGLE_ADDRESS = "BIFROST_SINGLE_ADDRESS" in os.environ
"""Whether gateways whose tests do not say have a single address for all brokers."""

PORT_ATTEMPTS = 5
"""A port that was free can be taken before the gateway binds it."""


@dataclass(frozen=True)
class TenantSpec:
    """One tenant of the generated configuration; its only user has its name and the password `<name>-pw`."""

    name: str
    allowed_topics: tuple[str, ...] | None = None
    allow_topic_deletion: bool = False
    allow_quota_changes: bool = False
    is_salted: bool = False
    """Whether the gateway is given verifiers, as `bifrost credentials` prints them, instead of the password."""
    principals: tuple[str, ...] = ()
    """Whom others vouch for, beside its user."""

    limits: Mapping[str, int] | None = None
    policy: Mapping[str, Any] | None = None

    @property
    def password(self) -> str:
        return f"{self.name}-pw"

    def section(self) -> dict[str, Any]:
        """Return the tenant's section of proxy.yaml."""
        kind = "scram" if self.is_salted else "password"
        credential = {"username": self.name, f"{kind}_file": f"secrets/{self.name}.{kind}"}
        auth: dict[str, Any] = {"credentials": [credential]}
        if self.principals:
            auth["principals"] = list(self.principals)
        section: dict[str, Any] = {"name": self.name, "auth": auth}
        if self.allowed_topics is not None:
            section["allowed_topics"] = list(self.allowed_topics)
        if self.limits is not None:
            section["limits"] = dict(self.limits)
        if self.policy is not None:
            section["policy"] = dict(self.policy)
        if self.allow_topic_deletion:
            section["allow_topic_deletion"] = True
        if self.allow_quota_changes:
            section["allow_quota_changes"] = True
        return section


ACME = TenantSpec("acme", allowed_topics=("orders", "billing", "events", "audit.log"))
GLOBEX = TenantSpec("globex")
ASSIGNS_AT_ONCE = [
    {"name": f"{kind}.assignment.interval.ms", "allowed": True} for kind in ("consumer", "share", "streams")
]
"""Otherwise groups of the new kinds make tests wait for a second."""
INITECH = TenantSpec(
    "initech",
    allow_topic_deletion=True,
    policy={"allow_replica_assignments": True, "group_configs": ASSIGNS_AT_ONCE},
)

SOYLENT = replace(INITECH, name="soylent", allow_quota_changes=True)
"""As initech, and its prefix does not change which coordinator a name has: Java's hash code of `__vt_soylent_` is
divisible by 4, the number of partitions that the embedded Kafka has for groups and for transactions."""


class GatewayProcess:
    """A running gateway, as a context manager."""

    def __init__(
        self,
        directory: Path,
        upstream: str,
        *,
        tenants: Sequence[TenantSpec] = (ACME, GLOBEX, INITECH),
        limits: Mapping[str, int] | None = None,
        brokers: int = 1,
        has_admin: bool = False,
        bind_host: str = HOST,
        mechanisms: Sequence[str] | None = None,
        listener: Mapping[str, Any] | None = None,
        log_level: str = "info",
        adjust: Callable[[dict[str, Any]], None] | None = None,
        proxy: Mapping[str, Any] | None = None,
        is_single_address: bool = IS_SINGLE_ADDRESS,
    ) -> None:
        """Describe a gateway; nothing is started yet.

        Args:
            directory: an empty one, for the configuration, the password files and the log.
            upstream: the broker's bootstrap address, several separated by commas.
            tenants: as above.
            limits: the section `proxy.limits`; all tests have one address, so failures slow no client by default.
            brokers: how many the cluster has, with node IDs from 1.
            has_admin: whether it has the operator's HTTP port.
            bind_host: where it listens, if that is not the address at which it says that it is (a tap is there).
            mechanisms: the listener set's `sasl_mechanisms`.
            listener: further keys of the listener set.
            log_level: the least severe level that is logged.
            adjust: changes the configuration before it is written.
            proxy: more sections of `proxy`.
            is_single_address: whether its bootstrap port stands for all brokers.
        """
        self._is_single_address = is_single_address
        self.directory = directory
        self._upstream = upstream.split(",")
        self._tenants = {tenant.name: tenant for tenant in tenants}
        self._limits = {"max_authentication_delay_ms": 0, "drain_timeout_ms": 5000} | dict(limits or {})
        self._mechanisms = mechanisms
        self._listener = dict(listener or {})
        self._log_level = log_level
        self._proxy = dict(proxy or {})
        self._brokers = brokers
        self._has_admin = has_admin
        self._bind_host = bind_host
        self._adjust = adjust
        self._child: Child | None = None
        self._is_second = False
        self.provoked: set[str] = set()
        """Events with the level error that the test provokes; any other one is a bug."""
        self.bootstrap_port = 0
        self.log_file = directory / "gateway.log"

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self.stop()
        elif self._child is not None:
            self._child.stop()

    # -- addresses

    def broker_port(self, node_id: int) -> int:
        """Return the port that stands for a broker."""
        return self.bootstrap_port if self._is_single_address else self.bootstrap_port + node_id

    def endpoint(self, tenant: str, mechanism: str = "PLAIN") -> Endpoint:
        """Return how a tenant connects."""
        return Endpoint(HOST, self.bootstrap_port, tenant, self._tenants[tenant].password, mechanism)

    def broker_endpoint(self, tenant: str, node_id: int = 1) -> Endpoint:
        """Return how a tenant connects to the port of one broker."""
        return Endpoint(HOST, self.broker_port(node_id), tenant, self._tenants[tenant].password)

    @property
    def admin_port(self) -> int:
        """The operator's HTTP port, behind those of the brokers."""
        return self.bootstrap_port + self._brokers + 1

    @property
    def pid(self) -> int:
        assert self._child is not None
        return self._child.pid

    # -- life

    def launch(self) -> None:
        """Start it, and do not wait until it is ready."""
        self.bootstrap_port = free_ports(2 + self._brokers)
        self._launch_here()

    def _launch_here(self) -> None:
        self._write_configuration()
        command = [sys.executable, "-m", "bifrost.cli.main", "run", "--log-format", "json"]
        command += ["--log-level", self._log_level]
        self._child = Child([*command, "--config", self.directory / "proxy.yaml"], log_file=self.log_file)

    def start(self) -> None:
        """Start it and wait until it says that it is ready."""
        for _ in range(PORT_ATTEMPTS):
            self.launch()
            if self._await_ready():
                return
            assert "is in use" in self.log() or "port_shared" in self.log(), (
                f"the gateway did not start:\n{self.log()}"
            )
            self.log_file.unlink()
        raise AssertionError("no free ports for the gateway")

    def start_second(self, first: GatewayProcess) -> None:
        """Start it on the ports of another that still runs, and wait until it is ready."""
        self._is_second = True
        self.bootstrap_port = first.bootstrap_port
        self._launch_here()
        assert self._await_ready(), f"the second gateway did not start:\n{self.log()}"

    def stop(self) -> None:
        """Stop it by SIGTERM, and check that it ends in order and had no bug."""
        self.terminate()
        self.await_end()

    def terminate(self) -> None:
        """Ask it to end, by SIGTERM."""
        assert self._child is not None
        status = self._child.exit_status()
        assert status is None, f"the gateway ended by itself with status {status}:\n{self.log()}"
        self._child.terminate()

    def await_end(self) -> None:
        """Wait until it has ended, and check how."""
        assert self._child is not None
        ended = self._child.wait(STOP_TIMEOUT_S)
        status = self._child.exit_status()
        self._child.stop()
        assert ended, f"the gateway did not end within {STOP_TIMEOUT_S} s of SIGTERM:\n{self.log()}"
        assert status == 0, f"the gateway ended with status {status}:\n{self.log()}"
        events = self.events()
        assert events[-1]["event"] == "stopped"
        errors = [one for one in events if one["event"] == "internal_error" or one["level"] == "error"]
        bugs = [one for one in errors if one["event"] not in self.provoked]
        assert bugs == []

    def kill(self) -> None:
        """End it at once, by SIGKILL and without any check; nothing if it has ended."""
        assert self._child is not None
        if self._child.exit_status() is None:
            self._child.kill()

    def _await_ready(self) -> bool:
        assert self._child is not None
        deadline = time.monotonic() + START_TIMEOUT_S
        while self._child.exit_status() is None:
            happened = {event["event"] for event in self.events()}
            if "port_shared" in happened and not self._is_second:
                # Another test's gateway has it, taken between looking and binding.
                self._child.stop()
                return False
            if "ready" in happened:
                return True
            assert time.monotonic() < deadline, f"the gateway is not ready:\n{self.log()}"
            time.sleep(0.02)
        return False

    def _write_configuration(self) -> None:
        port_range: dict[str, Any] = {
            "bind_host": self._bind_host,
            "advertised_host": HOST,
            "bootstrap_port": self.bootstrap_port,
            "broker_port_range": {
                "start": self.bootstrap_port + 1,
                "end": self.bootstrap_port + self._brokers,
            },
            "broker_id_base": 1,
        }
        if self._is_single_address:
            del port_range["broker_port_range"], port_range["broker_id_base"]
            self._listener["single_address"] = True
        listener_set: dict[str, Any] = {"name": "plaintext", "port_range": port_range} | self._listener
        if self._mechanisms is not None:
            listener_set["sasl_mechanisms"] = list(self._mechanisms)
        configuration = {
            "proxy": {
                "listener_sets": [listener_set],
                **WORKERS,
                "limits": self._limits,
                **self._proxy,
                **({"admin": {"port": self.admin_port}} if self._has_admin else {}),
            },
            "upstream": {"bootstrap": self._upstream},
            "tenants": [tenant.section() for tenant in self._tenants.values()],
        }
        if self._adjust is not None:
            self._adjust(configuration)
        self.directory.joinpath("proxy.yaml").write_text(yaml.safe_dump(configuration), encoding="utf-8")
        secrets = self.directory / "secrets"
        secrets.mkdir(exist_ok=True)
        for tenant in self._tenants.values():
            secret = secrets / f"{tenant.name}.{'scram' if tenant.is_salted else 'password'}"
            content = _verifiers(tenant) if tenant.is_salted else tenant.password + "\n"
            secret.write_text(content, encoding="utf-8")

    # -- the log

    def log(self) -> str:
        """Return all it has logged so far."""
        return self.log_file.read_text(encoding="utf-8", errors="replace")

    def events(self, since: int = 0) -> list[dict[str, Any]]:
        """Return the events logged so far, from the `since`-th on."""
        # The last line may still be being written.
        whole, _, _ = self.log().rpartition("\n")
        lines = [line for line in whole.splitlines() if line.startswith("{")]
        return [json.loads(line) for line in lines[since:]]

    def mark(self) -> int:
        """Return how many events there are; `await_event(since=...)` starts there."""
        return len(self.events())

    def await_event(self, since: int, *, timeout_s: float = 10.0, **fields: object) -> dict[str, Any]:
        """Wait for an event with these fields, and return it."""
        deadline = time.monotonic() + timeout_s
        while True:
            events = self.events(since)
            for event in events:
                if fields.items() <= event.items():
                    return event
            assert time.monotonic() < deadline, f"no event with {fields}, but {events}"
            time.sleep(0.02)


def _verifiers(tenant: TenantSpec) -> str:
    """Return what the command prints."""
    command = [sys.executable, "-m", "bifrost.cli.main", "credentials", "--username", tenant.name]
    done = subprocess.run(command, input=tenant.password, capture_output=True, text=True, check=True)
    return done.stdout


def free_ports(count: int) -> int:
    """Return the first of `count` ports in a row that no program has.

    They are below those that the system gives to outgoing connections, of which ten thousand may be open at a time.
    """
    for _ in range(1000):
        port = random.SystemRandom().randrange(PORTS.start, PORTS.stop - count)
        if all(_is_free(port + more) for more in range(count)):
            return port
    raise AssertionError(f"no {count} free ports in a row")


def _is_free(port: int) -> bool:
    try:
        with socket.create_server((HOST, port)):
            return True
    except OSError:
        return False
