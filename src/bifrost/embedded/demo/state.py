"""What the demo shows at one moment, and what it says at the end. No I/O."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from bifrost.embedded.demo.ledger import ConsoleLine, Counts

PHYSICAL_TEMPLATE = "__vt_{tenant}_{name}"
"""How the gateway names things on the broker by default."""


@dataclass(frozen=True, slots=True)
class TopicOnBroker:
    """A physical topic."""

    name: str
    partitions: int
    records: int
    is_internal: bool
    """Whether it is one of Kafka's own."""


@dataclass(frozen=True, slots=True)
class Sight:
    """What a tenant is shown when it asks for everything."""

    topics: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Observation:
    """One look at everything."""

    topics: tuple[TopicOnBroker, ...] = ()
    """Physical ones, Kafka's own last."""
    groups: tuple[str, ...] = ()
    """Physical ones."""
    sights: dict[str, Sight] = field(default_factory=dict)
    """By tenant."""

    def records_of(self, physical_topic: str) -> int:
        """Return how many records a physical topic holds, 0 if there is none of that name."""
        return sum(topic.records for topic in self.topics if topic.name == physical_topic)


@dataclass(frozen=True, slots=True)
class TenantView:
    """One tenant's console."""

    name: str
    password: str
    counts: Counts
    lines: Sequence[ConsoleLine]
    """The last ones, oldest first."""
    lines_written: int
    """How many there ever were."""


@dataclass(frozen=True, slots=True)
class DemoState:
    """Everything a screen shows."""

    title: str
    bootstrap: str
    """`host:port` of the gateway."""
    elapsed_s: float
    duration_s: float | None
    """None: until Ctrl-C."""
    tenants: Sequence[TenantView]
    observation: Observation
    hints: Sequence[tuple[str, str]]
    """What to try: with what, and a line to copy."""

    @property
    def clock(self) -> str:
        """How long it has run, and how long it will."""
        elapsed = format_seconds(self.elapsed_s)
        return elapsed if self.duration_s is None else f"{elapsed} of {format_seconds(self.duration_s)}"


def format_seconds(seconds: float) -> str:
    """Return `m:ss`, or `h:mm:ss` from an hour on."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def physical_name(tenant: str, name: str) -> str:
    """Return what the broker calls a tenant's topic or group."""
    return PHYSICAL_TEMPLATE.format(tenant=tenant, name=name)


def split_physical(name: str, tenants: Sequence[str]) -> tuple[str, str, str]:
    """Return whose a physical name is, the prefix that says so, and the name its tenant uses.

    A name that is no tenant's comes back with an empty tenant and prefix.
    """
    for tenant in tenants:
        prefix = physical_name(tenant, "")
        if name.startswith(prefix):
            return tenant, prefix, name.removeprefix(prefix)
    return "", "", name


def is_proven(tenants: Sequence[TenantView]) -> bool:
    """Whether every tenant sent something, read all of it and nothing else."""
    return all(view.counts.is_clean for view in tenants)


def verdict(tenants: Sequence[TenantView]) -> str:
    """Return the demo's result in one line."""
    if not all(view.counts.sent for view in tenants):
        return "Nothing is proven: a tenant has sent no record."
    crossed = sum(view.counts.crossed for view in tenants)
    lost = sum(view.counts.lost for view in tenants)
    failed = sum(view.counts.failed for view in tenants)
    tail = f", {failed} failed" if failed else ""
    return f"{crossed or 'None'} crossed, {lost or 'none'} lost{tail}."
