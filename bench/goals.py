"""What is promised of the gateway's cost, and whether a run's figures keep it: ratios to what stood beside it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from bench.subjects import DIRECT, GATEWAY, TLS
from bench.table import Table

THROUGHPUT, BULK_CPU = "throughput", "cost of bytes"
REQUESTS = "requests, five in flight on each of four connections"
PIPELINED_CPU = "cost of a request, five in flight"
ROUND_TRIP, SYNCHRONOUS_CPU = "synchronous round trip", "cost of a request, one at a time"
CLIENT_CPU = "cost of a request, real clients, a record in each and a hundred in flight"
END_TO_END, MEMORY, IDLE_MEMORY = "end to end", "resident memory", "memory per idle connection"
RELAYS = ("haproxy", "relay")
CONNECTED, WITH_BROKER = "idle, connected", "idle, broker connected"
WORKING = "with 100 connections"

PRODUCED_TO_RELAY, CONSUMED_TO_RELAY, REQUEST_TO_RELAY, TLS_TO_RELAY = 1.1, 1.0, 1.1, 1.3
API_VERSIONS, API_VERSIONS_TO_RELAY = "ApiVersions", 1.2
"""The gateway answers it itself, so this is what it may cost beside a request that is relayed."""
REQUEST_US = 20.0
"""50,000 pairs of request and response per second and core."""
TO_DIRECT = 0.97
ADDED_LATENCY_US, TLS_ADDED_LATENCY_US = 15.0, 10.0
TAIL_BEYOND_RELAY_MS = 1.0
"""Of the 99th and the 99.9th percentile, with any number of tenants."""
LONGEST_TURN_MS, TURN_UNCERTAINTY_MS = 1.0, 1.0
"""CPU time of the event loop's longest turn while a periodic task runs. The gateway reads its CPU time at most once a
millisecond (`loop_watch.pyx`), so a figure has up to a millisecond of the turns before in it."""
GREATEST_TURN_MS = LONGEST_TURN_MS + TURN_UNCERTAINTY_MS
"""From here on a turn was longer than it may be."""
WORKING_MIB, IDLE_KIB, TLS_IDLE_KIB = 50e6 / 2**20, 12.0, 18.0
"""OpenSSL itself keeps 14.5 KiB for an idle connection."""
CORES_TO_SPARE = 4
"""From so many on the gateway has one for itself: load, broker, gateway, and one more."""


@dataclass(frozen=True)
class Goal:
    """One goal, and what was reached."""

    what: str
    reached: float
    limit: float
    unit: str
    is_least: bool = False
    """Whether the limit is the least that may be reached, not the most."""

    @property
    def is_kept(self) -> bool:
        """Whether the goal is reached."""
        return self.reached >= self.limit if self.is_least else self.reached <= self.limit

    @property
    def bound(self) -> str:
        """The limit, and on which side of it the goal lies."""
        return f"{'≥' if self.is_least else '≤'} {self.limit:.3g}"

    def __str__(self) -> str:
        return f"{self.what}: {self.reached:.2f} {self.unit}, the goal is {self.bound}"


def judge(tables: Sequence[Table], cores: int) -> list[Goal]:
    """Return every goal that these tables say something of; `cores` is how many the machine has."""
    return [goal for table in tables for goal in _judge_table(table, cores)]


def as_markdown(goals: Sequence[Goal]) -> str:
    """Return a table of them, those that were missed in bold."""
    lines = ["| | reached | goal | |", "| --- | ---: | ---: | --- |"]
    for one in goals:
        reached = f"{one.reached:.2f}" if one.is_kept else f"**{one.reached:.2f}**"
        lines.append(f"| {one.what} | {reached} | {one.bound} | {one.unit} |")
    return "\n".join(lines)


def kept_in(markdown: str) -> set[tuple[str, str]]:
    """Return the goals that a table of `as_markdown` says are kept, by their text and unit: those are gates."""
    rows = [
        [cell.strip() for cell in line.strip("| ").split(" | ")]
        for line in markdown.splitlines()
        if " | ≤ " in line or " | ≥ " in line
    ]
    return {(what, unit) for what, reached, _bound, unit in rows if not reached.startswith("**")}


def _judge_table(table: Table, cores: int) -> Iterator[Goal]:
    for name, row in table.rows.items():
        relayed = next((row[one] for one in RELAYS if row.get(one)), None)
        if row.get(GATEWAY):
            if relayed:
                yield from _judge_cpu(table, name, row[GATEWAY], relayed)
                yield from _judge_latency(table, name, row, relayed)
            yield from _judge_by_itself(table, name, row, cores)


def _judge_cpu(table: Table, name: str, ours: list[float], relayed: list[float]) -> Iterator[Goal]:
    what, is_tls = f"{name}, {table.protocol}", table.protocol == TLS
    if table.title == BULK_CPU:
        limit = PRODUCED_TO_RELAY if name.startswith("produce") else CONSUMED_TO_RELAY
        limit = TLS_TO_RELAY if is_tls else limit
        yield Goal(f"CPU per GiB, {what}", _ratio(ours, relayed), limit, "of the relay's")
    elif table.title in _REQUEST_CPU:
        limit = API_VERSIONS_TO_RELAY if name.startswith(API_VERSIONS) else REQUEST_TO_RELAY
        limit = TLS_TO_RELAY if is_tls else limit
        how = _REQUEST_CPU[table.title]
        yield Goal(f"CPU per request{how}, {what}", _ratio(ours, relayed), limit, "of the relay's")
        if not how and not is_tls:
            yield Goal(f"CPU per request, {what}", median(ours), REQUEST_US, "µs")


_REQUEST_CPU = {PIPELINED_CPU: "", SYNCHRONOUS_CPU: " alone", CLIENT_CPU: " of a real client"}


def _judge_latency(
    table: Table, name: str, row: Mapping[str, list[float]], relayed: list[float]
) -> Iterator[Goal]:
    if table.title == ROUND_TRIP and name.endswith("p50") and name.startswith("Produce"):
        added_us = median(row[GATEWAY]) - median(relayed)
        limit = TLS_ADDED_LATENCY_US if table.protocol == TLS else ADDED_LATENCY_US
        yield Goal(f"round trip beyond the relay's, {name}, {table.protocol}", added_us, limit, "µs")
    elif table.title.startswith(END_TO_END) and not name.endswith("p50"):
        for subject, values in row.items():
            if subject.startswith(GATEWAY) and values:
                what = f"{name} beyond the relay's, {subject}, {table.protocol}"
                yield Goal(what, median(values) - median(relayed), TAIL_BEYOND_RELAY_MS, "ms")


def _judge_by_itself(table: Table, name: str, row: Mapping[str, list[float]], cores: int) -> Iterator[Goal]:
    """Judge what no relay is compared with."""
    ours, what = row[GATEWAY], f"{name}, {table.protocol}"
    if table.title == THROUGHPUT and cores >= CORES_TO_SPARE and row.get(DIRECT):
        reached = _ratio(ours, row[DIRECT])
        yield Goal(f"throughput, {what}", reached, TO_DIRECT, "of direct", is_least=True)
    elif table.title == MEMORY and name == WORKING:
        yield Goal(f"resident, {what}", median(ours), WORKING_MIB, "MiB")
    elif table.title == IDLE_MEMORY:
        limit = TLS_IDLE_KIB if table.protocol == TLS else IDLE_KIB
        yield Goal(f"idle connection, {what}", median(ours), limit, "KiB")


def _ratio(ours: list[float], theirs: list[float]) -> float:
    """Return the median ratio of rounds that were run side by side."""
    return median(one / other for one, other in zip(ours, theirs, strict=True))
