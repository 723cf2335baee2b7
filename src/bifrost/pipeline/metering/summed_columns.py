"""Sums of usage over Arrow columns: what `sums.hourly_usage` and `sums.daily_usage` do with Spark.

Names are compared by their codes in dictionaries, so a sum costs no comparison of texts. Sums can be summed up again:
those of a page, those of other pages, and those that are in the tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bifrost.pipeline.metering.journal_columns import DAY_MS
from bifrost.pipeline.metering.sums import SCOPES, SUMS, USAGE_KEYS, usage_schema

TIME = {"hour": "hour_ms", "day": "day_ms"}
COUNTS = (*SUMS, "rows", "late_rows")
STAMP = pa.timestamp("us", "UTC")


def hourly_sums(usage: pa.Table) -> pa.Table:
    """Return the usage of each hour: `hour_ms`, the keys, the counts.

    Args:
        usage: rows of the table, with `hour_ms` in place of its times.
    """
    counts: dict[str, Any] = {}
    scopes = usage["scope"].unify_dictionaries()
    for scope, names in SCOPES.items():
        is_ours = pc.fill_null(pc.equal(scopes, scope), False)
        for name, counter in names.items():
            counts[name] = pc.if_else(is_ours, pc.fill_null(usage[counter], 0), 0)
    counts["rows"] = pa.array(np.ones(usage.num_rows, np.int64))
    counts["late_rows"] = pc.cast(usage["is_late"], pa.int64())
    keys = {name: usage[name] for name in ("hour_ms", *USAGE_KEYS)}
    return sum_again(pa.table(keys | counts), "hour")


def sum_again(parts: pa.Table, time: str) -> pa.Table:
    """Return the sums of sums by `hour` or `day`.

    Args:
        parts: `hour_ms` or `day_ms`, the keys as dictionaries, the counts.
    """
    return sum_by(parts, TIME[time], USAGE_KEYS, COUNTS)


def sum_by(rows: pa.Table, time: str, names: Sequence[str], counts: Sequence[str]) -> pa.Table:
    """Return sums of rows with the same time and names.

    Args:
        rows: the columns that are named.
        time: the column of the time.
        names: columns of texts, as dictionaries; null is a name of its own.
        counts: the columns that are summed up; null adds nothing, and the sum of nulls is null.
    """
    rows = rows.unify_dictionaries()
    words = {name: _words(rows[name]) for name in names}
    codes = {name: _codes(rows[name]) for name in names}
    coded = pa.table({time: rows[time]} | codes | {name: rows[name] for name in counts})
    grouped = coded.group_by([time, *names], use_threads=False)
    summed = grouped.aggregate([(name, "sum") for name in counts])
    named = {name: _named(summed[name], words[name]) for name in names}
    return pa.table({time: summed[time]} | named | {name: summed[f"{name}_sum"] for name in counts})


def _words(names: pa.ChunkedArray) -> pa.Array:
    return names.chunk(0).dictionary if names.num_chunks else pa.array([], pa.string())


def _codes(names: pa.ChunkedArray) -> pa.ChunkedArray:
    return pa.chunked_array([pc.fill_null(one.indices, -1) for one in names.chunks], pa.int32())


def _named(codes: pa.ChunkedArray, words: pa.Array) -> pa.DictionaryArray:
    whole = pa.concat_arrays(codes.chunks) if codes.num_chunks else pa.array([], pa.int32())
    return pa.DictionaryArray.from_arrays(pc.if_else(pc.less(whole, 0), None, whole), words)


def daily_sums(hourly: pa.Table) -> pa.Table:
    """Return the usage of each day, from its hours: `day_ms`, the keys, the counts."""
    return sum_again(with_day(hourly), "day")


def with_day(hourly: pa.Table) -> pa.Table:
    """Return sums by hour with their `day_ms`."""
    return hourly.append_column("day_ms", pc.multiply(pc.divide(hourly["hour_ms"], DAY_MS), DAY_MS))


def stored_sums(sums: pa.Table, time: str, day: str) -> pa.Table:
    """Return the sums of one day as the rows of their table."""
    return rows_of_day(sums, usage_schema(time).fieldNames(), day)


def rows_of_day(sums: pa.Table, columns: Iterable[str], day: str) -> pa.Table:
    """Return sums as rows of a table with these columns; `day` and `hour` are made."""
    made = {"day": lambda: constant(day, sums.num_rows), "hour": lambda: stamps(sums["hour_ms"])}
    return pa.table({name: made[name]() if name in made else sums[name] for name in columns})


def read_sums(stored: Iterable[pa.Table]) -> list[pa.Table]:
    """Return the rows of the table by hours as sums."""
    return [
        pa.table(
            {"hour_ms": pc.divide(pc.cast(one["hour"], pa.int64()), 1000)}
            | {name: one[name] for name in (*USAGE_KEYS, *COUNTS)}
        )
        for one in stored
    ]


def constant(word: str, rows: int) -> pa.DictionaryArray:
    """Return a column in which each row has the same text."""
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), pa.array([word]))


def stamps(milliseconds: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return milliseconds since 1970 as times."""
    return pc.cast(pc.multiply(milliseconds, 1000), STAMP)
