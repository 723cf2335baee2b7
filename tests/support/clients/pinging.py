"""A tenant that asks for little, again and again, while another tenant does something."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from bifrost.wire.messages import MetadataRequest
from support.clients.raw_client import RawClient
from support.gateways.gateway_process import GatewayProcess


@contextmanager
def pinging(gateway: GatewayProcess, tenant: str) -> Iterator[list[float]]:
    """Let a tenant ask for its topics again and again; give the seconds that each answer took."""
    taken: list[float] = []
    stop = threading.Event()

    def ping() -> None:
        with RawClient.authenticated(gateway.broker_endpoint(tenant)) as client:
            request = MetadataRequest(topics=[], allow_auto_topic_creation=False)
            while not stop.is_set():
                began = time.monotonic()
                client.request(request, 9)
                taken.append(time.monotonic() - began)
                time.sleep(0.005)

    thread = threading.Thread(target=ping)
    thread.start()
    try:
        yield taken
    finally:
        stop.set()
        thread.join()
