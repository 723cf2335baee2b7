"""Candidates of the journal for the producers of stored records."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from pyspark.sql import DataFrame, SparkSession

from bifrost.pipeline.stored.validating.producers import DELAY_MS, with_principals
from bifrost.pipeline.stored.validating.schema_breaks import BROKEN

USAGE = (
    "scope STRING, api STRING, tenant STRING, principal STRING, physical_topic STRING, is_folded BOOLEAN, "
    "interval_start_ms LONG, interval_end_ms LONG"
)
BROKEN_ROWS = (
    "topic STRING, partition INT, tenant STRING, filter STRING, kind STRING, producer_id LONG, producer_epoch INT, "
    "hour STRING, first_timestamp_ms LONG, last_timestamp_ms LONG"
)
MIN = 60_000


def produced(principal: str, start_ms: int, topic: str | None = "t", **other: str) -> tuple[object, ...]:
    """Return a row of usage: a principal that produced to a topic in ten seconds."""
    named = {"scope": "topic", "api": "Produce", "tenant": "acme"} | other
    return (*named.values(), principal, topic, topic is None, start_ms, start_ms + 10_000)


@pytest.fixture
def principals(spark: SparkSession) -> Iterable[object]:
    def find(broken: list[tuple[object, ...]], usage: list[tuple[object, ...]]) -> list[str]:
        rows = [
            (topic, number, "acme", "f", BROKEN, producer_id, 0, str(hour), first, last)
            for number, (topic, producer_id, hour, first, last) in enumerate(broken)
        ]
        told: DataFrame = spark.createDataFrame(usage, USAGE)
        found = with_principals(spark.createDataFrame(rows, BROKEN_ROWS), told)
        return [row.principals for row in found.orderBy("partition").collect()]

    return find  # type: ignore[return-value]


def test_those_who_produced_to_the_topic_at_the_time_are_candidates(principals) -> None:  # type: ignore[no-untyped-def]
    usage = [
        produced("User:ann", 0),
        produced("User:bob", 5 * MIN + DELAY_MS),
        produced("User:late", 5 * MIN + DELAY_MS + 1),
        produced("User:other", 5 * MIN, "u"),
        produced("User:reader", 5 * MIN, api="Fetch"),
        produced("User:folded", 5 * MIN, None),
        produced("User:stranger", 5 * MIN, None, tenant="globex"),
    ]

    assert principals(
        [("t", -1, 0, 5 * MIN, 5 * MIN), ("t", -1, 0, 9_999, 20_000), ("v", -1, 0, 0, 0)], usage
    ) == ["User:bob, User:folded", "User:ann", ""]


def test_one_producer_id_is_one_principal(principals) -> None:  # type: ignore[no-untyped-def]
    usage = [
        produced("User:ann", 0),
        produced("User:bob", 0),
        produced("User:ann", 60 * MIN),
        produced("User:eve", 60 * MIN),
    ]
    first, later = ("t", 0, 0, 5_000), ("t", 1, 60 * MIN, 60 * MIN)

    found = principals(
        [(topic, producer_id, *rest) for producer_id in (7, -1) for topic, *rest in (first, later)], usage
    )

    assert found == ["User:ann", "User:ann", "User:ann, User:bob", "User:ann, User:eve"]
