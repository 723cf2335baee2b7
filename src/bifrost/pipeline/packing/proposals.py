"""On how few physical partitions a topic's partitions fit, within bounds. Pure.

    read amplification of a consumer ~ min(V / P, its members)

Each virtual partition costs one reading of its physical one at the most, whatever the assignment: V / P. One fetch of a
physical partition serves all virtual ones that a member asks for, so a member that asks for all of its own reads
nothing twice. One that asks for some at a time, as clients do that still have records of the others, reads more.

Virtual partition `v` is part of physical partition `v % P`. Which partitions share one follows from P alone, so their
placement is chosen with P: the smallest for which the largest physical partition keeps the bounds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import NamedTuple

from bifrost.config.fields.virtual_partitions import MAX_PHYSICAL, MAX_SHARING, MAX_VIRTUAL

MONTH_HOURS = 30 * 24
"""As `advise` counts a month."""


class Reading(NamedTuple):
    """What one consumer reads of a topic."""

    bytes_s: float
    members: int | None
    """At the most; None: it is not known."""


class TopicLoad(NamedTuple):
    """What a topic carries."""

    tenant: str
    name: str
    """What clients of the whole tenant call it."""
    physical_topic: str
    shares: tuple[float, ...]
    """Of each partition in what the topic carries; together 1."""
    produced: float
    """Bytes a second in the largest minute."""
    readings: tuple[Reading, ...]
    refused: str = ""
    """Why it cannot have virtual partitions; empty: nothing is known against it."""

    @property
    def partitions(self) -> int:
        """How many there are."""
        return len(self.shares)

    @property
    def fetched(self) -> float:
        """Bytes a second that consumers get."""
        return sum(one.bytes_s for one in self.readings)


class Bounds(NamedTuple):
    """What a physical partition and a consumer may have."""

    bytes_s: float
    """Most bytes a second that are written to and read from a physical partition together."""
    amplification: float
    """Most bytes that consumers of a topic read for one that they get."""


class Proposal(NamedTuple):
    """What a topic may have."""

    load: TopicLoad
    physical: int
    """As many as there are: it stays."""
    largest: int
    """The physical partition that carries most."""
    largest_bytes_s: float
    amplification: float
    reason: str = ""
    """Why it stays."""

    @property
    def saved(self) -> int:
        """Physical partitions that are not needed any more."""
        return self.load.partitions - self.physical

    def saving(self, price: Decimal) -> Decimal:
        """Return the money of a month by the price of a partition and hour."""
        return self.saved * price * MONTH_HOURS


def shares_of(sizes: Sequence[int | None]) -> tuple[float, ...]:
    """Return the share of each partition by the size of its log; equal ones if a size is not known or all are 0."""
    known = [one for one in sizes if one is not None]
    total = sum(known)
    if len(known) < len(sizes) or not total:
        return (1 / len(sizes),) * len(sizes)
    return tuple(one / total for one in known)


def amplification(load: TopicLoad, physical: int) -> float:
    """Return how much consumers read for a byte that they get; of a topic without any, what one may come to."""
    sharing = -(-load.partitions // physical)
    if not load.fetched:
        return float(sharing)
    read = sum(
        one.bytes_s * (sharing if one.members is None else min(sharing, max(1, one.members)))
        for one in load.readings
    )
    return read / load.fetched


def _largest(load: TopicLoad, physical: int) -> tuple[int, float]:
    """Return the physical partition with the largest share, and this."""
    sums = [sum(load.shares[number::physical]) for number in range(physical)]
    number = max(range(physical), key=sums.__getitem__)
    return number, sums[number]


def propose(load: TopicLoad, bounds: Bounds) -> Proposal:
    """Return the proposal for a topic."""
    virtual = load.partitions
    reason = load.refused
    if not reason and virtual > MAX_VIRTUAL:
        reason = f"more than {MAX_VIRTUAL} partitions"
    least = -(-virtual // MAX_SHARING)
    for physical in range(least, min(virtual, MAX_PHYSICAL + 1)) if not reason else ():
        read = amplification(load, physical)
        bytes_s = load.produced + load.fetched * read
        if read > bounds.amplification or bytes_s / physical > bounds.bytes_s:
            continue
        number, share = _largest(load, physical)
        if bytes_s * share <= bounds.bytes_s:
            return Proposal(load, physical, number, bytes_s * share, read)
    number, share = _largest(load, virtual)
    reason = reason or ("it has one" if virtual == 1 else "no fewer keep the bounds")
    return Proposal(load, virtual, number, (load.produced + load.fetched) * share, 1.0, reason)


Rule = tuple[int, int, tuple[str, ...]]
"""`virtual`, `physical` and `topics` of the configuration."""


def rules_of(proposals: Iterable[Proposal], room: int, most_topics: int) -> tuple[list[Rule], list[Proposal]]:
    """Return rules for what one tenant is proposed, and the proposals for which it has no more room.

    Args:
        proposals: of the tenant.
        room: how many rules it may have more; those are taken that save most.
        most_topics: that one rule names.
    """
    together: dict[tuple[int, int], list[Proposal]] = {}
    for one in sorted(proposals, key=lambda one: one.load.name):
        if one.saved:
            together.setdefault((one.load.partitions, one.physical), []).append(one)
    parts = [
        (numbers, some[at : at + most_topics])
        for numbers, some in sorted(together.items())
        for at in range(0, len(some), most_topics)
    ]
    parts.sort(key=lambda part: -sum(one.saved for one in part[1]))
    rules = [(*numbers, tuple(one.load.name for one in some)) for numbers, some in parts[:room]]
    return sorted(rules), [one for _, some in parts[room:] for one in some]
