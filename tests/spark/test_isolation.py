"""Whose was what was touched: planted violations are found, what is not proven is said."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from bifrost.pipeline.certificates.isolation import NAME_OTHERS
from bifrost.wire.entity import Entity
from bifrost.wire.fields.entities import SERVED, entities_of, served_versions
from bifrost.wire.schema import request_schema
from support.journal.journal_records import DAY_MS, HOUR_MS, NOON_MS, Journal
from support.physical_names import physical_name


def test_who_touched_only_what_is_its_own_is_isolated(certify: Callable[..., Any]) -> None:
    journal = Journal()

    reports = certify(
        [
            journal.topic("acme", "orders", bytes_in=5),
            journal.topic("acme", "secret", physical_topic=physical_name("acme", "/secret"), errors=1),
            journal.event("acme", type="admin", outcome="applied", resource_type="topic", resource_name="new",
                          physical_name=physical_name("acme", "new")),
            journal.event("acme", resource_type="topic", resource_name="x", physical_name=physical_name("globex", "x")),
            journal.snapshot("globex", "orders"),
            journal.topic("globex", None, topic_id="abc", physical_topic=None, errors=1),
            journal.requests("globex", requests=1),
        ]
    )  # fmt: skip

    assert {name: report["verdict"] for name, report in reports.items()} == {
        "acme": "isolated",
        "globex": "isolated",
    }
    assert (reports["acme"]["accesses"], reports["acme"]["physical_entities"]) == (3, 3)


def test_every_planted_violation_is_found_and_nothing_else(certify: Callable[..., Any]) -> None:
    journal = Journal()

    reports = certify(
        [
            journal.topic("acme", "orders", bytes_in=5),
            journal.topic("acme", "orders", physical_topic=physical_name("globex", "orders"), bytes_out=9),
            journal.topic("acme", "orders", physical_topic=physical_name("globex", "orders"), bytes_out=1),
            journal.topic("acme", "plain", physical_topic="plain"),
            journal.topic("acme", "orders", physical_topic=physical_name("acme", "billing")),
            journal.topic("acme", None, topic_id="abc", physical_topic=None, bytes_out=7),
            journal.event("acme", type="admin", outcome="applied", resource_type="topic", resource_name="orders",
                          physical_name=physical_name("globex", "orders")),
            journal.topic("globex", "orders", bytes_in=5),
        ]
    )  # fmt: skip

    acme = reports["acme"]
    assert reports["globex"]["verdict"] == "isolated"
    assert (acme["verdict"], acme["exception_records"]) == ("exceptions", 6)
    found = {
        (one["kind"], one.get("physical"), one["reason"], one["records"], one["bytes"])
        for one in acme["exceptions"]
    }
    assert found == {
        ("usage", physical_name("globex", "orders"), "belongs to globex", 2, 10),
        ("usage", "plain", "belongs to no tenant", 1, 0),
        ("usage", physical_name("acme", "billing"), "is not the virtual name behind the prefix", 1, 0),
        ("usage", None, "data moved for a topic ID that is not the tenant's", 1, 7),
        ("event", physical_name("globex", "orders"), "belongs to globex", 1, 0),
    }
    planted = next(one for one in acme["exceptions"] if one["records"] == 2)
    assert planted["samples"] == ["gw-1/7/1", "gw-1/7/2"]
    assert planted["principal"] == "User:acme"


def test_a_foreign_group_or_transactional_id_is_a_violation(certify: Callable[..., Any]) -> None:
    journal = Journal()
    foreign = physical_name("globex", "billing")
    records = [journal.topic("globex", "orders", bytes_in=5)]
    for scope in ("group", "transactional_id"):
        records += [
            journal.access("acme", scope, "billing", requests=7),
            journal.access("acme", scope, "billing", physical_name=foreign),
            journal.access("acme", scope, "billing", physical_name=foreign),
            journal.access("acme", scope, "billing", physical_name="billing"),
            journal.access("acme", scope, "billing", physical_name=physical_name("acme", "other")),
            journal.access("globex", scope, "billing"),
        ]

    reports = certify(records)

    acme, globex = reports["acme"], reports["globex"]
    assert (acme["verdict"], globex["verdict"]) == ("exceptions", "isolated")
    found = {(one["entity"], one["physical"], one["reason"], one["records"]) for one in acme["exceptions"]}
    assert found == {
        (scope, *exception)
        for scope in ("group", "transactional_id")
        for exception in (
            (foreign, "belongs to globex", 2),
            ("billing", "belongs to no tenant", 1),
            (physical_name("acme", "other"), "is not the virtual name behind the prefix", 1),
        )
    }
    for scope in ("group", "transactional_id"):
        assert acme["entities"][scope] == {"accesses": 5, "physical_names": 4, "exception_records": 4}
        assert globex["entities"][scope] == {"accesses": 1, "physical_names": 1, "exception_records": 0}
    assert globex["entities"]["topic"]["accesses"] == 1


def test_the_same_name_is_one_entity_of_each_kind(certify: Callable[..., Any]) -> None:
    journal = Journal()

    reports = certify(
        [
            journal.topic("acme", "same"),
            journal.access("acme", "group", "same"),
            journal.access("acme", "transactional_id", "same"),
            journal.access("acme", "group", "same", api="OffsetCommit"),
            journal.access("acme", "group", "", physical_name=physical_name("acme", "")),
        ]
    )

    assert reports["acme"]["verdict"] == "isolated"
    assert (reports["acme"]["accesses"], reports["acme"]["physical_entities"]) == (5, 4)


def test_groups_and_transactional_ids_that_found_no_room_are_not_proven(certify: Callable[..., Any]) -> None:
    journal = Journal()

    reports = certify(
        [
            journal.access("acme", "group", None, is_folded=True),
            journal.access("globex", "transactional_id", None, is_folded=True),
            journal.access("initech", "group", "g"),
        ]
    )

    assert {name: report["verdict"] for name, report in reports.items()} == {
        "acme": "incomplete",
        "globex": "incomplete",
        "initech": "isolated",
    }
    assert reports["acme"]["unproven_records"] == 1


def test_a_journal_of_version_1_proves_nothing_about_groups(certify: Callable[..., Any]) -> None:
    journal = Journal()
    cases = {
        "a": ("Heartbeat", 1, "incomplete"),
        "b": ("InitProducerId", 1, "incomplete"),
        "c": ("Fetch", 1, "isolated"),
        "d": ("Metadata", 1, "isolated"),
        "e": ("Heartbeat", 2, "isolated"),
    }
    records = [
        record | {"schema_version": version}
        for tenant, (api, version, _verdict) in cases.items()
        for record in (journal.topic(tenant, "t", bytes_in=5), journal.requests(tenant, api=api, requests=3))
    ]

    reports = certify(records)

    for tenant, (_api, _version, verdict) in cases.items():
        assert reports[tenant]["verdict"] == verdict
        assert reports[tenant]["records_of_version_1"] == (verdict == "incomplete")


def test_the_apis_that_name_groups_or_transactional_ids_are_those_of_the_schema() -> None:
    others = {
        Entity.GROUP_ID,
        Entity.TRANSACTIONAL_ID,
        Entity.COORDINATOR_KEY,
        Entity.RESOURCE_NAME,
    }
    expected = {
        request_schema(key).name.removesuffix("Request")
        for key in SERVED
        for version in served_versions(key) or ()
        if others & set(entities_of(request_schema(key).name, version).values())
    }

    assert expected == NAME_OTHERS


def test_what_the_journal_cannot_say_is_not_proven(certify: Callable[..., Any]) -> None:
    journal = Journal()
    first = journal.topic("acme", "orders")
    [next(journal.numbers) for _ in range(3)]
    after = journal.topic("globex", None, physical_topic=None, is_folded=True)
    drop = journal.drop(1, 2)

    reports = certify([first, after, drop])

    assert {name: report["verdict"] for name, report in reports.items()} == {
        "acme": "incomplete",
        "globex": "incomplete",
    }
    assert reports["globex"]["unproven_records"] == 1
    (hole,) = reports["acme"]["missing_records"]
    assert (hole["first"], hole["last"], hole["unexplained"]) == (1, 3, 1)


@pytest.mark.parametrize(
    ("ends", "begins_after_ms", "verdict"),
    [
        ("killed", 60_000, "incomplete"),
        ("stopped", 60_000, "isolated"),
        ("side by side", -60_000, "isolated"),
        ("for good", None, "isolated"),
    ],
)
def test_a_gateway_that_was_killed_leaves_its_day_unproven(
    certify: Callable[..., Any], ends: str, begins_after_ms: int | None, verdict: str
) -> None:
    first, second = Journal("gw/0", 7), Journal("gw/0", 8)
    records = [first.event(None, NOON_MS - HOUR_MS, type="start"), first.topic("acme", "orders")]
    if ends == "stopped":
        records.append(first.event(None, type="stop", outcome="done"))
    if begins_after_ms is not None:
        records.append(second.event(None, NOON_MS + begins_after_ms, type="start"))

    reports = certify(records)

    assert reports["acme"]["verdict"] == verdict
    day = "2026-10-05"
    cut = {"gateway_id": "gw/0", "epoch": 7, "from_day": day, "to_day": day}
    assert reports["acme"]["unended_epochs"] == ([cut] if ends == "killed" else [])


def test_an_epoch_that_goes_on_the_next_day_has_not_ended(certify: Callable[..., Any]) -> None:
    journal, later = Journal(), Journal(epoch=8)
    records = [
        journal.topic("acme", "orders"),
        journal.topic("acme", "orders", NOON_MS + DAY_MS),
        later.event(None, NOON_MS + 2 * DAY_MS, type="start"),
    ]

    reports = certify(records, days=("2026-10-05",))

    assert reports["acme"]["verdict"] == "isolated"


def test_names_that_are_made_otherwise_are_judged_by_their_own_prefix(certify: Callable[..., Any]) -> None:
    journal = Journal()
    records = [
        journal.topic("acme", "orders", physical_topic="legacy-orders"),
        journal.topic("globex", "orders", physical_topic="legacy-globex-orders"),
    ]

    reports = certify(records, prefixes={"acme": ("legacy-",), "globex": ("legacy-globex-",)})

    assert {report["verdict"] for report in reports.values()} == {"isolated"}


def test_what_gateways_told_of_their_tenants_names_is_what_names_are_judged_by(
    certify: Callable[..., Any],
) -> None:
    journal = Journal()
    told = {"topic_prefix": "t1-", "group_prefix": "g1-", "transactional_id_prefix": "x1-"}

    reports = certify(
        [
            journal.event("acme", NOON_MS - DAY_MS, type="tenant", outcome="success", after=told),
            journal.topic("acme", "orders", physical_topic="t1-orders"),
            journal.event("acme", type="admin", outcome="unknown", resource_type="group", resource_name="g",
                          physical_name="g1-g"),
            journal.access("acme", "group", "h", physical_name="g1-h"),
            journal.access("acme", "transactional_id", "x", physical_name="x1-x"),
            journal.access("globex", "group", "g", physical_name="t1-g"),
            journal.topic("globex", "orders", physical_topic="t1-orders"),
        ],
        days=("2026-10-05",),
    )  # fmt: skip

    assert reports["acme"]["verdict"] == "isolated"
    reasons = {one["entity"]: one["reason"] for one in reports["globex"]["exceptions"]}
    # A prefix of topics owns no groups.
    assert reasons == {"topic": "belongs to acme", "group": "belongs to no tenant"}


def test_a_topic_that_is_shared_is_listed_as_what_it_is(certify: Callable[..., Any]) -> None:
    journal, strange = Journal(), physical_name("globex", "orders")
    told = {"type": "alias", "resource_type": "topic", "physical_name": strange}

    reports = certify(
        [
            journal.event("acme", NOON_MS - DAY_MS, outcome="begun", resource_name="acme/p",
                          after={"access": "read"}, **told),
            journal.event("globex", NOON_MS - DAY_MS, outcome="begun", resource_name="globex/orders",
                          after={"access": "owner"}, **told),
            journal.topic("acme", "p", physical_topic=strange, bytes_out=9),
            journal.event("acme", NOON_MS + 1, outcome="done", resource_name="acme/p",
                          after={"access": "read"}, **told),
            journal.topic("initech", "p", physical_topic=strange, bytes_out=1),
            journal.topic("globex", "orders"),
            journal.topic("acme", "p", NOON_MS + DAY_MS, physical_topic=strange, bytes_out=1),
        ],
        days=("2026-10-05",),
    )  # fmt: skip

    assert (reports["acme"]["verdict"], reports["acme"]["exceptions"]) == ("isolated", [])
    assert reports["acme"]["shared_topics"] == [
        {"physical": strange, "owner": "globex", "shared": "read", "records": 1, "bytes": 9}
    ]
    assert reports["initech"]["verdict"] == "exceptions"


def test_an_access_after_the_day_on_which_a_share_ended_is_an_exception(certify: Callable[..., Any]) -> None:
    journal, strange = Journal(), physical_name("globex", "orders")
    told = {"type": "alias", "resource_name": "acme/p", "physical_name": strange, "after": {"access": "read"}}

    reports = certify(
        [
            journal.event("acme", NOON_MS - DAY_MS, outcome="begun", **told),
            journal.event("acme", NOON_MS - DAY_MS + 1, outcome="done", **told),
            journal.topic("acme", "p", physical_topic=strange, bytes_out=1),
            journal.topic("globex", "orders"),
        ],
        days=("2026-10-05",),
    )

    assert reports["acme"]["exceptions"][0]["reason"] == "belongs to globex"
