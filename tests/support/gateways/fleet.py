"""Gateways that have the quotas of their tenants together."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from support.gateways.gateway_process import GLOBEX, GatewayProcess

RATE = 400_000
"""Bytes a second: far below what a busy machine can do."""


class Fleet:
    """Gateways that share one exchange."""

    def __init__(self, directory: Path, bootstrap: str) -> None:
        self.directory, self.bootstrap = directory, bootstrap
        self.topic = f"__quotas-{time.time_ns()}"
        self.gateways: list[GatewayProcess] = []
        self.killed: list[GatewayProcess] = []
        self.tenants = [GLOBEX]

    def start(
        self,
        workers: int = 1,
        quotas: dict[str, Any] | None = None,
        adjust: Callable[[dict[str, Any]], None] = lambda _configuration: None,
        **proxy: Any,
    ) -> GatewayProcess:
        """Start a gateway; its tenant globex has a quota of produced bytes, if nothing else is said."""
        given = {"producer_byte_rate": RATE} if quotas is None else quotas

        def adjusted(configuration: dict[str, Any]) -> None:
            for tenant in configuration["tenants"]:
                tenant["quotas"] = given
            adjust(configuration)

        directory = self.directory / f"gateway-{len(self.gateways)}"
        directory.mkdir()
        sections = {"workers": workers, "quota_exchange": {"topic": self.topic}} | proxy
        gateway = GatewayProcess(
            directory, self.bootstrap, tenants=self.tenants, has_admin=True, proxy=sections, adjust=adjusted
        )
        gateway.start()
        self.gateways.append(gateway)
        return gateway

    def kill(self, gateway: GatewayProcess) -> None:
        """End all processes of a gateway at once, with SIGKILL."""
        workers = [event["pid"] for event in gateway.events() if event["event"] == "worker_started"]
        for pid in (gateway.pid, *workers):
            os.kill(pid, signal.SIGKILL)
        gateway.kill()
        self.killed.append(gateway)

    def end(self) -> None:
        """Stop those that run, and check that they end in order."""
        running = [one for one in self.gateways if one not in self.killed]
        self.gateways = []
        for gateway in running:
            gateway.stop()
