"""A real HAProxy before gateways, with the configuration of examples/haproxy.cfg."""

from __future__ import annotations

import shutil
import socket
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from bifrost.embedded.child import Child
from support.gateways.gateway_process import HOST, GatewayProcess
from support.skips.optional_parts import SBIN

EXAMPLE = Path(__file__).resolve().parents[3] / "examples/haproxy.cfg"
START_S = 15.0


def find_haproxy() -> str | None:
    """Return the program, if it is there."""
    return shutil.which("haproxy", path=SBIN)


class HAProxy:
    """Listens at HOST on the ports of a gateway, and gives each connection to one of several; a context manager."""

    def __init__(
        self, directory: Path, gateway: GatewayProcess, hosts: Sequence[str], *, brokers: int = 1
    ) -> None:
        """Write its configuration.

        Args:
            directory: for the configuration and the log.
            gateway: one of the gateways, which all have its ports.
            hosts: where the two gateways are.
            brokers: how many brokers have a port.
        """
        self._directory, self._port = directory, gateway.bootstrap_port
        text = EXAMPLE.read_text(encoding="utf-8")
        changes = {
            ":9092-9095": f"{HOST}:{gateway.bootstrap_port}-{gateway.broker_port(brokers)}",
            "port 9404": f"port {gateway.admin_port}",
            "10.0.0.7": hosts[0],
            "10.0.0.8": hosts[1],
        }
        for before, after in changes.items():
            assert before in text, f"the example has no {before}"
            text = text.replace(before, after)
        self._file = directory / "haproxy.cfg"
        self._file.write_text(text, encoding="utf-8")

    def __enter__(self) -> Self:
        program = find_haproxy()
        assert program is not None
        self._child = Child([program, "-db", "-f", self._file], log_file=self._directory / "haproxy.log")
        deadline = time.monotonic() + START_S
        while not self._listens():
            assert self._child.exit_status() is None, self._child.log()
            assert time.monotonic() < deadline, self._child.log()
            time.sleep(0.05)
        return self

    def __exit__(self, *_: object) -> None:
        self._child.stop()

    def _listens(self) -> bool:
        try:
            with socket.create_connection((HOST, self._port), timeout=1):
                return True
        except OSError:
            return False
