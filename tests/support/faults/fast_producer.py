"""A producer that does not wait for answers, and what is seen of its gateway meanwhile."""

from __future__ import annotations

import os
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import psutil

from support.clients.raw_client import RawClient, decode_response, request_frame
from support.clients.raw_operations import produce_request
from support.clients.record_batches import build_batch
from support.gateways.gateway_process import GatewayProcess

MIB = 1 << 20
REQUESTS, RECORDS = 64, 900
"""How many it sends, and how many records each has, of a kilobyte."""
WAIT_S = 120.0
PRODUCE = 9


def receive_window(connection: socket.socket) -> int:
    """Return how many bytes the other side is ready to receive, as this side was told last (tcpi_snd_wnd)."""
    information = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 232)
    return int(struct.unpack_from("I", information, 228)[0])


@dataclass
class Watch:
    """What was seen while a producer was at work."""

    memory: list[int] = field(default_factory=list)
    windows: list[int] = field(default_factory=list)


@contextmanager
def watching(gateway: GatewayProcess, connection: socket.socket | None = None) -> Iterator[Watch]:
    """Look again and again at the gateway's memory, and at the window of a client's connection."""
    seen, is_over, process = Watch(), threading.Event(), psutil.Process(gateway.pid)

    def look() -> None:
        while not is_over.wait(0.02):
            seen.memory.append(process.memory_info().rss)
            if connection is not None:
                seen.windows.append(receive_window(connection))

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield seen
    finally:
        is_over.set()
        thread.join()


class FastProducer(RawClient):
    """Sends large requests without waiting for answers."""

    sent = 0
    """Bytes that were taken of it."""

    def pour(self, topic: str) -> threading.Thread:
        """Begin to send all requests, as fast as they are taken."""
        request = produce_request(topic, build_batch([os.urandom(1000)] * RECORDS))
        frames = [request_frame(request, PRODUCE, number) for number in range(REQUESTS)]

        def work() -> None:
            for frame in frames:
                left = memoryview(frame)
                while left:
                    try:
                        taken = self.socket.send(left)
                    except OSError:
                        return  # The test has closed it.
                    self.sent += taken
                    left = left[taken:]

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        return thread

    def answers(self) -> list[Any]:
        """Return what was answered for the partition, request by request."""
        frames = [self.receive_frame() for _ in range(REQUESTS)]
        return [decode_response(0, PRODUCE, one).responses[0].partition_responses[0] for one in frames]

    def stands_still(self) -> bool:
        """Whether a second lets no more pass than a narrow line does, after something was taken."""
        before = self.sent
        time.sleep(1)
        return before > 0 and self.sent - before <= 256 * 1024
