"""What a session tells the journal, played as a transcript."""

from itertools import pairwise
from typing import Any

import pytest

from bifrost.forwarding.work import Work
from bifrost.journal.identity import Software
from bifrost.journal.journal import Journal
from bifrost.journal.meter import Meter
from bifrost.session import metering
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import (
    ApiVersionsRequest,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    DescribeAclsRequest,
    HeartbeatRequest,
    HeartbeatResponse,
)
from support.clients.raw_client import request_frame
from support.gateways.journalling import StillClock, journal, rows, written
from support.physical_names import physical_name
from support.stage.messages import fetch, fetched, metadata
from support.stage.playbook import broker_answers, client_sends, to_broker, to_client
from support.stage.stage import Stage


@pytest.fixture
def told(stage: Stage) -> Journal:
    """The journal of the stage's gateway."""
    stage.shared.journal = journal(StillClock())
    return stage.shared.journal


def events(records: list[dict[str, Any]], type_: str) -> list[dict[str, Any]]:
    return [one["event"] for one in records if one["kind"] == "event" and one["event"]["type"] == type_]


def test_an_authentication_and_every_request_are_told(stage: Stage, told: Journal) -> None:
    book = stage.play("acme")
    for _ in range(3):
        assert (
            book
            >> client_sends(HeartbeatRequest(group_id="g", member_id="m"), 4)
            << to_broker(HeartbeatRequest(group_id=physical_name("acme", "g"), member_id="m"))
            >> broker_answers(HeartbeatResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS))
            << to_client(HeartbeatResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS))
        )
    book.session.close()

    records = written(told, ends_interval=True)

    (authentication,) = events(records, "authentication")
    assert authentication["outcome"] == "success"
    assert authentication["principal"] == "User:acme"
    (row,) = rows(records, "request", api="Heartbeat")
    assert (row["requests"], row["responses"], row["errors"]) == (3, 3, 3)
    assert row["error_codes"] == {"REBALANCE_IN_PROGRESS": 3}
    assert sum(row["gateway_times"]) == 3
    assert row["client_id"] == "a-client"


def test_topics_are_counted_on_the_long_way_as_well(stage: Stage, told: Journal) -> None:
    book = stage.play("acme") >> client_sends(metadata("orders", "secret"), 9)
    book << to_broker(metadata(physical_name("acme", "orders"), physical_name("acme", "/secret")))

    records = written(told, ends_interval=True)
    topics = {row["topic"]: row for row in rows(records, "topic", api="Metadata")}
    assert set(topics) == {"orders", "secret"}
    assert topics["secret"]["physical_topic"] == physical_name("acme", "/secret")
    (denial,) = events(records, "denial")
    assert (denial["rule"], denial["resource_name"]) == ("allowed_topics", "secret")


def test_what_the_gateway_answers_itself_is_counted_and_told(stage: Stage, told: Journal) -> None:
    stage.play("acme") >> client_sends(DescribeAclsRequest(), 1)
    stage.play("acme") >> client_sends(fetch(session_id=4711, session_epoch=1), 12)

    records = written(told, ends_interval=True)

    assert [(one["rule"], one["resource_name"]) for one in events(records, "denial")] == [
        ("not_for_tenants", "DescribeAcls"),
        ("foreign_fetch_session", "4711"),
    ]
    for api in ("DescribeAcls", "Fetch"):
        (row,) = rows(records, "request", api=api)
        assert (row["requests"], row["responses"], row["errors"]) == (1, 1, 1)


def test_a_fetch_is_counted_by_its_response(stage: Stage, told: Journal) -> None:
    book = stage.play("acme")

    assert (
        book
        >> client_sends(fetch(session_id=0, session_epoch=0), 12)
        << to_broker(fetch(session_id=0, session_epoch=0))
        >> broker_answers(fetched(session_id=1))
        << to_client(fetched(session_id=1))
    )

    (row,) = rows(written(told, ends_interval=True), "request", api="Fetch")
    assert row["empty_fetches"] == 1


def test_a_change_is_told_when_it_is_answered(stage: Stage, told: Journal) -> None:
    topic = CreateTopicsRequest.CreatableTopic(name="orders", num_partitions=1, replication_factor=1)
    physical = CreateTopicsRequest.CreatableTopic(
        name=physical_name("acme", "orders"), num_partitions=1, replication_factor=1
    )
    result = CreateTopicsResponse.CreatableTopicResult
    assert (
        stage.play("acme")
        >> client_sends(CreateTopicsRequest(topics=[topic]), 4)
        << to_broker(CreateTopicsRequest(topics=[physical]))
        >> broker_answers(
            CreateTopicsResponse(topics=[result(name=physical_name("acme", "orders"), error_code=36)])
        )
        << to_client(CreateTopicsResponse(topics=[result(name="orders", error_code=36)]))
    )

    (change,) = events(written(told), "admin")

    assert (change["outcome"], change["error_code"]) == ("failure", "TOPIC_ALREADY_EXISTS")
    assert (change["resource_name"], change["physical_name"]) == ("orders", physical_name("acme", "orders"))
    assert change["after"] == {"partitions": "1", "replication_factor": "1"}


def test_without_a_journal_nothing_is_counted(stage: Stage) -> None:
    book = (
        stage.play("acme")
        >> client_sends(HeartbeatRequest(group_id="g", member_id="m"), 4)
        << to_broker(HeartbeatRequest(group_id=physical_name("acme", "g"), member_id="m"))
    )

    assert [lane.usage for lane in book.session._lanes.values()] == [None]


def test_software_is_what_kafka_would_take_for_it() -> None:
    def named(name: str, version: str, api_version: int = 3) -> Software | None:
        request = ApiVersionsRequest(client_software_name=name, client_software_version=version)
        return metering.software_in(request_frame(request, api_version, 1)[4:])

    assert named("librdkafka", "2.16.1") == Software("librdkafka", "2.16.1")
    assert named("no spaces", "1") is None
    assert metering.software_in(request_frame(ApiVersionsRequest(), 0, 1)[4:]) is None
    assert metering.software_in(request_frame(HeartbeatRequest(), 4, 1)[4:]) is None
    assert metering.software_in(request_frame(ApiVersionsRequest(), 3, 1)[4:-2]) is None


def test_events_of_many_changes_pause_every_few(stage: Stage, told: Journal, monkeypatch: Any) -> None:
    """An event takes some 20 us, and 64 of them more than a slice."""
    told_of: list[int] = []
    monkeypatch.setattr(Meter, "change", lambda *_, **__: told_of.append(1))
    pauses: list[int] = []
    monkeypatch.setattr(Work, "_pause", lambda _self: pauses.append(len(told_of)))
    topics = [DeleteTopicsRequest.DeleteTopicState(name=f"t{number}") for number in range(100)]

    stage.play("acme") >> client_sends(DeleteTopicsRequest(topics=topics), 6)  # acme may delete none.

    assert len(told_of) == 100
    assert len(pauses) > 30
    assert all(later - before <= 4 for before, later in pairwise([*pauses, len(told_of)]))
