"""Findings of one comparison of frames, and how many names of each are told."""

from __future__ import annotations

from pyspark.sql import SparkSession

from bifrost.config.name_template import DEFAULT_TEMPLATE
from bifrost.pipeline.certificates.brokers_view import (
    BYPASSED,
    EXISTING,
    GONE,
    OWNERLESS,
    UNSEEN,
    compare,
    existing_frame,
    told,
)
from bifrost.pipeline.certificates.inventory import Existing
from bifrost.pipeline.certificates.name_owners import prefix_frame

TODAY, YESTERDAY = "2026-10-05", "2026-10-04"
ACCESSES = "day STRING, tenant STRING, entity STRING, physical STRING"


def test_what_exists_is_told_with_what_was_found_of_it(spark: SparkSession) -> None:
    told_prefixes = [("acme", "topic", "a."), ("acme", "group", "g."), ("globex", "topic", "g.")]
    prefixes = prefix_frame(spark, ["acme"], DEFAULT_TEMPLATE, told_prefixes, {})
    existing = existing_frame(
        spark,
        [
            Existing("main", "group", "g.known", is_active=True),
            Existing("main", "group", "g.long ago", is_active=True),
            Existing("main", "group", "g.idle", is_active=False),
            Existing("main", "group", "a.x", is_active=True),
            *(Existing("main", "topic", f"a.{number}", is_active=False) for number in range(9)),
        ],
    )
    rows = [
        (TODAY, "acme", "group", "g.known"),
        ("2026-10-01", "acme", "group", "g.long ago"),
        ("2026-10-06", "acme", "group", "g.idle"),
        (TODAY, "acme", "group", "g.gone"),
        (YESTERDAY, "acme", "group", "g.gone before"),
        (TODAY, "acme", "untold", None),
        (YESTERDAY, "acme", "topic", "a.0"),
        # The same name of another kind.
        (TODAY, "globex", "topic", "g.long ago"),
    ]
    found = spark.createDataFrame(rows, ACCESSES)

    findings = compare(existing, found, prefixes, TODAY, YESTERDAY)
    listed = {(one.finding, one.tenant, one.entity, one.physical) for one in findings.collect()}

    assert {one for one in listed if one[2] == "group" and one[0] != EXISTING} == {
        (BYPASSED, "acme", "group", "g.long ago"),
        (OWNERLESS, None, "group", "a.x"),
        (GONE, "acme", "group", "g.gone"),
    }
    assert {one[3] for one in listed if one[0] == EXISTING and one[2] == "group"} == {
        "g.known",
        "g.long ago",
        "g.idle",
    }
    shown = [(one.finding, one.physical, one.n) for one in told(findings, 3).collect()]
    assert [one for one in shown if one[0] == UNSEEN] == [(UNSEEN, f"a.{number}", 8) for number in (1, 2, 3)]
    assert [one for one in shown if one[0] == EXISTING] == [(EXISTING, "g.idle", 3), (EXISTING, "a.0", 9)]


def test_a_moved_topic_is_counted_for_its_owner(spark: SparkSession) -> None:
    prefixes = prefix_frame(spark, ["acme", "globex"], DEFAULT_TEMPLATE, [("acme", "topic", "a.")], {})
    existing = existing_frame(
        spark,
        [
            Existing("main", "topic", "a.moved", is_active=False, moved_to="globex"),
            Existing("main", "topic", "a.home", is_active=False),
            Existing("main", "topic", "of no prefix", is_active=False, moved_to="globex"),
        ],
    )
    found = spark.createDataFrame([(TODAY, "globex", "topic", "a.moved")], ACCESSES)

    findings = compare(existing, found, prefixes, TODAY, YESTERDAY)

    assert {(one.finding, one.tenant, one.physical) for one in findings.collect()} == {
        (EXISTING, "globex", "a.moved"),
        (EXISTING, "acme", "a.home"),
        (UNSEEN, "acme", "a.home"),
        (EXISTING, "globex", "of no prefix"),
        (UNSEEN, "globex", "of no prefix"),
    }
