"""What became of a budget, and the quota that would keep it. Pure.

What depends on how much is sent is held back by Kafka's own client quotas, `producer_byte_rate` and
`consumer_byte_rate`; what lies there or stands open (storage, partitions, connections) is not, so a suggestion
takes it as given.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

DAY_S = 86_400


@dataclass(frozen=True, slots=True)
class Spending:
    """What a namespace, with all below it, cost in the days of a month that are there."""

    by_bytes: Decimal
    """For bytes produced and fetched."""

    by_rest: Decimal
    """For everything else."""

    produced_bytes: int
    fetched_bytes: int


@dataclass(frozen=True, slots=True)
class Quota:
    """A suggestion, in Kafka's words."""

    producer_byte_rate: int
    """Bytes a second, on average over the rest of the month."""

    consumer_byte_rate: int


@dataclass(frozen=True, slots=True)
class Outlook:
    """What a month will come to."""

    spent: Decimal
    projected: Decimal
    quota: Quota | None
    """What keeps the budget; None when nothing is needed or nothing would help."""

    text: str
    """The same in words; empty when the budget is kept."""


def look_ahead(monthly: Decimal, spending: Spending, days: int, days_in_month: int) -> Outlook:
    """Say whether a budget will be kept, and what would keep it.

    Args:
        monthly: the budget.
        spending: of the days that are there.
        days: how many of the month those are, at least 1.
        days_in_month: how many it has.
    """
    spent = spending.by_bytes + spending.by_rest
    projected = spent * days_in_month / days
    if projected <= monthly:
        return Outlook(spent, projected, None, "")
    left_days = days_in_month - days
    if left_days == 0:
        # For the month to come: what the same use would have to be to cost no more.
        share = _share(monthly - spending.by_rest, spending.by_bytes)
    else:
        rest = spending.by_rest * days_in_month / days
        by_bytes_a_day = spending.by_bytes / days
        share = _share(monthly - rest - spending.by_bytes, by_bytes_a_day * left_days)
    if share <= 0:
        return Outlook(
            spent, projected, None, "no quota keeps this: what is stored and what is spent exceed it alone"
        )
    rates = [
        int(Decimal(total) * share / (days * DAY_S))
        for total in (spending.produced_bytes, spending.fetched_bytes)
    ]
    quota = Quota(*(max(1, rate) for rate in rates))
    kept = f"producer_byte_rate={quota.producer_byte_rate} consumer_byte_rate={quota.consumer_byte_rate} would keep it"
    return Outlook(spent, projected, quota, kept)


def _share(left: Decimal, wanted: Decimal) -> Decimal:
    return left / wanted if wanted > 0 else Decimal(0)
