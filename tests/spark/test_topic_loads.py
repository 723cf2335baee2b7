"""Frames of what topics carry and who reads them, from rows of the journal."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from bifrost.pipeline.metering.metered_tables import open_tables
from bifrost.pipeline.packing import topic_loads
from support.journal.journal_records import HOUR_MS, NOON_MS, Journal
from support.physical_names import physical_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MINUTE_MS = 60_000
ORDERS = physical_name("acme", "orders")


@pytest.fixture
def usage(spark: SparkSession, tmp_path: Path) -> Callable[[], DataFrame]:
    return lambda: open_tables(spark, str(tmp_path / "t"), "parquet").read("usage")


def fetch(journal: Journal, end_ms: int = NOON_MS, **more: Any) -> dict[str, Any]:
    named = {"api": "Fetch", "api_key": 1, "api_version": 17} | more
    return journal.topic("acme", "orders", end_ms, **named)


def test_a_rate_is_that_of_the_largest_minute_over_all_gateways(
    metered: Callable[..., None], usage: Callable[[], DataFrame]
) -> None:
    one, two = Journal(), Journal("gw-2")
    long = one.topic("acme", "orders", NOON_MS + HOUR_MS, bytes_in=1_200_000)
    long["interval_start_ms"] = NOON_MS + HOUR_MS - 10 * MINUTE_MS
    metered(
        one.topic("acme", "orders", NOON_MS + 10_000, bytes_in=30_000, client_id="a"),
        two.topic("acme", "orders", NOON_MS + 15_000, bytes_in=60_000, client_id="b"),
        one.topic("acme", "orders", NOON_MS + MINUTE_MS, bytes_in=60_000, client_id="a"),
        long,
        fetch(one, NOON_MS + 10_000, bytes_out=120_000, client_id="r"),
        fetch(one, NOON_MS + 20_000, bytes_out=60_000, client_id="s"),
        fetch(one, NOON_MS + 3 * MINUTE_MS, bytes_out=60_000),
    )

    (produced,) = topic_loads.produced(usage()).collect()
    fetched = {row.client_id: row.bytes_s for row in topic_loads.fetched(usage()).collect()}

    assert (produced.tenant, produced.physical_topic, produced.bytes_s) == ("acme", ORDERS, 2_000.0)
    assert fetched == {"r": 2_000.0, "s": 1_000.0, "": 1_000.0}


def test_members_and_connections_are_told_by_client(
    metered: Callable[..., None], usage: Callable[[], DataFrame]
) -> None:
    one, two = Journal(), Journal("gw-2")
    metered(
        one.access("acme", "group", "app", client_id="c"),
        one.access("acme", "group", "app", client_id="c", api="OffsetCommit"),
        one.access("acme", "group", "other", client_id="admin", api="DescribeGroups"),
        one.connections("acme", NOON_MS + 1_000, client_id="c", connections=2),
        one.connections("acme", NOON_MS + 11_000, client_id="c", connections=1, connections_closed=3),
        two.connections("acme", NOON_MS + 5_000, client_id="c", connections=1),
        two.connections("acme", NOON_MS + MINUTE_MS, client_id="c", connections=4),
    )

    members = [(row.client_id, row.group_id) for row in topic_loads.members(usage()).collect()]
    counts = [(row.client_id, row.connections) for row in topic_loads.connections(usage()).collect()]

    assert members == [("c", physical_name("acme", "app"))]
    assert counts == [("c", 5)]


def test_what_virtual_partitions_do_not_have_is_told_with_its_reason(
    metered: Callable[..., None], usage: Callable[[], DataFrame]
) -> None:
    journal = Journal()
    old = {"codec": "none", "acks": 1, "batches": 1, "records": 1, "bytes": 9, "old_format_batches": 1}
    folded = journal.topic("folded", "t", is_folded=True)
    del folded["usage"]["topic"], folded["usage"]["physical_topic"]
    metered(
        journal.requests("newer", api="ConsumerGroupHeartbeat", api_key=68),
        folded,
        journal.requests("acme", is_folded=True),
        journal.topic("acme", "deleted", api="DeleteRecords"),
        journal.topic("acme", "shared", api="ShareFetch"),
        journal.topic("acme", "ancient", api="Fetch", api_version=3),
        journal.topic("acme", "old", batches=[old]),
        journal.topic("acme", "orders", batches=[old | {"old_format_batches": 0}]),
    )

    tenants = {row.tenant: row.reason for row in topic_loads.refused_tenants(usage()).collect()}
    topics = {row.physical_topic: row.reason for row in topic_loads.refused_topics(usage()).collect()}

    assert tenants == {
        "newer": "the tenant uses ConsumerGroupHeartbeat",
        "folded": "the journal has usage of the tenant without its topic or client",
    }
    assert topics == {
        physical_name("acme", "deleted"): "DeleteRecords",
        physical_name("acme", "shared"): "ShareFetch",
        physical_name("acme", "ancient"): "Fetch before version 4",
        physical_name("acme", "old"): "message formats before v2",
    }


def test_the_newest_snapshot_of_each_topic_that_is_there_counts(
    spark: SparkSession, metered: Callable[..., None], tmp_path: Path
) -> None:
    journal = Journal()

    def parts(*sizes: int) -> list[dict[str, Any]]:
        return [
            {"partition": number, "leader": 1, "replicas": [1], "bytes": size}
            for number, size in enumerate(sizes)
        ]

    metered(
        journal.snapshot("acme", "orders", NOON_MS, partitions=parts(1)),
        journal.snapshot("acme", "orders", NOON_MS + 2 * HOUR_MS, partitions=parts(5, 6)),
        journal.snapshot("acme", "gone", NOON_MS, partitions=parts(1)),
        journal.snapshot("acme", "elsewhere", NOON_MS, partitions=parts(2), upstream="other"),
    )

    found = topic_loads.newest_topics(open_tables(spark, str(tmp_path / "t"), "parquet").read("snapshots"))

    sizes = {row.physical_topic: [one.bytes for one in row.partitions] for row in found.collect()}
    assert sizes == {ORDERS: [5, 6], physical_name("acme", "elsewhere"): [2]}
