"""`make bench-workers`: what two worker processes do against one, on one embedded Kafka, in turns.

Small requests, pipelined over several connections by two client processes: of a kind that the gateway answers itself
(ApiVersions), so that the broker is not the limit, and the clients cost a tenth of what the gateway does. Beside the
throughput stands what a CPU second of the gateway does, and whether the workers had the same share. On a machine of two
cores two workers have the clients on their cores, which one has not: what that costs show two gateways of one process
each, of which each client has its own and which share nothing.
"""

import multiprocessing
import os
import socket
import statistics
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import psutil

from bench.certificates import make_certificate
from bench.client import RawClient
from bench.frames import request_frame
from bench.kafka import BenchKafka
from bench.laboratory import Laboratory
from bench.subjects import Subject, cpu_s_of
from bifrost.wire.messages import ApiVersionsRequest

ROUNDS, ROUND_S = 8, 3.0
CLIENTS, CONNECTIONS, DEPTH = 2, 8, 30
"""Processes, connections of each, and requests that each sends at once."""
WARM_UP_S = 1.0


@dataclass
class Round:
    """What one gateway did in one round."""

    requests: int
    wall_s: float
    cpu_s: list[float]
    """Of each process that carries connections, in seconds."""

    @property
    def us_per_request(self) -> float:
        """CPU time, of all of them together."""
        return sum(self.cpu_s) * 1e6 / self.requests

    @property
    def per_second(self) -> float:
        """Throughput."""
        return self.requests / self.wall_s

    @property
    def share_of_busiest(self) -> float:
        """Part of the CPU time that the busiest used."""
        return max(self.cpu_s) / sum(self.cpu_s)


def main() -> None:
    """Measure and print."""
    print(f"{os.cpu_count()} CPUs; load before: {os.getloadavg()[0]:.1f} (the figures are best taken near 0)")
    with ExitStack() as running:
        directory = Path(running.enter_context(tempfile.TemporaryDirectory(prefix="bifrost-bench-")))
        certificate = make_certificate(directory)
        laboratory = Laboratory.of(running.enter_context(BenchKafka(certificate)), certificate, directory)
        gateways = {
            name: [running.enter_context(laboratory.gateway(more=f"workers: {one}"))[0] for one in workers]
            for name, workers in {"one process": [1], "two workers": [2], "two gateways": [1, 1]}.items()
        }
        rounds: dict[str, list[Round]] = {name: [] for name in gateways}
        for number in range(ROUNDS):
            for name in list(gateways)[:: 1 if number % 2 else -1]:
                rounds[name].append(_round(gateways[name]))
    alone = rounds["one process"]
    for name, found in rounds.items():
        figures = {
            "requests/s": [one.per_second for one in found],
            "of one process's": [
                one.per_second / of.per_second for one, of in zip(found, alone, strict=True)
            ],
            "CPU us per request": [one.us_per_request for one in found],
            "busiest process's share": [one.share_of_busiest for one in found],
        }
        for label, values in figures.items():
            low, middle, high = min(values), statistics.median(values), max(values)
            print(f"{name:13} {label:24} min {low:10.2f}  median {middle:10.2f}  max {high:10.2f}")
    print(f"load after: {os.getloadavg()[0]:.1f}")


def _round(subjects: list[Subject]) -> Round:
    """Put the load on one gateway, or some together, for a while."""
    carrying: list[int] = []
    for subject in subjects:
        assert subject.pid is not None
        carrying += [child.pid for child in psutil.Process(subject.pid).children()] or [subject.pid]
    context = multiprocessing.get_context("spawn")
    counts: multiprocessing.Queue[int] = context.Queue()
    clients = [
        context.Process(target=_load, args=(subjects[number % len(subjects)], counts))
        for number in range(CLIENTS)
    ]
    for client in clients:
        client.start()
    assert [counts.get() for _ in clients] == [0] * CLIENTS
    before, began = [cpu_s_of(pid) for pid in carrying], time.perf_counter()
    requests = sum(counts.get() for _ in clients)
    wall_s = time.perf_counter() - began
    used = [cpu_s_of(pid) - one for pid, one in zip(carrying, before, strict=True)]
    for client in clients:
        client.join()
    return Round(requests, wall_s, used)


def _load(subject: Subject, counts: "multiprocessing.Queue[int]") -> None:
    """Be one client: say 0 when warm, and how many requests were answered at the end."""
    connections: list[RawClient] = [subject.connect() for _ in range(CONNECTIONS)]
    request = ApiVersionsRequest(client_software_name="bench", client_software_version="1")
    frames = request_frame(request, 3, 7) * DEPTH
    connections[0].send(frames[: len(frames) // DEPTH])
    size = 4 + len(connections[0].receive(bytearray(1024)))
    answers = memoryview(bytearray(size * DEPTH))
    for connection in connections:
        # Woken for each answer, a client would take a worker's core from it as often.
        connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, len(answers))

    def exchange(seconds: float) -> int:
        end, done = time.perf_counter() + seconds, 0
        while time.perf_counter() < end:
            for connection in connections:
                connection.send(frames)
            for connection in connections:
                connection._receive_exactly(answers)
                done += DEPTH
        return done

    exchange(WARM_UP_S)
    counts.put(0)
    counts.put(exchange(ROUND_S))


if __name__ == "__main__":
    main()
