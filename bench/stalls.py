"""`make bench-stalls`: how long periodic tasks keep requests waiting, with few tenants, users and topics and with many.

For each task a gateway runs that does it often, and no other: files are watched ten times a second, not every two
seconds. Meanwhile one client sends Heartbeats at a fixed rate in an open loop (`schedule.py`), so that a stall counts
for all requests that come due in it. HAProxy carries the same load in turns with each gateway, and while it does the
gateway goes on with its task, so that both have the same cores to themselves. The longest turn of the event loop is the
gateway's own figure, by CPU time; what a request waits for another thread shows in its latency.
"""

import argparse
import json
import multiprocessing
import os
import re
import select
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.synchronize import Event
from pathlib import Path
from urllib.request import urlopen

from bench.certificates import HOST, make_certificate
from bench.client import RawClient
from bench.end_to_end import Side
from bench.frames import request_frame
from bench.goals import GREATEST_TURN_MS, TAIL_BEYOND_RELAY_MS
from bench.kafka import BenchKafka
from bench.laboratory import TENANT, Laboratory, free_port
from bench.machine import Machine
from bench.memory import raise_descriptor_limit
from bench.page import DOCS, between, replace_between
from bench.percentiles import percentile
from bench.schedule import Schedule
from bench.subjects import Subject, physical
from bifrost.wire.messages import CreateTopicsRequest, HeartbeatRequest

PAGE = "performance.md"
Row = tuple[str, str]
"""How many of what there are, and the task."""
RATE, LOAD_S = 500, 8.0
TASK_S = 0.1
"""Time between two runs of a task that the load process causes."""
RELOAD_S = 2.0
TOPICS_AT_ONCE = 500
PATIENCE_S = 60.0
_LARGEST = re.compile(
    rb'bifrost_event_loop_stall_largest_seconds\{clock="cpu",since="scrape",worker="[^"]*"\} (\S+)'
)
_KEYS = json.dumps(
    {
        "keys": [
            {
                "kty": "EC",
                "crv": "P-256",
                "kid": "bench",
                "x": "MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4",
                "y": "4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM",
            }
        ]
    }
).encode()
"""A public key: the example of RFC 7517, A.1."""


@dataclass(frozen=True)
class Size:
    """What a gateway has many of."""

    tenants: int
    users: int = 1
    """Of each tenant."""
    topics: int = 0
    """At the brokers, of one tenant."""

    def __str__(self) -> str:
        more = [f"{self.users:,} users each"] if self.users > 1 else []
        more += [f"{self.topics:,} topics"] if self.topics else []
        return ", ".join([f"{self.tenants:,}", *more])


SIZES = (Size(1), Size(1000), Size(10_000), Size(100, users=100), Size(1, topics=5000))
"""The topics come last, for they stay."""


@dataclass(frozen=True)
class Task:
    """What a gateway does periodically."""

    name: str
    keys: str = ""
    """Keys of `proxy`, with which it does so often."""
    mechanism: str = "PLAIN"
    cause: Callable[[int, int], None] | None = None
    """Has the gateway do it, for ever, in a process of its own: a thread of the load's would delay what it measures.
    It gets the gateway's process ID and admin port. None: the gateway does so by itself."""


@dataclass(frozen=True)
class Found:
    """Latencies of requests in milliseconds, and the longest turn of the event loop meanwhile, 0 for a relay."""

    p50: float
    p99: float
    p999: float
    largest: float
    turn_ms: float = 0.0


def scrape(_pid: int, port: int) -> None:
    """Read the metrics again and again."""
    while True:
        time.sleep(TASK_S)
        _metrics(port)


def reload(pid: int, _port: int) -> None:
    """Change the share of one tenant in the configuration again and again, and have it read."""
    config = Path(_config_of(pid))
    text, number = config.read_text(), 0
    while True:
        time.sleep(RELOAD_S)
        number += 1
        limits = f"limits: {{max_connections: {1000 + number}}}, auth: "
        config.write_text(text.replace("auth: ", limits, 1))
        os.kill(pid, signal.SIGHUP)


def read_again(pid: int, _port: int) -> None:
    """Have the configuration read again and again, unchanged."""
    while True:
        time.sleep(RELOAD_S)
        os.kill(pid, signal.SIGHUP)


