"""Storage over columns; `tests/spark/test_column_change.py` compares it with Spark's."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa

from bifrost.pipeline.metering.journal_columns import DAY_MS, HOUR_MS
from bifrost.pipeline.metering.storage_columns import (
    SNAPSHOT_COLUMNS,
    SNAPSHOT_NAMES,
    daily_storage,
    hourly_storage,
)

MINUTE_MS = 60_000


def snapshots(*rows: dict[str, Any]) -> pa.Table:
    plain = {"gateway_id": "gw-1", "physical_topic": "t", "epoch": 1, "sequence": 0, "partition_count": 3}
    whole = [plain | row for row in rows]
    kinds = {name: pa.string() for name in SNAPSHOT_NAMES}
    kinds |= {"replication_factor": pa.int32(), "partition_count": pa.int32()}
    arrays = {
        name: pa.array([row.get(name) for row in whole], kinds.get(name, pa.int64()))
        for name in SNAPSHOT_COLUMNS
    }
    return pa.table(
        {name: one.dictionary_encode() if name in SNAPSHOT_NAMES else one for name, one in arrays.items()}
    )


def look(end_ms: int, length_ms: int = MINUTE_MS, **more: Any) -> dict[str, Any]:
    return {"interval_start_ms": end_ms - length_ms, "interval_end_ms": end_ms} | more


def byte_ms(*rows: dict[str, Any]) -> list[int]:
    found = hourly_storage(snapshots(*rows)).sort_by("hour_ms")
    return [int(one) for one in found["byte_ms"].to_pylist()]


def test_a_snapshot_covers_the_time_since_the_one_before_it_of_any_gateway() -> None:
    first = look(2 * MINUTE_MS, replica_bytes=10)
    other = look(2 * MINUTE_MS + 20_000, replica_bytes=100, gateway_id="gw-2")

    assert byte_ms(first) == [10 * MINUTE_MS]
    assert byte_ms(other, first) == [10 * MINUTE_MS + 100 * 20_000]
    assert byte_ms(first, other | {"physical_topic": "u"}) == [10 * MINUTE_MS, 100 * MINUTE_MS]


def test_of_snapshots_with_the_same_end_the_first_gateway_s_counts() -> None:
    rows = [look(MINUTE_MS, replica_bytes=n, gateway_id=name) for n, name in ((7, "gw-é"), (5, "gw-z"))]

    assert byte_ms(*rows) == byte_ms(*reversed(rows)) == [5 * MINUTE_MS]


def test_sizes_that_are_not_known_add_nothing_but_are_told() -> None:
    rows = [
        look(MINUTE_MS, bytes=5, replication_factor=3),
        look(2 * MINUTE_MS, partition_count=None),
        look(HOUR_MS + MINUTE_MS, partition_count=None, replica_bytes=0),
    ]

    found = hourly_storage(snapshots(*rows)).sort_by("hour_ms").to_pylist()

    assert [row["byte_ms"] for row in found] == [Decimal(15 * MINUTE_MS), Decimal(0)]
    assert [row["partition_ms"] for row in found] == [3 * MINUTE_MS, None]
    assert [row["unknown_ms"] for row in found] == [MINUTE_MS, 0]


def test_more_bytes_than_a_long_holds_are_summed_up_by_day() -> None:
    rows = [look(DAY_MS + n * HOUR_MS, HOUR_MS, replica_bytes=(1 << 63) - 1) for n in (0, 1, 2)]

    daily = daily_storage(hourly_storage(snapshots(*rows))).sort_by("day_ms").to_pylist()

    assert [(row["day_ms"], int(row["byte_ms"])) for row in daily] == [
        (0, ((1 << 63) - 1) * HOUR_MS),
        (DAY_MS, ((1 << 63) - 1) * 2 * HOUR_MS),
    ]
