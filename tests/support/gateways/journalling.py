"""A journal without a broker, for unit tests: what would be written is read back."""

from __future__ import annotations

import json
from typing import Any

from bifrost.journal.journal import Journal, JournalLimits
from bifrost.journal.record import Source
from support.journal.journal_schema import misfits


class StillClock:
    """A clock that stands still until it is moved; in milliseconds."""

    def __init__(self, now_ms: int = 1_000_000) -> None:
        self.now_ms = now_ms

    def __call__(self) -> int:
        return self.now_ms


def journal(
    clock: StillClock,
    *,
    buffer_bytes: int = 1_000_000,
    rows: int = 1000,
    rows_per_tenant: int = 1000,
    events: int = 1000,
) -> Journal:
    """Return a journal of the gateway `gw`, epoch 7."""
    return Journal(Source("gw", 7), JournalLimits(buffer_bytes, rows, rows_per_tenant, events), clock)


def written(one: Journal, *, ends_interval: bool = False) -> list[dict[str, Any]]:
    """Return the records that wait, as they would be written, and take them out."""
    if ends_interval:
        for _ in one.end_interval():
            pass
    pending = one.buffer.take(2**30)
    one.buffer.written(pending)
    records = [json.loads(record.value) for record in pending]
    for pending_one, record in zip(pending, records, strict=True):
        assert misfits(record) == []
        assert record.get("tenant") == pending_one.tenant
    return records


def rows(records: list[dict[str, Any]], scope: str, **wanted: object) -> list[dict[str, Any]]:
    """Return the rows of usage of a scope, with these fields."""
    found = [one["usage"] for one in records if one["kind"] == "usage" and one["usage"]["scope"] == scope]
    return [one for one in found if all(one.get(name) == value for name, value in wanted.items())]