def tasks(keys_url: str) -> list[Task]:
    """Return every periodic task that may grow with tenants."""
    keys = f"jwks_url: {keys_url!r}, jwks_refresh_ms: 1000"
    issuer = f"oauth: {{issuer: bench, audience: [bench], namespace_claim: namespace, {keys}}}"
    return [
        Task("nothing", "watch_files_ms: 0"),
        Task("watch of files", "watch_files_ms: 100"),
        Task("scrape of metrics", "watch_files_ms: 0", cause=scrape),
        Task("reload", "watch_files_ms: 0", cause=reload),
        Task("reload without a change", "watch_files_ms: 0", cause=read_again),
        Task("journal", "watch_files_ms: 0\n  journal: {interval_ms: 100, snapshot_interval_ms: 1000}"),
        Task("refresh of keys", f"watch_files_ms: 0\n  {issuer}", "PLAIN, OAUTHBEARER"),
    ]


def main() -> int:
    """Measure, print, write the page if asked to; return 1 when a goal fell and `--check` is given."""
    options = _options()
    gates = kept_rows(between((DOCS / PAGE).read_text("utf-8"), "stalls"))
    raise_descriptor_limit()
    machine = Machine.now()
    print(machine)
    lines, missed = ["| tenants | task | p50 | p99 | p99.9 | largest | HAProxy | turn |", _RULE], set[Row]()
    with ExitStack() as running:
        directory = Path(running.enter_context(tempfile.TemporaryDirectory(prefix="bifrost-stalls-")))
        certificate = make_certificate(directory)
        kafka = running.enter_context(BenchKafka(certificate, free_port()))
        laboratory = Laboratory.of(kafka, certificate, directory)
        relay = running.enter_context(laboratory.relay())[0]
        keys_url = running.enter_context(_key_server())
        for size in [Size(one) for one in options.tenants or ()] or SIZES:
            create_topics(kafka.port, size.topics)
            for task in tasks(keys_url):
                if options.only and not task.name.startswith(options.only):
                    continue
                ours, theirs = _measure(laboratory, relay, size, task, options.seconds)
                line, is_kept = _line(size, task, ours, theirs)
                lines.append(line)
                if not is_kept:
                    missed.add((str(size), task.name))
                print(line, flush=True)
    machine = machine.after()
    print(machine.load)
    if options.plot:
        page = options.plot / PAGE
        text = "\n\n".join([f"{machine}. {machine.load}.", "\n".join(lines)])
        page.write_text(replace_between(page.read_text(encoding="utf-8"), "stalls", text), "utf-8")
    for tenants, name in sorted(missed & gates):
        print(f"fell    {name} with tenants: {tenants}")
    return 1 if options.check and missed & gates else 0


def kept_rows(markdown: str) -> set[Row]:
    """Return the rows of a table of this benchmark in which nothing misses its goal: those are gates."""
    cells = [line.strip("| ").split(" | ") for line in markdown.splitlines() if " / " in line]
    return {(row[0], row[1]) for row in cells if "**" not in "".join(row)}


_RULE = "| ---: | --- | ---: | ---: | ---: | ---: | --- | ---: |"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench-stalls", description=__doc__.splitlines()[0])
    parser.add_argument("--tenants", type=int, nargs="+", help="how many, each in turn")
    parser.add_argument("--only", help="tasks whose names begin so")
    parser.add_argument("--seconds", type=float, default=LOAD_S, help="of load for each task")
    parser.add_argument("--check", action="store_true", help="exit with status 1 when a goal fell")
    parser.add_argument("--plot", type=Path, metavar="FOLDER", help="write the table to a folder's page")
    return parser.parse_args()


def _line(size: Size, task: Task, ours: Found, theirs: Found) -> tuple[str, bool]:
    """Return a task's row, with what misses its goal in bold, and whether nothing does."""

    def cell(value: float, limit: float | None = None) -> str:
        return f"{value:.2f}" if limit is None or value <= limit else f"**{value:.2f}**"

    beyond = TAIL_BEYOND_RELAY_MS
    cells = [
        cell(ours.p50),
        cell(ours.p99, theirs.p99 + beyond),
        cell(ours.p999, theirs.p999 + beyond),
        cell(ours.largest),
        f"{theirs.p99:.2f} / {theirs.p999:.2f} / {theirs.largest:.2f}",
        cell(ours.turn_ms, GREATEST_TURN_MS),
    ]
    return f"| {size} | {task.name} | {' | '.join(cells)} |", "**" not in "".join(cells)


