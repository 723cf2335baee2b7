"""Put a workload on a subject for a while, and take its CPU time, throughput and latency."""

import time
from dataclasses import dataclass, field

from bench.client import RawClient
from bench.frames import read_response
from bench.subjects import Subject
from bench.workloads import Workload

WARM_UP_REQUESTS = 20


@dataclass
class Sample:
    """One round."""

    requests: int
    size: int
    """Bytes of records, or of responses that hold them."""
    wall_s: float
    cpu_s: float
    latencies_us: list[float] = field(default_factory=list, repr=False)

    @property
    def cpu_us_per_request(self) -> float:
        """CPU time of the subject's process per request."""
        return self.cpu_s * 1e6 / self.requests

    @property
    def cpu_s_per_gib(self) -> float:
        """CPU time of the subject's process per GiB."""
        return self.cpu_s * 2**30 / self.size

    @property
    def mb_per_s(self) -> float:
        """Throughput, in millions of bytes per second."""
        return self.size / 1e6 / self.wall_s

    @property
    def requests_per_s(self) -> float:
        """Throughput."""
        return self.requests / self.wall_s


class _Connection:
    """A connection with its frames and a buffer for the answers; knows their size once it is known not to vary."""

    def __init__(self, subject: Subject, workload: Workload, number: int) -> None:
        self.client: RawClient = subject.connect(number)
        self._workload = workload
        self._buffer = bytearray(1024)
        self._known: memoryview | None = None
        frames = workload.make_frames(subject.space(number), self.client, number)
        self._next_frame = frames.__next__

    def send(self) -> None:
        self.client.send(self._next_frame())

    def receive(self) -> int:
        """Receive an answer; return its size in bytes."""
        if self._known is not None:
            self.client.receive_known(self._known)
            return len(self._known)
        return len(self.client.receive(self._buffer))

    def warm_up(self) -> None:
        """Send a few requests, look at the answers, and note their size if it cannot vary."""
        for _ in range(WARM_UP_REQUESTS):
            self.send()
            answer = bytes(self.client.receive(self._buffer))
            response = read_response(self._workload.api_key, self._workload.version, answer)
            assert self._workload.accept(response), response
        if not self._workload.counts_responses:
            self._known = memoryview(bytearray(4 + len(answer)))

    def look_at_last(self) -> None:
        """Require that the answer received last was a good one too."""
        answer = bytes(self._buffer if self._known is None else self._known[4:])
        response = read_response(self._workload.api_key, self._workload.version, answer)
        assert self._workload.accept(response), response


def measure_throughput(subject: Subject, workload: Workload, seconds: float) -> Sample:
    """Keep `depth` requests in flight on each of the workload's connections for `seconds`."""
    connections = [_Connection(subject, workload, number) for number in range(workload.connections)]
    for connection in connections:
        connection.warm_up()
    sent = received = 0
    cpu_s, started = subject.cpu_s(), time.perf_counter()
    for _ in range(workload.depth):
        for connection in connections:
            connection.send()
            sent += 1
    while time.perf_counter() - started < seconds:
        for connection in connections:
            received += connection.receive()
            connection.send()
            sent += 1
    for _ in range(workload.depth):
        for connection in connections:
            received += connection.receive()
    wall_s, cpu_s = time.perf_counter() - started, subject.cpu_s() - cpu_s
    for connection in connections:
        if not workload.counts_responses:
            connection.look_at_last()
        connection.client.close()
    size = received if workload.counts_responses else sent * workload.bytes_per_request
    return Sample(sent, size, wall_s, cpu_s)


def measure_round_trips(subject: Subject, workload: Workload, seconds: float) -> Sample:
    """Send one request after the other over one connection for `seconds`, each after the answer to the last."""
    connection = _Connection(subject, workload, 0)
    connection.warm_up()
    latencies_us = []
    cpu_s, started = subject.cpu_s(), time.perf_counter()
    before = started
    while before - started < seconds:
        connection.send()
        connection.receive()
        now = time.perf_counter()
        latencies_us.append((now - before) * 1e6)
        before = now
    wall_s, cpu_s = before - started, subject.cpu_s() - cpu_s
    connection.look_at_last()
    connection.client.close()
    return Sample(len(latencies_us), 0, wall_s, cpu_s, latencies_us)
