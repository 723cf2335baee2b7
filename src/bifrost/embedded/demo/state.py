"""What the demo shows at one moment, and what it says at the end. No I/O."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from bifrost.config.name_template import NameTemplate
from bifrost.embedded.demo.ledger import ConsoleLine, Counts
from bifrost.tenancy.ownership import NameOwners, OwnNames


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
    """What a tenant sees when it lists everything."""

    topics: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Observation:
    """One look at the broker and at what the tenants see."""

    topics: tuple[TopicOnBroker, ...] = ()
    """Physical topics, Kafka's own last."""
    groups: tuple[str, ...] = ()
    """Physical groups."""
    sights: dict[str, Sight] = field(default_factory=dict)
    """What each tenant sees, by its name."""

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
    """The last lines, oldest first."""
    lines_written: int
    """Number of lines ever written."""


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
    """Commands to try: a label, and a line to copy."""

    @property
    def clock(self) -> str:
        """How long the demo has run, and how long it will run."""
        elapsed = format_seconds(self.elapsed_s)
        return elapsed if self.duration_s is None else f"{elapsed} of {format_seconds(self.duration_s)}"


def format_seconds(seconds: float) -> str:
    """Return `m:ss`, or `h:mm:ss` from an hour on."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def physical_name(tenant: str, name: str) -> str:
    """Return the physical name of a tenant's topic or group."""
    return _own_names(tenant).physical(name.encode()).decode()


def split_physical(name: str, tenants: Sequence[str]) -> tuple[str, str, str]:
    """Return the tenant of a physical name, the tenant's prefix, and the virtual name.

    For a name that is no tenant's, tenant and prefix are empty.
    """
    owners = NameOwners((_own_names(tenant), tenant) for tenant in tenants)
    tenant = owners.owner_of(name.encode())
    if tenant is None:
        return "", "", name
    virtual = (_own_names(tenant).virtual(name.encode()) or b"").decode()
    return tenant, name.removesuffix(virtual), virtual


def _own_names(tenant: str) -> OwnNames[bytes, bytes]:
    """Return the topics and groups of a tenant: with the default template they begin alike."""
    return OwnNames(NameTemplate().prefix(tenant).encode())


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
