"""Clients that produce as much as they are let, and what was acknowledged when."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Sequence
from typing import Self

from bifrost.wire.error_codes import ErrorCode
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import PRODUCE_BY_NAME, produce_request
from support.clients.record_batches import build_batch

RECORD_BYTES = 5_000
"""A request is small beside what a second allows, so that windows are told apart well."""
RETRY_S = 0.2


class SaturatingLoad:
    """Some clients at each of several endpoints; a context manager. A client whose gateway is gone tries to
    connect again."""

    def __init__(self, endpoints: Sequence[Endpoint], topic: str, clients: int = 4) -> None:
        """Send nothing yet; `clients` is how many there are at each endpoint."""
        self.done: list[tuple[float, int, int]] = []
        """When how many bytes were acknowledged, and the number of the endpoint."""
        self._topic, self._stop = topic, threading.Event()
        self._threads = [
            threading.Thread(target=self._run, args=(number, endpoint), daemon=True)
            for number, endpoint in enumerate(endpoints)
            for _ in range(clients)
        ]
        self._batch = build_batch([b"x" * RECORD_BYTES])

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(30)
            assert not thread.is_alive()

    def rate(self, since_s: float, until_s: float, endpoint: int | None = None) -> float:
        """Return the bytes per second that were acknowledged between two times, at all endpoints or at one."""
        found = (
            size
            for at_s, size, number in tuple(self.done)
            if since_s <= at_s < until_s and endpoint in (None, number)
        )
        return sum(found) / (until_s - since_s)

    def _run(self, number: int, endpoint: Endpoint) -> None:
        request = produce_request(self._topic, self._batch)
        while not self._stop.is_set():
            with contextlib.suppress(OSError, EOFError), RawClient.authenticated(endpoint) as client:
                while not self._stop.is_set():
                    response = client.request(request, PRODUCE_BY_NAME)
                    assert response.responses[0].partition_responses[0].error_code == ErrorCode.NONE
                    self.done.append((time.monotonic(), len(self._batch), number))
            self._stop.wait(RETRY_S)
