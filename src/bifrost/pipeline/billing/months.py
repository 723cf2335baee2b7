"""Billing periods: calendar months in UTC."""

from __future__ import annotations

import datetime


def period_of(month: str) -> tuple[datetime.date, datetime.date]:
    """Return the first day of a month (`2026-10`) and of the next one.

    Raises:
        ValueError: the text is no month.
    """
    first = datetime.date.fromisoformat(f"{month}-01")
    return first, (first.replace(day=28) + datetime.timedelta(days=4)).replace(day=1)


def days_of(month: str) -> list[str]:
    """Return the days of a month, as `2026-10-01`."""
    first, after = period_of(month)
    return [str(first + datetime.timedelta(days=n)) for n in range((after - first).days)]


def month_after(month: str) -> str:
    """Return the next month: `2026-11` after `2026-10`."""
    return period_of(month)[1].strftime("%Y-%m")
