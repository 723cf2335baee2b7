"""A gateway on uvloop in a thread of the test's own process, so that a test can put a bug where it wants one."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import uvloop

from bifrost.gateway.gateway import Gateway
from bifrost.wire.messages import MetadataRequest
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.gateways.gateway_process import ACME, HOST, GatewayProcess, free_ports
from support.gateways.worker_gateway import await_true
from support.journal.loading import load

LIMITS = {"metadata_refresh_ms": 1000, "authentication_timeout_ms": 500, "max_idle_ms": 2000}


class Bug(RuntimeError):
    """What a test puts in."""


class InProcess:
    """A gateway in a thread of this process."""

    def __init__(self, folder: Path, upstream: str, **options: Any) -> None:
        """Describe a gateway with one tenant; options as for `GatewayProcess`."""
        files = GatewayProcess(folder, upstream, **({"tenants": [ACME], "limits": LIMITS} | options))
        files.bootstrap_port = free_ports(3)
        files._write_configuration()
        self.gateway = Gateway(load(folder / "proxy.yaml"))
        self.endpoint = files.endpoint
        self.port, self.broker_port = files.bootstrap_port, files.broker_port(1)
        self._thread = threading.Thread(target=lambda: uvloop.run(self._run()), daemon=True)

    async def _run(self) -> None:
        self.loop = asyncio.get_running_loop()
        self._stop, self._hurry = asyncio.Event(), asyncio.Event()
        await self.gateway.run(self._stop, self._hurry)

    def start(self) -> None:
        self._thread.start()
        await_true(lambda: self.gateway.is_ready, "the gateway is not ready")

    def stop(self) -> None:
        # The loop may be closed as soon as it is told to stop.
        for event in (self._hurry, self._stop):
            self.loop.call_soon_threadsafe(event.set)
        self._thread.join(20)
        assert not self._thread.is_alive()

    @property
    def errors(self) -> int:
        return self.gateway.internal_errors.counts.total()

    def connect(self, port: int | None = None) -> RawClient:
        return RawClient.authenticated(
            Endpoint(HOST, port or self.port, ACME.name, ACME.password), timeout_s=5
        )

    def is_served(self, port: int | None = None) -> bool:
        with self.connect(port) as client:
            return bool(client.request(MetadataRequest(topics=[]), 9).brokers)


def raise_bug(*_: object, **__: object) -> Any:
    raise Bug


async def raise_bug_later(*_: object, **__: object) -> Any:
    raise Bug
