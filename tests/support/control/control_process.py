"""`bifrost control` as a process of its own, as an operator runs it, and the commands that are its clients."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import yaml

from bifrost.embedded.child import Child
from support.control.asking import TOKENS, Asking
from support.gateways.gateway_process import HOST, free_ports

START_TIMEOUT_S = 60.0
PORT_ATTEMPTS = 5


@dataclass(frozen=True)
class Said:
    """What the API has answered."""

    status: int
    body: Any
    headers: Mapping[str, str]


class ControlProcess(Asking[Said]):
    """A running admin API, as a context manager."""

    def __init__(
        self,
        directory: Path,
        upstream: str,
        topic: str,
        *,
        tenants: list[dict[str, Any]] | None = None,
        control: Mapping[str, Any] | None = None,
        proxy: Mapping[str, Any] | None = None,
    ) -> None:
        """Write its configuration; nothing is started yet.

        Args:
            directory: for the configuration, the tokens and the log.
            upstream: the broker's bootstrap address, several separated by commas.
            topic: the topic of the state.
            tenants: the section `tenants`.
            control: further keys of `proxy.control`.
            proxy: further sections of `proxy`.
        """
        directory.mkdir(parents=True, exist_ok=True)
        self.directory, self._upstream, self._topic = directory, upstream.split(","), topic
        self._tenants, self._control = tenants or [{"name": "acme"}, {"name": "globex"}], dict(control or {})
        self._proxy = dict(proxy or {})
        self._child: Child | None = None
        self.port = 0
        self.context: Any = None
        """How requests encrypt; with TLS by default they trust any certificate."""
        if "tls" in self._control:
            self.context = ssl.create_default_context()
            self.context.check_hostname, self.context.verify_mode = False, ssl.CERT_NONE
        self.log_file = directory / "control.log"
        for name, token in TOKENS.items():
            (directory / f"{name}.token").write_text(token + "\n")
            (directory / f"{name}.token").chmod(0o600)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        assert self._child is not None
        if kind is None:
            self.stop()
        else:
            self._child.stop()

    @property
    def url(self) -> str:
        return f"http{'s' if 'tls' in self._control else ''}://{HOST}:{self.port}"

    def start(self) -> None:
        """Start it, and wait until it is ready."""
        for _ in range(PORT_ATTEMPTS):
            self.launch()
            if self._await_ready():
                return
            assert "cannot be bound" in self.log_file.read_text(), self.log_file.read_text()
        raise AssertionError("no port is free")

    def launch(self) -> None:
        """Start it, and do not wait."""
        self.port = free_ports(1)
        listeners = [
            {
                "name": one["name"],
                "security_protocol": "PLAINTEXT",
                "tenant": one["name"],
                "port_range": {"advertised_host": HOST, "bootstrap_port": 20_000 + 10 * number},
            }
            for number, one in enumerate(self._tenants)  # Not bound: no gateway runs with this file.
        ]
        admins = [
            {"name": "alice", "role": "operator", "token_file": "alice.token"},
            {"name": "bob", "token_file": "bob.token"},
        ]
        control = {"port": self.port, "admins": admins, **self._control}
        config = {
            "proxy": {
                "listener_sets": listeners,
                "state": {"topic": self._topic},
                "control": control,
                **self._proxy,
            },
            "upstream": {"bootstrap": self._upstream},
            "tenants": self._tenants,
        }
        (self.directory / "proxy.yaml").write_text(yaml.safe_dump(config))
        command = [sys.executable, "-m", "bifrost.cli.main", "control", "--log-format", "json"]
        self._child = Child(
            [*command, "--config", self.directory / "proxy.yaml"], log_file=self.log_file, cwd=self.directory
        )

    def _await_ready(self) -> bool:
        assert self._child is not None
        ends = time.monotonic() + START_TIMEOUT_S
        while self._child.exit_status() is None:
            with contextlib.suppress(OSError):  # It does not listen yet.
                if self.ask("GET", "/readyz", admin=None).status == 200:
                    return True
            assert time.monotonic() < ends, self.log_file.read_text()
            time.sleep(0.05)
        return False

    def stop(self) -> None:
        """Stop it as an operator does; it must end with status 0."""
        assert self._child is not None
        assert self._child.stop(40), "SIGTERM did not end it"
        assert self._child.exit_status() == 0, self.log_file.read_text()
        assert "control_internal_error" not in self.log_file.read_text()

    def await_end(self, timeout_s: float) -> int | None:
        """Wait until it has ended by itself; return its exit status."""
        assert self._child is not None
        self._child.wait(timeout_s)
        status = self._child.exit_status()
        self._child.stop()
        return status

    def hang_up(self) -> None:
        """Ask it to read its configuration again."""
        assert self._child is not None
        os.kill(self._child.pid, signal.SIGHUP)

    def kill(self) -> None:
        """End it at once."""
        assert self._child is not None
        self._child.kill()

    def events(self) -> list[dict[str, Any]]:
        """Return the lines of its log."""
        text = self.log_file.read_text() if self.log_file.exists() else ""
        return [json.loads(line) for line in text.splitlines() if line.startswith("{") and line.endswith("}")]

    def send(self, method: str, path: str, body: Any, headers: dict[str, str], **how: Any) -> Said:
        """Send a request; `context`: how it encrypts, in place of the process's own."""
        data = None
        if body is not None:
            data, headers["Content-Type"] = json.dumps(body).encode(), "application/json"
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        context = how.get("context") or self.context
        try:
            with urllib.request.urlopen(request, timeout=60, context=context) as answer:
                return _said(answer.status, answer.read(), answer.headers)
        except urllib.error.HTTPError as error:
            with error:
                return _said(error.code, error.read(), error.headers)

    def command(self, *arguments: str, admin: str = "alice", **more: str) -> tuple[int, str, str]:
        """Run a command of `bifrost` that is a client; return its exit status, output and errors."""
        environment = {
            **os.environ,
            "BIFROST_CONTROL_URL": self.url,
            "BIFROST_CONTROL_TOKEN_FILE": str(self.directory / f"{admin}.token"),
            **more,
        }
        done = subprocess.run(
            [sys.executable, "-m", "bifrost.cli.main", *arguments],
            cwd=self.directory,
            env=environment,
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr


def _said(status: int, data: bytes, headers: Any) -> Said:
    text = data.decode()
    is_json = "json" in (headers.get("Content-Type") or "")
    return Said(status, json.loads(text) if is_json else text, {k.lower(): v for k, v in headers.items()})
