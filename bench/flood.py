"""`make bench-flood`: what a tenant notices of another one that sends as much as it can.

One tenant sends small batches in an open loop (`schedule.py`), a tenth of what the gateway takes of it alone, and its
99th percentile is taken by turns: alone, and while another tenant floods the gateway with batches of 64 KiB from a
process of its own. The second gateway has quotas that leave the flood a tenth of what it gets without them.

The flood's own process has the lowest priority: its client would be on another machine, and here it would take the
cores from those that are measured. The third way is an L4 relay, which isolates nothing: a flood of just that tenth
shows what of a change is the broker's and the machine's, which has load, flood, broker and relay on the same cores.
"""

import argparse
import multiprocessing
import select
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import cycle, islice
from multiprocessing.synchronize import Event
from pathlib import Path

from bench.bar_chart import draw_bars
from bench.certificates import make_certificate
from bench.client import RawClient
from bench.end_to_end import Side
from bench.kafka import BenchKafka
from bench.laboratory import Laboratory, free_port
from bench.machine import Machine
from bench.measure import measure_throughput
from bench.memory import raise_descriptor_limit
from bench.page import replace_between
from bench.percentiles import percentile, spread
from bench.priority import give_way
from bench.schedule import Schedule
from bench.subjects import PLAINTEXT, Subject
from bench.table import Table
from bench.topics import Topics
from bench.workloads import Workload, bulk_workloads, tiny_produce

PAGE, PLOT = "quotas.md", "quotas-flood.svg"
ROUNDS, LOAD_S, CAPACITY_S = 5, 6.0, 3.0
SHARE = 0.1
"""Of its capacity a tenant uses so much, and a flood with a quota gets so much of its own."""
MOST = 1.2
"""The 99th percentile beside a flood may be so many times as long, with quotas."""
READ_MIB = 16
FLOODS_S = 1.0
"""How long a flood lasts before anything is measured beside it: its connections are open, and its quota is used up."""
PATIENCE_S = 60.0
RELAYED = "by {}, the same rate"
ALONE, FLOODED = "alone", "beside a flood"


@dataclass(frozen=True)
class Way:
    """What both tenants go through."""

    name: str
    of_tenant: Subject
    of_flood: Subject
    flood_rate: float | None = None
    """Requests per second of the flood; None: as many as it can."""

    @classmethod
    def through(cls, gateway: Subject) -> "Way":
        """Return the way through a gateway with two tenants."""
        spaces = gateway.spaces
        return cls(gateway.name, replace(gateway, spaces=[spaces[0]]), replace(gateway, spaces=[spaces[1]]))


def main() -> int:
    """Measure, print, and write the page if asked to."""
    options = _options()
    raise_descriptor_limit()
    machine = Machine.now()
    print(machine)
    with ExitStack() as running:
        directory = Path(running.enter_context(tempfile.TemporaryDirectory(prefix="bifrost-flood-")))
        certificate = make_certificate(directory)
        kafka = running.enter_context(BenchKafka(certificate, free_port()))
        laboratory, topics = Laboratory.of(kafka, certificate, directory), Topics(READ_MIB)
        free = running.enter_context(laboratory.gateway(2, spread=2, name="without quotas"))[0]
        topics.make([*laboratory.direct(), free])
        small, bulk = tiny_produce(topics), bulk_workloads(topics)[0]
        unbound = Way.through(free)
        rate = measure_throughput(unbound.of_tenant, small, CAPACITY_S).requests_per_s * SHARE
        flood = measure_throughput(unbound.of_flood, bulk, CAPACITY_S)
        flood_mb_s = flood.mb_per_s
        quotas = f"quotas: {{producer_byte_rate: {int(flood_mb_s * 1e6 * SHARE)}}}"
        bound = running.enter_context(laboratory.gateway(2, spread=2, of_tenants=quotas, name="with quotas"))[
            0
        ]
        relay = running.enter_context(laboratory.relay())[0]
        paced = Way(RELAYED.format(relay.name), relay, relay, flood.requests_per_s * SHARE)
        ways = [unbound, Way.through(bound), paced]
        latencies, ratios = _measure(ways, small, bulk, rate, options)
    load = f"{rate:,.0f} requests per second; the flood has {flood_mb_s:,.0f} MB/s without quotas"
    print(f"\n{load}")
    for table in (latencies, ratios):
        print(f"\n{table.as_text()}")
    machine = machine.after()
    print(f"\n{machine.load}")
    if options.plot:
        drawing = draw_bars("A tenant beside a flood", f"{machine}: {load}", [latencies])
        (options.plot / PLOT).write_text(drawing, "utf-8")
        page = options.plot / PAGE
        tables = [latencies.as_markdown(), ratios.as_markdown(), f"![99th percentiles]({PLOT})"]
        text = "\n\n".join([f"{machine}. {machine.load}. The tenant sends {load}.", *tables])
        page.write_text(replace_between(page.read_text("utf-8"), "flood", text), "utf-8")
    ratio = spread(ratios.rows["99th percentile"][bound.name]).median
    return 1 if options.check and ratio > MOST else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench-flood", description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--seconds", type=float, default=LOAD_S, help="of load for each figure")
    parser.add_argument("--check", action="store_true", help="exit with status 1 when the goal is missed")
    parser.add_argument("--plot", type=Path, metavar="FOLDER", help="write table and plot to a folder's page")
    return parser.parse_args()


