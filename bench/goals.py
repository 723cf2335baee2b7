"""What is promised of the gateway's cost, and whether a run's figures keep it: ratios to what stood beside it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from bench.subjects import DIRECT, GATEWAY, PLAINTEXT, TLS
from bench.table import Table

THROUGHPUT, BULK_CPU = "throughput", "cost of bytes"
REQUESTS = "requests, five in flight on each of four connections"
PIPELINED_CPU = "cost of a request, five in flight"
ROUND_TRIP, SYNCHRONOUS_CPU = "synchronous round trip", "cost of a request, one at a time"
END_TO_END, MEMORY, IDLE_MEMORY = "end to end", "resident memory", "memory per idle connection"
RELAYS = ("haproxy", "relay")
CONNECTED, WITH_BROKER = "idle, connected", "idle, broker connected"
WORKING = "with 100 connections"

PRODUCED_TO_RELAY, CONSUMED_TO_RELAY, REQUEST_TO_RELAY, TLS_TO_RELAY = 1.1, 1.0, 1.1, 1.3
REQUEST_US = 20.0
"""50,000 pairs of request and response per second and core."""
TO_DIRECT = 0.97
ADDED_LATENCY_US = 15.0
WORKING_MIB, IDLE_KIB = 50e6 / 2**20, 12.0
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


def _judge_table(table: Table, cores: int) -> Iterator[Goal]:
    for name, row in table.rows.items():
        ours = row.get(GATEWAY)
        relayed = next((row[one] for one in RELAYS if row.get(one)), None)
        if not ours or name.startswith("librdkafka"):
            continue
        what = f"{name}, {table.protocol}"
        if table.title == BULK_CPU and relayed:
            limit = PRODUCED_TO_RELAY if name.startswith("produce") else CONSUMED_TO_RELAY
            limit = TLS_TO_RELAY if table.protocol == TLS else limit
            yield Goal(f"CPU per GiB, {what}", _ratio(ours, relayed), limit, "of the relay's")
        elif table.title == PIPELINED_CPU and relayed:
            limit = TLS_TO_RELAY if table.protocol == TLS else REQUEST_TO_RELAY
            yield Goal(f"CPU per request, {what}", _ratio(ours, relayed), limit, "of the relay's")
            if table.protocol == PLAINTEXT:
                yield Goal(f"CPU per request, {what}", median(ours), REQUEST_US, "µs")
        elif table.title == THROUGHPUT and cores >= CORES_TO_SPARE and row.get(DIRECT):
            yield Goal(
                f"throughput, {what}", _ratio(ours, row[DIRECT]), TO_DIRECT, "of direct", is_least=True
            )
        elif table.title == ROUND_TRIP and relayed and name.endswith("p50") and name.startswith("Produce"):
            added_us = median(ours) - median(relayed)
            yield Goal(f"round trip beyond the relay's, {what}", added_us, ADDED_LATENCY_US, "µs")
        elif table.title == MEMORY and name == WORKING:
            yield Goal(f"resident, {what}", median(ours), WORKING_MIB, "MiB")
        elif table.title == IDLE_MEMORY:
            yield Goal(f"idle connection, {what}", median(ours), IDLE_KIB, "KiB")


def _ratio(ours: list[float], theirs: list[float]) -> float:
    """Return the median ratio of rounds that were run side by side."""
    return median(one / other for one, other in zip(ours, theirs, strict=True))
