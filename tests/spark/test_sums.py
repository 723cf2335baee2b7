"""Usage and storage by hour and day."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

from pyspark.sql import DataFrame

from bifrost.pipeline.metering.journal_records import read_records, rows_of
from bifrost.pipeline.metering.sums import (
    daily_storage,
    daily_usage,
    hourly_storage,
    hourly_usage,
    storage_schema,
    topic_namespaces,
    usage_schema,
)
from support.journal.journal_records import DAY_MS, HOUR_MS, NOON_MS, Journal
from support.physical_names import physical_name

Topic = Callable[..., DataFrame]


def test_each_counter_is_taken_from_its_own_scope(topic: Topic) -> None:
    journal = Journal()
    records = [
        journal.topic("acme", "orders", requests=3, bytes_in=100, records_in=10, bytes_out=7, errors=1),
        journal.requests("acme", requests=5, bytes_in=900, bytes_out=800, errors=2, empty_fetches=4),
        journal.connections("acme", connection_ms=20_000, connections_opened=2),
    ]

    hourly = hourly_usage(rows_of(read_records(topic(records)), "usage", None))

    assert hourly.schema.simpleString() == usage_schema("hour").simpleString()
    by_topic = {row.topic: row for row in hourly.collect()}
    orders, rest = by_topic["orders"], by_topic[None]
    assert (orders.produced_bytes, orders.produced_records, orders.fetched_bytes) == (100, 10, 7)
    assert (orders.requests, orders.request_bytes, orders.topic_requests, orders.topic_errors) == (0, 0, 3, 1)
    assert (rest.requests, rest.request_bytes, rest.response_bytes, rest.errors) == (5, 900, 800, 2)
    assert (rest.produced_bytes, rest.topic_requests, rest.connection_ms, rest.empty_fetches) == (
        0,
        0,
        20_000,
        4,
    )


def test_days_are_the_sums_of_their_hours(topic: Topic) -> None:
    journal = Journal()
    ends = [NOON_MS, NOON_MS + HOUR_MS, NOON_MS + DAY_MS]
    rows = rows_of(
        read_records(topic([journal.topic("acme", "t", end, bytes_in=1) for end in ends])), "usage", ends[1]
    )

    hourly = hourly_usage(rows)

    assert hourly.count() == 3
    days = {
        row.day: (row.produced_bytes, row["rows"], row.late_rows) for row in daily_usage(hourly).collect()
    }
    assert days == {"2026-10-05": (2, 2, 1), "2026-10-06": (1, 1, 0)}


def test_storage_is_bytes_times_the_time_between_looks(topic: Topic) -> None:
    journal = Journal()
    records = [
        journal.snapshot("acme", "orders", NOON_MS - 60_000, 0, replica_bytes=10**15),
        journal.snapshot("acme", "orders", NOON_MS, replica_bytes=3 * 10**15),
        journal.snapshot("acme", "orders", NOON_MS + 60_000, bytes=10**15),
        journal.snapshot("acme", "orders", NOON_MS + 120_000),
    ]

    hourly = hourly_storage(rows_of(read_records(topic(records)), "snapshot", None))

    assert hourly.schema.simpleString() == storage_schema("hour").simpleString()
    (day,) = daily_storage(hourly).collect()
    assert day.byte_ms == Decimal(3 * 10**15 * 60_000 * 2)
    assert day.partition_ms == 3 * 180_000
    assert day.unknown_ms == 60_000, "a size that no broker told is not 0 without a word"
    assert hourly.count() == 2


def test_two_gateways_that_look_count_once(topic: Topic) -> None:
    one, other = Journal("gw-1"), Journal("gw-2")
    records = [
        one.snapshot("acme", "orders", NOON_MS, replica_bytes=1000),
        other.snapshot("acme", "orders", NOON_MS + 20_000, replica_bytes=1000),
        one.snapshot("acme", "orders", NOON_MS + 60_000, replica_bytes=1000),
        # No snapshot was taken for an hour: only what the look says it covers is known.
        other.snapshot("acme", "orders", NOON_MS + HOUR_MS, replica_bytes=1000),
    ]

    daily = daily_storage(hourly_storage(rows_of(read_records(topic(records)), "snapshot", None))).collect()

    assert [row.byte_ms for row in daily] == [1000 * (60_000 + 20_000 + 40_000 + 60_000)]


def test_a_topic_is_of_the_deepest_namespace_that_used_it(topic: Topic) -> None:
    journal = Journal()
    records = [
        journal.topic("acme", "dev.orders", physical_topic=physical_name("acme", "dev.orders")),
        journal.topic(
            "acme", "orders", namespace="acme:dev", physical_topic=physical_name("acme", "dev.orders")
        ),
        journal.topic("acme", "other"),
        journal.requests("acme"),
    ]

    daily = daily_usage(hourly_usage(rows_of(read_records(topic(records)), "usage", None)))

    assert {row.physical_topic: row.namespace for row in topic_namespaces(daily).collect()} == {
        physical_name("acme", "dev.orders"): "acme:dev",
        physical_name("acme", "other"): "acme",
    }
