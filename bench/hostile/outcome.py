"""What came of one attack, and whether it kept the goals; the table of all of them."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from bench.hostile.diary import Latencies
from bench.hostile.field import Sent

P99_MORE_MS, MAX_MORE_MS = 10.0, 100.0
STALL_MS = 10.0
MEMORY_MIB = 200.0
BROKER_SPARE_CORE, BROKER_SPARE_S = 0.05, 0.1
"""What the brokers' CPU time varies by itself: collecting garbage, what others do on the same cores."""


USUAL_BATCH_BYTES = 16 * 1024
"""`batch.size` of Kafka's producer."""


@dataclass(frozen=True)
class RecordsCost:
    """What records cost the brokers, in seconds of CPU: measured, see `calibration.py`."""

    per_request_s: float
    per_mib_s: float

    def of(self, requests: int, size: int) -> float:
        """Return what as many bytes would cost if they were records, in as many requests or by a usual batch each."""
        return self.per_request_s * max(requests, size / USUAL_BATCH_BYTES) + self.per_mib_s * size / 2**20


@dataclass(frozen=True)
class Process:
    """What a process used, beyond what the victim alone makes it use."""

    gateway_cpu_s: float
    broker_cpu_s: float
    """Without what the brokers' JVMs spent on compiling."""
    compiler_cpu_s: float
    memory_mib: float
    """The most that was resident in the gateway's process."""
    stall_ms: float
    """The longest turn of the gateway's event loop, by the clock."""
    stall_cpu_ms: float
    """The most CPU time of one turn: what the turn would take on a core of its own."""


@dataclass(frozen=True)
class Outcome:
    """Of one attack."""

    name: str
    what: str
    before: Latencies
    during: Latencies
    control: Latencies
    """While the same bytes went through a relay into a sink, at the same pace."""
    joins: Latencies
    joins_before: Latencies
    used: Process
    broker_allowed_s: float
    sent: Sent
    wall_s: float
    is_victim_judged: bool = True
    broken: str = ""
    """What the gateway does not do any more, now that the attack is over."""
    missed: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "missed", tuple(self._missed()))

    def _missed(self) -> list[str]:
        missed = []
        if self.is_victim_judged:
            # What sharing two cores costs by itself is not the gateway's doing.
            p99 = max(self.before.p99_ms, self.control.p99_ms)
            most = max(self.before.max_ms, self.control.max_ms)
            if self.during.p99_ms > p99 + P99_MORE_MS or not self.during.count:
                missed.append("p99")
            if self.during.max_ms > most + MAX_MORE_MS:
                missed.append("max")
            if self.during.failed:
                missed.append("records lost")
            if self.joins.failed:
                missed.append("joins")
        if self.used.stall_cpu_ms > STALL_MS:
            missed.append("stall")
        if self.used.memory_mib > MEMORY_MIB:
            missed.append("memory")
        spare_s = BROKER_SPARE_S + BROKER_SPARE_CORE * self.wall_s
        if self.used.broker_cpu_s > self.broker_allowed_s + spare_s:
            missed.append("broker")
        if self.broken:
            missed.append(self.broken)
        if self.sent.left_out:
            missed.append(f"{self.sent.left_out} not sent")
        return missed

    def cells(self, mark: str = "") -> list[str]:
        """Return the row; what was missed stands between marks."""
        missed = set(self.missed)
        used, sent = self.used, self.sent

        def shown(text: str, *goals: str) -> str:
            return f"{mark}{text}{mark}" if mark and missed & set(goals) else text

        def three(values: Sequence[float]) -> str:
            return " / ".join(_ms(value) for value in values)

        phases = (self.before, self.during, self.control)
        return [
            self.name,
            three([one.p50_ms for one in phases]),
            shown(three([one.p99_ms for one in phases]), "p99"),
            shown(three([one.max_ms for one in phases]), "max", "records lost"),
            shown(f"{_ms(self.joins_before.max_ms)} / {_ms(self.joins.max_ms)}", "joins"),
            shown(f"{_ms(used.stall_cpu_ms)} ({_ms(used.stall_ms)})", "stall"),
            shown(f"{used.memory_mib:.0f}", "memory"),
            f"{max(used.gateway_cpu_s, 0):.2f}",
            shown(
                f"{max(used.broker_cpu_s, 0):.2f} ({max(used.compiler_cpu_s, 0):.2f})"
                f" / {self.broker_allowed_s:.2f}",
                "broker",
            ),
            f"{sent.bytes / 2**20:.1f}",
            ", ".join(self.missed) or "-",
        ]


HEAD = (
    "attack",
    "p50 ms before / during / control",
    "p99 ms",
    "max ms",
    "joins, max ms before / during",
    "stall ms: CPU (clock)",
    "MiB",
    "gateway CPU s",
    "broker CPU s (compiler) / as records",
    "sent MiB",
    "missed",
)


def as_text(outcomes: Sequence[Outcome]) -> str:
    """Return the table for a terminal."""
    lines = [list(HEAD), *(one.cells() for one in outcomes)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEAD))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def _ms(value: float) -> str:
    return f"{value:.1f}" if value < 100 else f"{value:,.0f}"
