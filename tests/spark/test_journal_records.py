"""The journal's records, read: what is sound, what is rejected, and what stops the job."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import count
from typing import Any

from pyspark.sql import DataFrame

from bifrost.pipeline.metering.journal_records import (
    MAX_RANGES,
    MAX_REJECTED_CHARACTERS,
    are_all_new,
    future_record,
    read_records,
    rejected,
    rows_of,
    unseen,
)
from bifrost.pipeline.metering.metered_tables import KEYS, TABLES, table_schemas
from support.journal.journal_records import NOON_MS, Journal

Topic = Callable[..., DataFrame]


def spoiled(changes: dict[str, Any]) -> dict[str, Any]:
    return Journal().topic("acme", "orders", bytes_in=5) | changes


def test_a_sound_record_becomes_a_row_with_the_hour_in_which_it_ends(topic: Topic) -> None:
    journal = Journal()
    read = read_records(topic([journal.topic("acme", "orders", bytes_in=5), journal.event("acme")]))

    usage = rows_of(read, "usage", None).collect()
    assert [(one.day, one.hour.isoformat()[11:], one.topic, one.bytes_in) for one in usage] == [
        ("2026-10-05", usage[0].hour.isoformat()[11:], "orders", 5)
    ]
    # The interval ends at 12:00:00.000, which is not part of it; an event at 12:00 is of the hour that begins.
    event = rows_of(read, "event", None).first()
    assert (event.hour - usage[0].hour).total_seconds() == 3600
    assert rejected(read).count() == 0


def test_every_table_has_the_columns_that_its_rows_have(topic: Topic) -> None:
    journal = Journal()
    records = [journal.topic("a", "t"), journal.event(None), journal.snapshot("a", "t"), journal.drop(0, 1)]
    read = read_records(topic(records))

    for kind, table in TABLES.items():
        rows = rows_of(read, kind, None)
        assert rows.columns == table_schemas()[table].fieldNames()
        assert rows.count() == 1, kind


def test_what_is_not_sound_is_rejected_with_its_place_and_reason(topic: Topic) -> None:
    usage = Journal().topic("acme", "orders")
    bad: list[tuple[Any, str]] = [
        (None, "no value"),
        (b"\xff\xfe not json", "not a JSON object of the journal's schema"),
        (b'{"schema_version": 1, "kind": "usage"', "not a JSON object of the journal's schema"),
        (b"[1]", "not a JSON object of the journal's schema"),
        (json.dumps(usage | {"sequence": "three"}).encode(), "not a JSON object of the journal's schema"),
        (json.dumps(usage | {"sequence": 1 << 70}).encode(), "not a JSON object of the journal's schema"),
        ({name: value for name, value in usage.items() if name != "schema_version"}, "no schema_version"),
        (spoiled({"gateway_id": None}), "no gateway_id"),
        (spoiled({"kind": "gossip"}), "unknown kind gossip"),
        (spoiled({"kind": "event"}), "no event in a record of that kind"),
        (spoiled({"tenant": "../../etc"}), "tenant is no tenant's name"),
        (spoiled({"interval_end_ms": 5}), "interval_end_ms is no time"),
        (spoiled({"interval_start_ms": NOON_MS + 1}), "it ends before it begins"),
        (Journal().topic("acme", "orders", bytes_in=-1), "usage.bytes_in below 0"),
    ]

    found = rejected(read_records(topic([value for value, _reason in bad], first_offset=100)))

    rows = sorted(found.collect(), key=lambda row: row.offset)
    assert [(row.offset, row.reason) for row in rows] == [
        (100 + index, reason) for index, (_value, reason) in enumerate(bad)
    ]
    assert {row.day for row in rows} == {"2026-10-05"}


def test_a_record_under_another_tenant_s_key_is_rejected(topic: Topic) -> None:
    frame = topic([Journal().topic("acme", "orders")]).selectExpr(
        "binary('globex') as key", "value", "topic", "partition", "offset", "timestamp"
    )

    assert [row.reason for row in rejected(read_records(frame)).collect()] == ["its key is not its tenant"]


def test_a_large_rejected_value_is_cut(topic: Topic) -> None:
    row = rejected(read_records(topic([b"x" * 10_000]))).first()

    assert row.value == "x" * MAX_REJECTED_CHARACTERS


def test_a_version_of_the_future_is_found_even_in_an_unknown_form(topic: Topic) -> None:
    records = [
        Journal().event(None),
        Journal().event(None) | {"schema_version": 3},
        b'{"schema_version": 9, "kind": [1]}',
    ]

    found = read_records(topic(records)).agg(future_record().alias("first")).first()

    assert found is not None
    assert found["first"].asDict() == {"topic": "journal", "partition": 0, "offset": 1, "version": 3}
    assert read_records(topic(records[:1])).agg(future_record()).first()[0] is None


def test_fields_that_are_new_within_a_version_are_no_harm(topic: Topic) -> None:
    read = read_records(topic([Journal().topic("acme", "orders", novelty={"a": 1}) | {"more": [1]}]))

    assert rejected(read).count() == 0
    assert rows_of(read, "usage", None).count() == 1


def test_a_record_delivered_twice_is_told_and_what_is_late_is_marked(topic: Topic) -> None:
    journal = Journal()
    first, second = journal.topic("acme", "orders"), journal.topic("acme", "orders", NOON_MS - 60_000)
    read = read_records(topic([first, second, first]))

    rows = rows_of(read, "usage", NOON_MS - 1)
    rows = unseen(rows, rows.limit(0)).collect()

    assert sorted((row.sequence, row.is_late) for row in rows) == [(0, False), (1, True)]


def test_what_is_known_is_not_seen_again(topic: Topic) -> None:
    journal = Journal()
    records = [journal.topic("acme", "orders") for _ in range(3)]
    known = rows_of(read_records(topic(records[:2])), "usage", None)

    assert [
        row.sequence for row in unseen(rows_of(read_records(topic(records)), "usage", None), known).collect()
    ] == [2]


def test_among_many_gateways_none_is_seen_twice_either(topic: Topic) -> None:
    records = [Journal(f"gw-{number}").topic("acme", "orders") for number in range(MAX_RANGES + 2)]
    usage = rows_of(read_records(topic([*records, records[0]])), "usage", None)
    known = rows_of(read_records(topic(records[1:])), "usage", None)

    assert [row.gateway_id for row in unseen(usage, known).collect()] == ["gw-0"]


def test_records_are_all_new_unless_one_came_twice_or_is_known(topic: Topic) -> None:
    journal = Journal(numbers=count(60))
    # The numbers 60 to 67 are bits of two sets of 64.
    records = [journal.topic("acme", "orders") for _ in range(7)] + [journal.event("acme")]
    other = Journal("gw-2", numbers=count(60)).topic("acme", "orders")

    def are_new(batch: list[dict[str, Any]], known: list[dict[str, Any]]) -> bool:
        keys = [rows_of(read_records(topic(known)), kind, None).select(*KEYS) for kind in ("usage", "event")]
        return are_all_new(read_records(topic(batch)), keys)

    assert are_new(records, [])
    assert not are_new([*records, records[3]], [])
    assert are_new(records[::2], [*records[1::2], other]), "every second number, and those of another gateway"
    assert not are_new(records[2:], records[:3])
    assert not are_new(records, records[-1:]), "an event"


def test_among_many_gateways_one_record_that_came_twice_is_found(topic: Topic) -> None:
    records = [Journal(f"gw-{number}").topic("acme", "orders") for number in range(MAX_RANGES + 2)]
    known = rows_of(read_records(topic(records[-1:])), "usage", None).select(*KEYS)

    assert are_all_new(read_records(topic(records)), [known.limit(0)])
    assert not are_all_new(read_records(topic([*records, records[-1]])), [known.limit(0)])
    assert not are_all_new(read_records(topic(records)), [known])
