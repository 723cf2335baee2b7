"""Fetch at a single address: there are no fetch sessions, and a client that names one learns that."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import FetchRequest
from support.clients.raw_client import RawClient
from support.clients.raw_operations import create_topic, fetch_request, topic_id_of
from support.gateways.gateway_process import GatewayProcess

TOPIC = "single-fetches"
VERSIONS = [7, 11, 12, 13, 15, 17]


@pytest.fixture(scope="module")
def client(gateway: GatewayProcess) -> Iterator[RawClient]:
    with RawClient.authenticated(gateway.endpoint("initech")) as made:
        create_topic(made, TOPIC, 3)
        yield made


@pytest.mark.parametrize("version", VERSIONS)
def test_a_fetch_that_would_open_a_session_opens_none(client: RawClient, version: int) -> None:
    asked = fetch_request(TOPIC, topic_id=topic_id_of(client, TOPIC), session_epoch=0)

    opened = client.request(asked, version)

    assert (opened.error_code, opened.session_id) == (ErrorCode.NONE, 0)
    assert [one.partitions[0].error_code for one in opened.responses] == [ErrorCode.NONE]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("session_id", "epoch"), [(0, 1), (0, 9), (77, 1), (77, 5)])
def test_a_fetch_in_a_session_is_told_that_there_is_none(
    client: RawClient, version: int, session_id: int, epoch: int
) -> None:
    topic_id = topic_id_of(client, TOPIC)
    forgotten = FetchRequest.ForgottenTopic(topic=TOPIC, topic_id=topic_id, partitions=[0])
    for changes in ({}, {"forgotten_topics_data": [forgotten]}):
        asked = FetchRequest(min_bytes=0, session_id=session_id, session_epoch=epoch, **changes)

        answer = client.request(asked, version)

        assert (answer.error_code, answer.session_id) == (ErrorCode.FETCH_SESSION_ID_NOT_FOUND, 0)
        assert answer.responses == []


@pytest.mark.parametrize("version", VERSIONS)
def test_a_fetch_of_nothing_has_nothing(client: RawClient, version: int) -> None:
    answer = client.request(FetchRequest(max_wait_ms=100, session_epoch=-1, topics=[]), version)

    assert (answer.error_code, answer.session_id, answer.responses) == (ErrorCode.NONE, 0, [])
