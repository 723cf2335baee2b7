"""What a running gateway tells its journal; tests/kafka/operations/test_journal.py reads what is written."""

from typing import Any

import pytest

from bifrost.config.fields.journal import Journal
from bifrost.config.model import Config
from bifrost.filters.records.tenant_records import ProcessRecords
from bifrost.filters.records.unenforced_records import UnenforcedPlace
from bifrost.gateway.gateway import Gateway
from bifrost.gateway.journaling.journaling import Journaling
from bifrost.gateway.loop.steps import at_once
from bifrost.session.close_reason import CloseReason
from support.gateways.journalling import written
from support.physical_names import physical_name, prefix_of
from unit.gateway.test_gateway import CONFIG

PEER = "10.0.0.7:51234"


@pytest.fixture
def gateway() -> Gateway:
    return Gateway(Config.model_validate(CONFIG))


@pytest.fixture
def journaling(gateway: Gateway) -> Journaling:
    context: Any = gateway
    return Journaling(context, Journal(gateway_id="gw"), gateway.config)


def events(journaling: Journaling) -> list[dict[str, Any]]:
    return [record["event"] | {"tenant": record.get("tenant")} for record in written(journaling.journal)]


@pytest.mark.parametrize(
    "reason",
    [
        CloseReason.AUTHENTICATION_FAILED,
        CloseReason.CLIENT_CERTIFICATE_REFUSED,
        CloseReason.AUTHENTICATION_TIMEOUT,
        CloseReason.NOT_AUTHENTICATED,
        CloseReason.SESSION_EXPIRED,
    ],
)
def test_a_failed_authentication_is_an_event(journaling: Journaling, reason: CloseReason) -> None:
    journaling.note_end(reason, None, PEER, "why", "PLAIN")

    assert events(journaling) == [
        {
            "type": "authentication",
            "outcome": "failure",
            "tenant": None,
            "client_address": PEER,
            "mechanism": "PLAIN",
            "rule": str(reason),
            "detail": "why",
        }
    ]


def test_an_end_by_a_limit_names_the_setting(journaling: Journaling) -> None:
    journaling.note_end(CloseReason.TENANT_CONNECTIONS, "acme", PEER, "5 are open")

    [event] = events(journaling)
    assert (event["type"], event["rule"], event["tenant"]) == ("limit", "max_connections", "acme")


@pytest.mark.parametrize(
    "reason", [CloseReason.CLIENT_CLOSED, CloseReason.IDLE, CloseReason.BROKER_CLOSED, CloseReason.DRAINED]
)
def test_other_ends_are_no_events(journaling: Journaling, reason: CloseReason) -> None:
    journaling.note_end(reason, "acme", PEER, "")

    assert events(journaling) == []


def test_a_reload_that_is_applied_tells_the_tenants_prefixes_anew(journaling: Journaling) -> None:
    journaling.note_reload("refused", "proxy.yaml:3: no")
    journaling.note_reload("unchanged", "")
    before = [event["type"] for event in events(journaling)]

    journaling.note_reload("applied", "")
    at_once(journaling._tell_tenants())

    assert before == ["reload", "reload"]
    reload, *tenants = events(journaling)
    assert (reload["type"], reload["outcome"]) == ("reload", "applied")
    assert [(event["type"], event["tenant"]) for event in tenants] == [
        ("tenant", "acme"),
        ("tenant", "globex"),
    ]
    assert tenants[0]["after"] == {
        "topic_prefix": prefix_of("acme"),
        "group_prefix": prefix_of("acme"),
        "transactional_id_prefix": prefix_of("acme"),
    }
    assert tenants[0]["upstream"] == "upstream"


def test_a_drain_is_told_when_it_begins_and_when_it_is_done(journaling: Journaling) -> None:
    journaling.note_drain("begun", "7 connections")
    journaling.note_drain("done", "0 connections cut")

    assert [(event["outcome"], event["detail"]) for event in events(journaling)] == [
        ("begun", "7 connections"),
        ("done", "0 connections cut"),
    ]


def test_hits_of_a_limit_are_told_once_with_how_many_are_new(
    gateway: Gateway, journaling: Journaling
) -> None:
    hits = gateway.shared.lanes.in_flight_limits.hits
    hits["max_in_flight_requests", "acme"] = 3
    hits["something_new", ""] = 1
    at_once(journaling._tell_hits())
    first = {event["rule"]: event for event in events(journaling)}
    hits["max_in_flight_requests", "acme"] = 5

    at_once(journaling._tell_hits())

    assert (first["max_in_flight_requests"]["count"], first["max_in_flight_requests"]["tenant"]) == (
        3,
        "acme",
    )
    assert "connections waited because of the tenant's limit" in first["max_in_flight_requests"]["detail"]
    assert first["something_new"]["detail"] == "a limit was reached"
    assert [(event["rule"], event["count"]) for event in events(journaling)] == [
        ("max_in_flight_requests", 2)
    ]


def test_before_it_writes_the_journal_is_not_up(journaling: Journaling) -> None:
    journaling.note_drain("begun", "")

    counts = journaling.counts()

    assert (counts.is_up, counts.written, counts.usage_rows) == (False, 0, 0)
    assert counts.buffer_bytes > 0
    assert journaling.state() == {"buffer_bytes": counts.buffer_bytes, "usage_rows": 0, "is_up": 0}


def test_what_a_filter_would_refuse_is_told_once_with_how_often(
    gateway: Gateway, journaling: Journaling
) -> None:
    at_once(journaling._tell_unenforced())
    records = ProcessRecords(gateway.limits, gateway.limits_hit, lambda: 0)
    gateway.shared.virtual_clusters.models.records = records
    place = UnenforcedPlace(
        "acme", "trial", "acme:eu", "alice", "orders", physical_name("acme", "--eu.orders")
    )
    for _ in range(2):
        records.unenforced.note(place, 2, "trial: value: it names no schema")
    records.unenforced.note(UnenforcedPlace("globex", "trial"), 1, "one of many")

    at_once(journaling._tell_unenforced())
    told = events(journaling)
    at_once(journaling._tell_unenforced())

    assert events(journaling) == []
    first, folded = told
    assert {
        name: first[name] for name in ("type", "outcome", "rule", "resource_name", "count", "principal")
    } == {
        "type": "records",
        "outcome": "unenforced",
        "rule": "trial",
        "resource_name": "orders",
        "count": 4,
        "principal": "User:alice",
    }
    assert (first["detail"], first["namespace"]) == ("trial: value: it names no schema", "acme:eu")
    assert (folded["tenant"], folded["count"]) == ("globex", 1)
    assert not {"resource_name", "principal", "physical_name"} & folded.keys()
