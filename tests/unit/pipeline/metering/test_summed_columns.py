"""Sums over columns; `tests/spark/test_column_change.py` compares them with Spark's."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from bifrost.pipeline.metering.journal_columns import DAY_MS, HOUR_MS
from bifrost.pipeline.metering.summed_columns import (
    COUNTS,
    daily_sums,
    hourly_sums,
    read_sums,
    stored_sums,
    sum_again,
)
from bifrost.pipeline.metering.sums import SCOPES, USAGE_KEYS, usage_schema

COUNTERS = sorted({counter for names in SCOPES.values() for counter in names.values()})


def usage(*rows: dict[str, Any]) -> pa.Table:
    names = {name: pa.array([row.get(name) for row in rows], pa.string()) for name in (*USAGE_KEYS, "scope")}
    counters = {name: pa.array([row.get(name) for row in rows], pa.int64()) for name in COUNTERS}
    hours = {"hour_ms": pa.array([row.get("hour_ms", 0) for row in rows], pa.int64())}
    late = {"is_late": pa.array([row.get("is_late", False) for row in rows])}
    return pa.table(hours | {name: one.dictionary_encode() for name, one in names.items()} | counters | late)


def said(sums: pa.Table) -> list[dict[str, Any]]:
    """The rows without what is nothing."""
    return [{name: one for name, one in row.items() if one} for row in sums.to_pylist()]


def test_each_scope_adds_to_its_own_sums() -> None:
    rows = [
        {"tenant": "a", "scope": "request", "requests": 1, "bytes_in": 2, "is_late": True},
        {"tenant": "a", "scope": "topic", "requests": 4, "bytes_in": 8},
        {"tenant": "a", "scope": "connection", "connection_ms": 16, "requests": 32},
        {"tenant": "a", "scope": "novelty", "requests": 64},
        {"tenant": "a", "requests": 128},
        {"tenant": "b", "scope": "request", "requests": 256},
    ]

    assert said(hourly_sums(usage(*rows))) == [
        {
            "tenant": "a",
            "requests": 1,
            "request_bytes": 2,
            "topic_requests": 4,
            "produced_bytes": 8,
            "connection_ms": 16,
            "rows": 5,
            "late_rows": 1,
        },
        {"tenant": "b", "requests": 256, "rows": 1},
    ]


def test_no_name_is_a_name_of_its_own() -> None:
    found = hourly_sums(usage({"topic": "t"}, {}, {"topic": ""}, {}))

    assert [(row["topic"], row["rows"]) for row in found.to_pylist()] == [("t", 1), (None, 2), ("", 1)]


def test_sums_of_several_pages_are_summed_up_again() -> None:
    first = hourly_sums(usage({"tenant": "a"}, {"tenant": "b", "hour_ms": HOUR_MS}))
    second = hourly_sums(usage({"tenant": "b", "hour_ms": HOUR_MS}, {"tenant": "c"}))

    found = sum_again(pa.concat_tables([first, second]), "hour").to_pylist()

    assert [(row["tenant"], row["hour_ms"], row["rows"]) for row in found] == [
        ("a", 0, 1),
        ("b", HOUR_MS, 2),
        ("c", 0, 1),
    ]


def test_days_are_sums_of_hours() -> None:
    rows = [{"tenant": "a", "hour_ms": one} for one in (0, 23 * HOUR_MS, 24 * HOUR_MS)]

    found = daily_sums(hourly_sums(usage(*rows))).to_pylist()

    assert [(row["day_ms"], row["rows"]) for row in found] == [(0, 2), (DAY_MS, 1)]


def test_stored_sums_are_rows_of_their_tables_and_can_be_read_again() -> None:
    hourly = hourly_sums(usage({"tenant": "a", "hour_ms": HOUR_MS}))

    stored = stored_sums(hourly, "hour", "1970-01-01")

    assert stored.column_names == usage_schema("hour").fieldNames()
    assert stored["day"].to_pylist() == ["1970-01-01"]
    assert stored["hour"].to_pylist()[0].hour == 1
    again = read_sums([stored])[0]
    assert again.to_pylist() == hourly.to_pylist()
    assert {*again.column_names} == {"hour_ms", *USAGE_KEYS, *COUNTS}
    assert (
        stored_sums(daily_sums(hourly), "day", "1970-01-01").column_names == usage_schema("day").fieldNames()
    )


def test_no_sums_are_no_rows() -> None:
    nothing = hourly_sums(usage({})).slice(0, 0)

    assert sum_again(nothing, "hour").num_rows == 0
