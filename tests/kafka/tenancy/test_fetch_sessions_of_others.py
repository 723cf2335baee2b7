"""Fetch sessions (KIP-227): a broker serves any client that names one; the gateway serves its owner."""

from __future__ import annotations

from typing import Any

import pytest

from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import FetchRequest
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import fetch_request, produce, topic_id_of
from support.gateways.gateway_fixtures import Connect, FreshTopic

SESSION_VERSIONS = range(7, 19)
NOT_FOUND = ErrorCode.FETCH_SESSION_ID_NOT_FOUND


@pytest.fixture(scope="module", autouse=True)
def _topics(fresh_topic: FreshTopic) -> None:
    for tenant in ("acme", "globex"):
        fresh_topic(tenant, "events")


def _next(session_id: int, epoch: int, **fields: Any) -> FetchRequest:
    """Continue a session without naming a topic."""
    return FetchRequest(min_bytes=0, session_id=session_id, session_epoch=epoch, **fields)


def _open(client: RawClient, version: int) -> int:
    request = fetch_request("events", topic_id=topic_id_of(client, "events"), session_epoch=0)
    opened = client.request(request, version)
    assert opened.error_code == ErrorCode.NONE
    assert opened.session_id > 0
    return int(opened.session_id)


@pytest.mark.parametrize("version", SESSION_VERSIONS)
def test_session_of_another_tenant_is_not_found_and_goes_on_undisturbed(
    version: int, connect: Connect
) -> None:
    globex, acme = connect("globex"), connect("acme")
    session_id = _open(globex, version)
    produce(globex, "events", [f"for globex in v{version}".encode()])

    unknown = session_id ^ 0x2A2A2A2A
    foreign_answers = [acme.exchange(_next(session_id, epoch), version) for epoch in (1, 2, 1000)]
    unknown_answers = [acme.exchange(_next(unknown, epoch), version) for epoch in (1, 2, 1000)]
    # Epochs that close a session, with and without opening another.
    closed = [acme.request(_next(session_id, epoch), version) for epoch in (-1, 0)]
    owners = globex.request(_next(session_id, 1), version)

    assert foreign_answers == unknown_answers
    assert {one.error_code for one in closed} == {ErrorCode.NONE}
    assert [one.responses for one in closed] == [[], []]
    assert owners.error_code == ErrorCode.NONE
    assert f"for globex in v{version}".encode() in bytes(owners.responses[0].partitions[0].records)


@pytest.mark.parametrize("version", SESSION_VERSIONS)
def test_unknown_session_is_answered_as_the_broker_does(
    version: int, connect: Connect, direct: RawClient
) -> None:
    request = _next(123_456_789, 5)

    answer = connect("acme").exchange(request, version)

    assert answer == direct.exchange(request, version)
    assert connect("acme").request(request, version).error_code == NOT_FOUND


def test_session_goes_on_over_another_connection_of_its_tenant(connect: Connect) -> None:
    first, second = connect("globex"), connect("globex")
    session_id = _open(first, 12)

    assert second.request(_next(session_id, 1), 12).error_code == ErrorCode.NONE


def test_closed_session_is_gone_for_its_owner_too(connect: Connect) -> None:
    globex = connect("globex")
    session_id = _open(globex, 12)

    globex.request(_next(session_id, -1), 12)

    assert globex.request(_next(session_id, 1), 12).error_code == NOT_FOUND


def test_topic_cannot_be_smuggled_into_anothers_session(connect: Connect) -> None:
    globex, acme = connect("globex"), connect("acme")
    session_id = _open(globex, 13)
    produce(acme, "events", [b"of acme"])

    smuggled = fetch_request(
        "events", topic_id=topic_id_of(acme, "events"), session_id=session_id, session_epoch=1
    )
    refused = acme.request(smuggled, 13)
    owners = globex.request(_next(session_id, 1), 13)

    assert (refused.error_code, refused.responses) == (NOT_FOUND, [])
    assert owners.error_code == ErrorCode.NONE
    assert [topic.topic_id for topic in owners.responses] in ([], [topic_id_of(globex, "events")])


@pytest.mark.parametrize("version", range(4, 19))
def test_no_broker_replicates_through_the_gateway(version: int, connect: Connect) -> None:
    acme = connect("acme")
    produce(acme, "events", [b"for consumers only"])
    request = fetch_request("events", topic_id=topic_id_of(acme, "events"))
    if version < 15:
        request.replica_id = 1
    else:
        request.replica_state = FetchRequest.ReplicaState(replica_id=1, replica_epoch=1)

    answer = acme.request(request, version)

    partitions = [partition for topic in answer.responses for partition in topic.partitions]
    assert [one.error_code for one in partitions] == [ErrorCode.TOPIC_AUTHORIZATION_FAILED]
    assert not any(one.records for one in partitions)


def test_session_opened_over_the_bootstrap_port_goes_on_at_the_brokers_own(
    acme: Endpoint, connect: Connect
) -> None:
    """Both ports stand for the one broker."""
    with RawClient.authenticated(acme) as client:
        session_id = _open(client, 12)

        assert connect("acme").request(_next(session_id, 1), 12).error_code == ErrorCode.NONE
