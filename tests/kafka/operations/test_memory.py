"""What a gateway keeps in memory: little after its start, and little of what a load needed once that is over."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from support.clients.raw_client import RawClient
from support.clients.raw_operations import fetch_request, produce_request
from support.clients.record_batches import build_batch
from support.gateways.gateway_fixtures import FreshTopic, StartGateway
from support.gateways.gateway_process import GatewayProcess

pytestmark = pytest.mark.skipif("BIFROST_WORKERS" in os.environ, reason="the one process is measured")

MIB = 1 << 20
OWN_AFTER_START, OWN_WITH_CONNECTIONS = 32.2 * MIB, 33.4 * MIB
"""Bounds of the gateway's own memory (`RssAnon`): at most 31.9 and 33.0 MiB were measured with CPython 3.11, and runs
differ by 0.1. What it is made of is in docs/performance.md."""
RESIDENT = 54 * MIB
"""Bound of all that is resident: some 19 MiB of files come to its own memory, the interpreter and libraries. How much
of them is mapped is up to the kernel and to what the page cache has; 19.1 to 19.3 MiB on one machine."""
CONNECTIONS = 100
NOT_NEEDED = {
    "argparse", "cryptography", "email", "gssapi", "h11", "http.client", "importlib.metadata", "importlib.resources",
    "jwt", "kafka", "multiprocessing", "pickle", "prometheus_client", "rich.console", "sysconfig", "tempfile", "typer",
    "unittest", "uuid", "zipfile", "zoneinfo",
}  # fmt: skip
"""Modules that a gateway without OAuth, Kerberos and an admin port has no use for; each would stay."""
NOT_NEEDED_ROOMS = ("bifrost.routes.", "bifrost.gateway.routing.", "bifrost.gateway.brokers.cluster_routes")
"""What only a listener with a single address needs."""


def _soon(is_so: Callable[[], bool], timeout_s: float = 10.0) -> bool:
    deadline = time.monotonic() + timeout_s
    while not is_so() and time.monotonic() < deadline:
        time.sleep(0.2)
    return is_so()


def _resident_bytes(gateway: GatewayProcess) -> dict[str, int]:
    """Return the kernel's numbers of resident memory: all of it (VmRSS), and its parts."""
    lines = Path(f"/proc/{gateway.pid}/status").read_text().splitlines()
    fields = (line.split() for line in lines if line.startswith(("VmRSS:", "Rss")))
    return {name.rstrip(":"): 1024 * int(kib) for name, kib, _unit in fields}


def _is_within(gateway: GatewayProcess, own: float) -> bool:
    found = _resident_bytes(gateway)
    return found["RssAnon"] < own and found["VmRSS"] < RESIDENT


def _work(gateway: GatewayProcess, clients: list[RawClient]) -> None:
    """Let all send 64 KiB twice at once, and three of them fetch what is there at once."""
    batch = build_batch([bytes(1000)] * 65)
    for client in clients:
        for _ in range(2):
            client.send(produce_request("orders", batch), 9)
    for client in clients:
        for _ in range(2):
            client.receive_frame()
    for client in clients[:3]:
        request = fetch_request("orders")
        request.max_bytes = request.topics[0].partitions[0].partition_max_bytes = 8 * MIB
        client.send(request, 11)
    for client in clients[:3]:
        assert len(client.receive_frame()) > 7 * MIB


def test_a_gateway_is_small_and_small_again_after_a_load(
    start_gateway: StartGateway, fresh_topic: FreshTopic
) -> None:
    fresh_topic("acme", "orders")
    gateway = start_gateway()
    assert _is_within(gateway, OWN_AFTER_START), _resident_bytes(gateway)

    clients = [RawClient.authenticated(gateway.endpoint("acme")) for _ in range(CONNECTIONS)]
    _work(gateway, clients)

    assert _soon(lambda: _is_within(gateway, OWN_WITH_CONNECTIONS)), _resident_bytes(gateway)
    for client in clients:
        client.close()


def test_a_gateway_imports_nothing_that_its_configuration_does_not_need(
    start_gateway: StartGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPROFILEIMPORTTIME", "1")  # Each import is a line on standard error.

    gateway = start_gateway()

    imported = set(re.findall(r"^import time:.*\| +([\w.]+)$", gateway.log(), re.MULTILINE))
    assert {"uvloop", "pydantic", "bifrost.gateway.gateway"} <= imported
    assert imported & NOT_NEEDED == set()
    assert not [one for one in imported if one.startswith(NOT_NEEDED_ROOMS)]
