"""What a gateway answers about virtual partitions, held against what the log has.

    the end          behind the last record; where that is far from the physical end, up to `least_end` of it
    the beginning    not behind the first record, and not before the log

Others may write and delete meanwhile, so the physical partition is looked at before and behind the question; where its
end has not moved the answer must be exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from bifrost.tenancy.virtual_partitions.partition_end import least_end


class LogBounds(NamedTuple):
    """Where the log of a physical partition began and ended."""

    start: int
    end: int


class Difference(NamedTuple):
    """Something that is not as it must be."""

    topic: str
    virtual: int
    """-1: the whole topic."""
    what: str
    expected: str
    answered: int


def differences(
    topic: str,
    virtual: int,
    own: tuple[int, int] | None,
    answered: LogBounds,
    before: LogBounds,
    after: LogBounds,
) -> Iterator[Difference]:
    """Yield what is wrong with a gateway's answer.

    Args:
        topic: its physical name.
        virtual: the virtual partition.
        own: its first and last offset in the log that ended at `before.end`; None: it has none there.
        answered: its beginning and end, as the gateway says.
        before: the physical partition before the gateway was asked.
        after: and behind that.
    """
    first, end = (None, 0) if own is None else (own[0], own[1] + 1)
    # Gateways with an index answer behind the record, or where they have moved consumers.
    least = max(end, before.start)
    most = max(end, after.start, least_end(before.end)) if after.end == before.end else after.end
    if not least <= answered.end <= most:
        yield Difference(topic, virtual, "latest", _between(least, most), answered.end)
    # If its first record was deleted meanwhile, the next one may be anywhere.
    latest_start = answered.end if first is None or first < after.start else first
    if not before.start <= answered.start <= latest_start:
        yield Difference(topic, virtual, "earliest", _between(before.start, latest_start), answered.start)


def _between(least: int, most: int) -> str:
    return str(least) if least == most else f"{least} to {most}"
