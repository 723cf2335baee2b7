"""What clients should change, by their batches' headers and requests alone."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import DataFrame

from bifrost.jars.locked_jars import client_coordinates, resolve
from bifrost.pipeline.advice import (
    BATCH_HEADER_BYTES,
    KAFKA_4_MINIMUM,
    MIN_BATCHES,
    advise,
    broken_without,
    clients,
    version_users,
)
from bifrost.pipeline.metering.journal_records import read_records, rows_of
from support.journal.journal_records import Journal

Topic = Callable[..., DataFrame]
GOOD = {
    "codec": "zstd",
    "acks": -1,
    "batches": 2000,
    "records": 200_000,
    "bytes": 10**8,
    "idempotent_batches": 2000,
}


def usage(topic: Topic, *records: dict[str, Any]) -> DataFrame:
    return rows_of(read_records(topic(records)), "usage", None)


def findings(topic: Topic, batches: dict[str, Any], **requests: Any) -> dict[str, Any]:
    journal = Journal()
    found = clients(
        usage(topic, journal.topic("acme", "t", batches=[batches]), journal.requests("acme", **requests))
    )
    rows = advise(found, 1, Decimal(1), Decimal(1)).collect()
    return {row.property: row for row in rows}


def test_a_client_that_does_all_well_is_left_in_peace(topic: Topic) -> None:
    assert findings(topic, GOOD, responses=5000, empty_fetches=100) == {}


def test_small_batches_cost_their_headers(topic: Topic) -> None:
    found = findings(topic, GOOD | {"batches": 10_000, "records": 10_000, "idempotent_batches": 10_000})

    row = found["linger.ms, batch.size"]
    assert list(found) == ["linger.ms, batch.size"]
    assert row.bytes_a_month == 9800 * BATCH_HEADER_BYTES * 30
    assert row.requests_a_month == 9800 * 30
    assert row.now == "1.0 records in a batch"


def test_uncompressed_bytes_are_weighed_and_priced(topic: Topic) -> None:
    found = findings(topic, GOOD | {"codec": "none", "bytes": 1 << 30})

    row = found["compression.type"]
    assert (row.bytes_a_month, row.money_a_month) == (15 << 30, 15)
    assert row.kind == "saves"


@pytest.mark.parametrize(
    ("batches", "prop"),
    [
        ({"acks": 1}, "acks"),
        ({"idempotent_batches": 1999}, "enable.idempotence"),
        ({"old_format_batches": 5}, "the client library"),
    ],
)
def test_what_protects_is_said_whatever_it_saves(batches: dict[str, int], prop: str, topic: Topic) -> None:
    found = findings(topic, GOOD | batches)

    assert list(found) == [prop]
    assert (found[prop].kind, found[prop].bytes_a_month) == ("protects", 0)


def test_fetches_that_bring_nothing_are_counted(topic: Topic) -> None:
    found = findings(topic, GOOD, responses=10_000, empty_fetches=9000)

    row = found["fetch.max.wait.ms, fetch.min.bytes"]
    assert (row.now, row.requests_a_month) == ("90 % of the fetches empty", 8100 * 30)


def test_who_sends_next_to_nothing_hears_nothing_of_its_batches(topic: Topic) -> None:
    few = {"batches": MIN_BATCHES - 1, "records": 1, "codec": "none", "idempotent_batches": MIN_BATCHES - 1}

    assert findings(topic, GOOD | few) == {}


def test_who_breaks_when_a_version_goes(topic: Topic) -> None:
    journal = Journal()
    rows = usage(
        topic,
        journal.requests("acme", client_id="old", api_version=3, requests=7),
        journal.requests("acme", client_id="new", api_version=17, requests=9),
        journal.requests("globex", client_id="middle", api_version=11, requests=1),
    )

    users = version_users(rows)

    assert {row.client_id for row in users.where("api_version < minimum").collect()} == {"old"}
    assert {row.client_id for row in broken_without(users, "Fetch", 12).collect()} == {"old", "middle"}


def test_the_minimum_of_kafka_4_is_what_its_definitions_say() -> None:
    minimum = {}
    with zipfile.ZipFile(resolve(client_coordinates("4.3.1"))[0]) as jar:
        for name in jar.namelist():
            if name.startswith("common/message/") and name.endswith("Request.json"):
                definition = json.loads(re.sub(r"^\s*//.*$", "", jar.read(name).decode(), flags=re.MULTILINE))
                oldest = definition["validVersions"].split("-")[0].rstrip("+")
                if "broker" in definition.get("listeners", []) and oldest.isdigit() and int(oldest):
                    minimum[definition["name"].removesuffix("Request")] = int(oldest)

    assert minimum == KAFKA_4_MINIMUM
