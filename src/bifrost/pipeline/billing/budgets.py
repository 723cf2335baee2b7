"""Projects a month's cost against its budget, and suggests the quota that would keep it. Pure.

Kafka's own client quotas, `producer_byte_rate` and `consumer_byte_rate`, limit the costs that depend on the bytes sent.
They do not limit those of storage, partitions and connections, so a suggestion takes these as fixed.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

DAY_S = 86_400


@dataclass(frozen=True, slots=True)
class Spending:
    """The cost of a namespace and all below it, in the days of the month that have usage."""

    by_bytes: Decimal
    """For bytes produced and fetched."""

    by_rest: Decimal
    """For everything else."""

    produced_bytes: int
    fetched_bytes: int


@dataclass(frozen=True, slots=True)
class Quota:
    """A suggested quota, in Kafka's terms."""

    producer_byte_rate: int
    """Bytes a second, on average over the rest of the month."""

    consumer_byte_rate: int


@dataclass(frozen=True, slots=True)
class Outlook:
    """The projection of a month's cost."""

    spent: Decimal
    projected: Decimal
    quota: Quota | None
    """The quota that keeps the budget; None when none is needed or none would help."""

    text: str
    """The suggestion in words; empty when the budget is kept."""


def look_ahead(monthly: Decimal, spending: Spending, days: int, days_in_month: int) -> Outlook:
    """Return whether a budget will be kept, and the quota that would keep it.

    Args:
        monthly: the budget.
        spending: of the days so far.
        days: the number of those days, at least 1.
        days_in_month: the number of days in the month.
    """
    spent = spending.by_bytes + spending.by_rest
    projected = spent * days_in_month / days
    if projected <= monthly:
        return Outlook(spent, projected, None, "")
    left_days = days_in_month - days
    if left_days == 0:
        # For the next month: the share of this use that would keep the budget.
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
