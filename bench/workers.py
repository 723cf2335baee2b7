"""`make bench-workers`: what two worker processes do against one, before one stub broker, in turns.

Requests are pipelined over several connections by two client processes: some that the gateway answers itself, small
ones that a broker answers, and batches of 64 KiB. Beside the throughput stands what a CPU second of the gateway does,
and whether the workers had the same share. On a machine of two cores two workers have the clients on their cores, which
one has not: what that costs show two gateways of one process each, which share nothing. Each client is connected to
both of them, as it is to both workers; or, in the last row, each to its own, which lets the system keep a client and
its gateway on one core.
"""

import argparse
import multiprocessing
import os
import socket
import statistics
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from multiprocessing.synchronize import Barrier
from pathlib import Path

import psutil

from bench.certificates import HOST, make_certificate
from bench.frames import produce, record_batch, request_frame
from bench.growth_load import list_offsets
from bench.laboratory import TENANT, Laboratory, Upstream, free_port, run_child
from bench.subjects import Space, Subject, cpu_s_of, physical
from bench.topics import BATCH_BYTES, RECORD_BYTES
from bifrost.wire.messages import ApiVersionsRequest

ROUNDS, ROUND_S = 6, 2.0
CLIENTS, CONNECTIONS, DEPTH = 2, 8, 30
"""Processes, connections of each, and small requests that each sends at once."""
WARM_UP_S, PATIENCE_S = 0.5, 60.0
SPACE = Space(TENANT, is_virtual=True)
WORKERS_TO_GATEWAYS = 0.97


def workloads() -> dict[str, tuple[bytes, int]]:
    """Return the requests: what is sent at once, and of how many requests it consists."""
    versions = ApiVersionsRequest(client_software_name="bench", client_software_version="1")
    batch, _ = record_batch(BATCH_BYTES, RECORD_BYTES)
    return {
        "ApiVersions v3": (request_frame(versions, 3, 7) * DEPTH, DEPTH),
        "ListOffsets v7": (list_offsets(SPACE, [0]) * DEPTH, DEPTH),
        "Produce v9, 64 KiB": (request_frame(produce("t0", b"", 9, 0, batch), 9, 1) * 2, 2),
    }


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


def main() -> int:
    """Measure and print; return 1 when the goal is missed and `--check` is given."""
    parser = argparse.ArgumentParser(prog="make bench-workers", description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="exit with status 1 when the goal is missed")
    options = parser.parse_args()
    print(f"{os.cpu_count()} CPUs; load before: {os.getloadavg()[0]:.1f} (the figures are best taken near 0)")
    missed = False
    with ExitStack() as running:
        directory = Path(running.enter_context(tempfile.TemporaryDirectory(prefix="bifrost-bench-")))
        certificate, port = make_certificate(directory), free_port()
        command = [sys.executable, "-m", "bench.stub_broker", HOST, str(port), physical(TENANT, "t"), "1"]
        run_child(running, command, port, directory / "stub.log")
        laboratory = Laboratory(Upstream(port), certificate, directory)
        one, two, *both = [
            running.enter_context(laboratory.gateway(more=f"workers: {workers}"))[0]
            for workers in (1, 2, 1, 1)
        ]
        ways = {"one process": [one], "two workers": [two], "two gateways": both, "two gateways, apart": both}
        print(f"\n{HEAD}\n{RULE}")
        for workload, (frames, count) in workloads().items():
            rounds: dict[str, list[Round]] = {way: [] for way in ways}
            for number in range(ROUNDS):
                for way in list(ways)[:: 1 if number % 2 else -1]:
                    found = _round(ways[way], frames, count, is_apart=way.endswith("apart"))
                    rounds[way].append(found)
            for way, found_rounds in rounds.items():
                print(_line(f"{workload}: {way}", found_rounds, rounds["one process"]), flush=True)
            reached = _ratio(rounds["two workers"], rounds["two gateways"])
            missed |= reached < WORKERS_TO_GATEWAYS
            print(f"| two workers to two gateways | {reached:.2f}, the goal is {WORKERS_TO_GATEWAYS} | | | |")
    print(f"load after: {os.getloadavg()[0]:.1f}")
    return 1 if options.check and missed else 0


HEAD = "| | requests/s | of one process's | CPU µs per request | busiest process's share |"
RULE = "| --- | ---: | ---: | ---: | ---: |"


def _ratio(ours: list[Round], theirs: list[Round]) -> float:
    return statistics.median(one.per_second / of.per_second for one, of in zip(ours, theirs, strict=True))


def _line(name: str, found: list[Round], alone: list[Round]) -> str:
    cells = [
        _spread([one.per_second for one in found], 0),
        f"{_ratio(found, alone):.2f}",
        _spread([one.us_per_request for one in found], 1),
        f"{statistics.median(one.share_of_busiest for one in found):.2f}",
    ]
    return f"| {name} | {' | '.join(cells)} |"


def _spread(values: list[float], digits: int) -> str:
    texts = [f"{one:,.{digits}f}" for one in (statistics.median(values), min(values), max(values))]
    return f"{texts[0]} ({texts[1]} to {texts[2]})"


def _round(subjects: list[Subject], frames: bytes, count: int, *, is_apart: bool) -> Round:
    """Put the load on one gateway, or some together, for a while."""
    carrying: list[int] = []
    for subject in subjects:
        assert subject.pid is not None
        carrying += [child.pid for child in psutil.Process(subject.pid).children()] or [subject.pid]
    context = multiprocessing.get_context("spawn")
    counts: multiprocessing.Queue[int] = context.Queue()
    start = context.Barrier(CLIENTS + 1)
    clients = [
        context.Process(
            target=_load,
            args=(subjects[number:][:1] if is_apart else subjects, frames, count, start, counts),
            daemon=True,
        )
        for number in range(CLIENTS)
    ]
    for client in clients:
        client.start()
    start.wait(PATIENCE_S)
    before, began = [cpu_s_of(pid) for pid in carrying], time.perf_counter()
    requests = sum(counts.get(timeout=PATIENCE_S) for _ in clients)
    wall_s = time.perf_counter() - began
    used = [cpu_s_of(pid) - one for pid, one in zip(carrying, before, strict=True)]
    for client in clients:
        client.join()
    return Round(requests, wall_s, used)


def _load(
    subjects: list[Subject], frames: bytes, count: int, start: Barrier, counts: "multiprocessing.Queue[int]"
) -> None:
    """Be one client: warm up, start with the others, and say how many requests were answered."""
    connections = [subjects[number % len(subjects)].connect() for number in range(CONNECTIONS)]
    connections[0].send(frames[: len(frames) // count])
    size = 4 + len(connections[0].receive(bytearray(1024)))
    answers = memoryview(bytearray(size * count))
    for connection in connections:
        # Woken for each answer, a client would take a worker's core from it as often. With a time limit Python polls
        # first; a receive that blocks would take a part, and the rest alone would not wake it.
        connection.socket.settimeout(PATIENCE_S)
        connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, len(answers))

    def exchange(seconds: float) -> int:
        end, done = time.perf_counter() + seconds, 0
        while time.perf_counter() < end:
            for connection in connections:
                connection.send(frames)
            for connection in connections:
                connection.receive_all(answers)
                done += count
        return done

    exchange(WARM_UP_S)
    start.wait(PATIENCE_S)
    counts.put(exchange(ROUND_S))


if __name__ == "__main__":
    sys.exit(main())