def _measure(
    ways: list[Way], small: Workload, bulk: Workload, rate: float, options: argparse.Namespace
) -> tuple[Table, Table]:
    """Return the percentiles, and those beside a flood divided by those alone, round by round."""
    shown = [f"99th percentile, {one.name}" for one in ways]
    latencies = Table("Latency of a tenant's requests", PLAINTEXT, "ms", 2, plotted=shown)
    ratios = Table("Latency beside a flood to latency alone, round by round", PLAINTEXT, "ratio", 2)
    for number in range(options.rounds):
        for way in ways if number % 2 == 0 else reversed(ways):
            alone = _load(way.of_tenant, small, rate, options.seconds)
            with _flood(way.of_flood, bulk, way.flood_rate):
                beside = _load(way.of_tenant, small, rate, options.seconds)
            for called, share in (("median", 0.5), ("99th percentile", 0.99)):
                before, during = percentile(alone, share), percentile(beside, share)
                latencies.add(f"{called}, {way.name}", ALONE, before)
                latencies.add(f"{called}, {way.name}", FLOODED, during)
                ratios.add(called, way.name, during / before)
    return latencies, ratios


def _load(subject: Subject, workload: Workload, rate: float, seconds: float) -> list[float]:
    """Send requests at a fixed rate, by turns over the workload's connections; return all latencies in ms."""
    clients = [subject.connect(number) for number in range(workload.connections)]
    frames = [workload.make_frames(subject.space(0), client, number) for number, client in enumerate(clients)]
    sides = {client.socket: (Side(client), number) for number, client in enumerate(clients)}
    turns = cycle([(side, frames[number]) for side, number in sides.values()])
    answered, found, sent = [0] * len(clients), list[float](), 0
    schedule = Schedule(time.perf_counter() + 0.1, rate, int(rate * seconds))
    while len(found) < schedule.count:
        now = time.perf_counter()
        if now > schedule.due_s(schedule.count) + PATIENCE_S:
            raise TimeoutError(f"{len(found)} of {schedule.count} answers arrived")
        for side, own in islice(turns, schedule.due_by(now) - sent):
            side.send(bytes(next(own)))
            sent += 1
        wait_s = schedule.due_s(sent) - time.perf_counter() if sent < schedule.count else 1.0
        for socket in select.select(list(sides), [], [], max(wait_s, 0.0))[0]:
            side, number = sides[socket]
            answers, now = len(side.receive()), time.perf_counter()
            for _ in range(answers):
                index = answered[number] * len(clients) + number
                found.append(schedule.latency_s(index, now) * 1000)
                answered[number] += 1
    for client in clients:
        client.close()
    return found


@contextmanager
def _flood(subject: Subject, workload: Workload, rate: float | None) -> Iterator[None]:
    """Send requests from another process while the context lasts, as many as go or at a fixed rate."""
    client = subject.connect()
    frames = list(islice(workload.make_frames(subject.space(0), client, 0), 8))
    client.close()
    processes = multiprocessing.get_context("spawn")
    has_begun = processes.Event()
    at = subject.host, subject.port, subject.space(0).credentials
    flood = processes.Process(
        target=_send_all,
        args=(has_begun, at, [bytes(one) for one in frames], workload.connections, workload.depth, rate),
        daemon=True,
    )
    flood.start()
    try:
        assert has_begun.wait(PATIENCE_S), "the flood has not begun"
        time.sleep(FLOODS_S)
        assert flood.is_alive(), "the flood has ended"
        yield
        assert flood.is_alive(), "the flood has ended"
    finally:
        flood.kill()
        flood.join()


def _send_all(
    has_begun: Event,
    at: tuple[str, int, tuple[str, str] | None],
    frames: list[bytes],
    connections: int,
    depth: int,
    rate: float | None,
) -> None:
    """Have as many requests in flight as the connections take, for ever; with a rate, send one after the other."""
    give_way()
    clients = [RawClient(*at, timeout_s=PATIENCE_S) for _ in range(connections)]
    buffer, endless = bytearray(1024), cycle(frames)
    for client in clients * depth:
        client.send(next(endless))
    has_begun.set()
    schedule = None if rate is None else Schedule(time.perf_counter(), rate, sys.maxsize)
    for number, client in enumerate(cycle(clients)):
        if schedule is not None:
            time.sleep(max(0.0, schedule.due_s(number) - time.perf_counter()))
        client.receive(buffer)
        client.send(next(endless))


if __name__ == "__main__":
    sys.exit(main())
