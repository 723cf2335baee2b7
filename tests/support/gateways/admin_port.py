"""What the operator's HTTP port of a gateway tells."""

from __future__ import annotations

import time
import urllib.error
import urllib.request
from collections.abc import Callable

from prometheus_client.parser import text_string_to_metric_families

from support.gateways.gateway_process import HOST, GatewayProcess


def ask(gateway: GatewayProcess, path: str) -> tuple[int, str]:
    """Get a page."""
    try:
        with urllib.request.urlopen(f"http://{HOST}:{gateway.admin_port}{path}", timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def value(gateway: GatewayProcess, name: str, **labels: str) -> float:
    """Read a metric; 0 when there is none."""
    _, text = ask(gateway, "/metrics")
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name == name and sample.labels == labels:
                return sample.value
    return 0.0


def await_value(read: Callable[[], float], wanted: float) -> None:
    """Wait until a metric is what it should be."""
    deadline = time.monotonic() + 10
    while read() != wanted:
        assert time.monotonic() < deadline, read()
        time.sleep(0.05)