def _measure(
    laboratory: Laboratory, relay: Subject, size: Size, task: Task, seconds: float
) -> tuple[Found, Found]:
    """Put the load on a gateway that does one task, and on HAProxy; both in two turns, of which the better counts."""
    port = free_port()
    more = f"admin: {{port: {port}}}\n  {task.keys}"
    with laboratory.gateway(
        size.tenants, more=more, mechanisms=task.mechanism, visits=False, users=size.users
    ) as (gateway, _):
        _metrics(port)
        ours, theirs = [], []
        for _ in range(2):
            with _caused(task, gateway, port):
                theirs.append(_load(relay, seconds / 2))
                _metrics(port)
                found = _load(gateway, seconds / 2)
                turn = _LARGEST.search(_metrics(port))
            assert turn is not None
            ours.append(Found(found.p50, found.p99, found.p999, found.largest, float(turn[1]) * 1000))
    return min(ours, key=lambda one: one.p999), min(theirs, key=lambda one: one.p999)


def create_topics(port: int, count: int) -> None:
    """Make so many topics of one partition, which belong to the first tenant."""
    client = RawClient(HOST, port)
    for first in range(0, count, TOPICS_AT_ONCE):
        topics = [
            CreateTopicsRequest.CreatableTopic(
                name=physical(TENANT, f"idle{number}"), num_partitions=1, replication_factor=-1
            )
            for number in range(first, min(first + TOPICS_AT_ONCE, count))
        ]
        made = client.request(CreateTopicsRequest(topics=topics, timeout_ms=60_000), 6).topics
        assert not any(one.error_code for one in made), made[0]
    client.close()


@contextmanager
def _caused(task: Task, gateway: Subject, port: int) -> Iterator[None]:
    """Cause the task beside what runs in the context."""
    if task.cause is None:
        yield
        return
    assert gateway.pid is not None
    processes = multiprocessing.get_context("spawn")
    has_begun = processes.Event()
    cause = processes.Process(target=_begin, args=(has_begun, task.cause, gateway.pid, port), daemon=True)
    cause.start()
    has_begun.wait(PATIENCE_S)  # To import what it needs takes a core for a second.
    try:
        yield
    finally:
        cause.kill()
        cause.join()


def _begin(has_begun: Event, cause: Callable[[int, int], None], pid: int, port: int) -> None:
    has_begun.set()
    cause(pid, port)


def _load(subject: Subject, seconds: float) -> Found:
    """Send Heartbeats at the fixed rate; return what became of them."""
    client: RawClient = subject.connect()
    side, found, sent = Side(client), list[float](), 0
    request = HeartbeatRequest(group_id="unknown", generation_id=1, member_id="unknown")
    frame = request_frame(request, 4, 1)
    schedule = Schedule(time.perf_counter() + 0.1, RATE, int(RATE * seconds))
    while len(found) < schedule.count:
        now = time.perf_counter()
        if now > schedule.due_s(schedule.count) + PATIENCE_S:
            raise TimeoutError(f"{len(found)} of {schedule.count} answers arrived")
        for _ in range(schedule.due_by(now) - sent):
            side.send(frame)
            sent += 1
        wait_s = schedule.due_s(sent) - time.perf_counter() if sent < schedule.count else 1.0
        select.select([side.socket], [], [], max(wait_s, 0.0))
        answers, now = len(side.receive()), time.perf_counter()
        found += [schedule.latency_s(len(found) + at, now) * 1000 for at in range(answers)]
    client.close()
    shares = [percentile(found, one) for one in (0.5, 0.99, 0.999)]
    return Found(*shares, max(found))


def _metrics(port: int) -> bytes:
    """Scrape a gateway: what is largest since the last scrape begins anew."""
    with urlopen(f"http://{HOST}:{port}/metrics", timeout=PATIENCE_S) as answer:
        body: bytes = answer.read()
    return body


def _config_of(pid: int) -> str:
    """Return the path of a gateway's configuration, its command's last argument."""
    return Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0").split(b"\0")[-1].decode()


@contextmanager
def _key_server() -> Iterator[str]:
    """Serve the keys of an issuer that has none; yield their URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(_KEYS)))
            self.end_headers()
            self.wfile.write(_KEYS)

        def log_message(self, format: str, *args: object) -> None:
            """Write no line for each request."""

    with ThreadingHTTPServer((HOST, 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://{HOST}:{server.server_port}/keys"
        server.shutdown()


if __name__ == "__main__":
    sys.exit(main())
