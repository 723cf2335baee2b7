"""Sums of storage over Arrow columns: what `sums.hourly_storage` and `sums.daily_storage` do with Spark."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from bifrost.pipeline.metering.journal_columns import HOUR_MS
from bifrost.pipeline.metering.summed_columns import sum_by, with_day
from bifrost.pipeline.metering.sums import STORAGE_KEYS

STORAGE_SUMS = ("byte_ms", "partition_ms", "unknown_ms")
SNAPSHOT_NAMES = ("gateway_id", *STORAGE_KEYS)
SNAPSHOT_COLUMNS = (
    *SNAPSHOT_NAMES,
    *("epoch", "sequence", "interval_start_ms", "interval_end_ms"),
    *("bytes", "replica_bytes", "replication_factor", "partition_count"),
)
SIZE, PRODUCT = pa.decimal128(19), pa.decimal128(38)
"""Bytes as a long holds them, and bytes times milliseconds."""
_MS = pa.decimal128(18)
"""Milliseconds: 18 digits, so that the product has no more than 38."""


def hourly_storage(snapshots: pa.Table) -> pa.Table:
    """Return the bytes stored in each hour: `hour_ms`, the keys, the sums.

    Args:
        snapshots: `SNAPSHOT_COLUMNS`, names as dictionaries; each record once, including the day before.
    """
    snapshots = snapshots.unify_dictionaries().combine_chunks()
    start, end = (snapshots[name].to_numpy() for name in ("interval_start_ms", "interval_end_ms"))
    begin = np.maximum(start, _end_before(snapshots, end))
    ms = pa.array(np.maximum(end - begin, 0))
    replicas = pc.multiply(snapshots["bytes"], pc.cast(snapshots["replication_factor"], pa.int64()))
    size = pc.coalesce(snapshots["replica_bytes"], replicas)
    product = pc.multiply(pc.cast(size, SIZE), pc.cast(pc.cast(ms, SIZE), _MS))
    columns: dict[str, Any] = {
        # The end is not part of an interval: see `journal_records.read_records`.
        "hour_ms": pa.array((end - (start != end)) // HOUR_MS * HOUR_MS),
        "byte_ms": pc.fill_null(pc.cast(product, PRODUCT), pa.scalar(0, PRODUCT)),
        "partition_ms": pc.multiply(pc.cast(snapshots["partition_count"], pa.int64()), ms),
        "unknown_ms": pc.if_else(pc.is_null(size), ms, 0),
    }
    rows = pa.table(columns | {name: snapshots[name] for name in STORAGE_KEYS})
    return sum_by(rows, "hour_ms", STORAGE_KEYS, STORAGE_SUMS)


def _end_before(snapshots: pa.Table, end: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each snapshot the end of the newest earlier one of its topic; 0 if there is none."""
    topic = [_codes(snapshots[name]) for name in ("upstream", "tenant", "physical_topic")]
    numbers = [snapshots[name].to_numpy() for name in ("sequence", "epoch")]
    order = np.lexsort((*numbers, _ranks(snapshots["gateway_id"]), end, *topic))
    ends = end[order]
    before = np.zeros_like(ends)
    before[1:] = ends[:-1]
    is_first = np.ones(len(ends), bool)
    is_first[1:] = np.logical_or.reduce([one[order][1:] != one[order][:-1] for one in topic])
    before[is_first] = 0
    found = np.empty_like(before)
    found[order] = before
    return found


def _whole(names: pa.ChunkedArray) -> pa.DictionaryArray:
    return names.combine_chunks() if isinstance(names, pa.ChunkedArray) else names


def _codes(names: pa.ChunkedArray) -> NDArray[np.int32]:
    found: NDArray[np.int32] = pc.fill_null(_whole(names).indices, -1).to_numpy()
    return found


def _ranks(names: pa.ChunkedArray) -> NDArray[Any]:
    """Return the places of texts in the order of their UTF-8 bytes, which is Spark's."""
    words = [one.encode() for one in _whole(names).dictionary.to_pylist()]
    ranks = np.empty(len(words), np.int64)
    ranks[sorted(range(len(words)), key=words.__getitem__)] = np.arange(len(words))
    return ranks[_codes(names)]


def daily_storage(hourly: pa.Table) -> pa.Table:
    """Return the bytes stored in each day, from its hours: `day_ms`, the keys, the sums."""
    return sum_by(with_day(hourly), "day_ms", STORAGE_KEYS, STORAGE_SUMS)
