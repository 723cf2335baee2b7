"""Fetch: whose session it is (KIP-227), and that no broker replicates through the gateway."""

import pytest

from bifrost.wire.error_codes import ErrorCode
from support.physical_names import physical_name
from support.stage import messages
from support.stage.messages import fetch, fetched
from support.stage.playbook import Playbook, broker_answers, client_sends, to_broker, to_client
from support.stage.stage import Stage

SESSION = 4711
NOT_FOUND = messages.FetchResponse(error_code=ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
REFUSED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
BY_NAME, BY_ID = range(7, 13), range(13, 19)
WITH_SESSIONS = range(7, 19)


def start_session(book: Playbook, version: int, session_id: int = SESSION) -> Playbook:
    """Let the broker open a fetch session without topics for the client."""
    full = fetch(session_id=0, session_epoch=0)
    answer = fetched(session_id=session_id)
    return (
        book >> client_sends(full, version) << to_broker(full) >> broker_answers(answer) << to_client(answer)
    )


@pytest.mark.parametrize("version", WITH_SESSIONS)
def test_an_own_session_goes_on(stage: Stage, decoded: list[str], version: int) -> None:
    book = start_session(stage.play(), version)
    decoded.clear()

    book >> client_sends(fetch(session_id=SESSION, session_epoch=1), version)

    assert book << to_broker(fetch(session_id=SESSION, session_epoch=1))
    assert decoded == []


def test_an_own_session_goes_on_over_another_connection(stage: Stage) -> None:
    assert start_session(stage.play(), 12)
    incremental = fetch(session_id=SESSION, session_epoch=1)

    assert stage.play() >> client_sends(incremental, 12) << to_broker(incremental)


@pytest.mark.parametrize("version", WITH_SESSIONS)
@pytest.mark.parametrize("epoch", [1, 2, 2**31 - 1, -2, -(2**31)])
def test_a_foreign_session_is_not_continued(stage: Stage, version: int, epoch: int) -> None:
    assert start_session(stage.play("globex"), version)

    book = stage.play("acme") >> client_sends(fetch(session_id=SESSION, session_epoch=epoch), version)

    assert book << to_client(NOT_FOUND)


@pytest.mark.parametrize("version", WITH_SESSIONS)
def test_a_session_that_no_client_opened_is_answered_the_same(stage: Stage, version: int) -> None:
    book = stage.play("acme") >> client_sends(fetch(session_id=SESSION, session_epoch=1), version)

    assert book << to_client(NOT_FOUND)


@pytest.mark.parametrize("version", WITH_SESSIONS)
@pytest.mark.parametrize("epoch", [0, -1])
def test_a_foreign_session_is_not_closed_either(stage: Stage, version: int, epoch: int) -> None:
    assert start_session(stage.play("globex"), version)

    book = stage.play("acme") >> client_sends(fetch(session_id=SESSION, session_epoch=epoch), version)

    assert book << to_broker(fetch(session_id=0, session_epoch=epoch))


@pytest.mark.parametrize("epoch", [0, -1])
def test_an_own_session_is_closed(stage: Stage, epoch: int) -> None:
    book = start_session(stage.play(), 12)

    book >> client_sends(fetch(session_id=SESSION, session_epoch=epoch), 12)

    assert book << to_broker(fetch(session_id=SESSION, session_epoch=epoch))


def test_the_same_number_at_another_broker_is_another_session(stage: Stage) -> None:
    assert start_session(stage.play(node_id=1), 12)

    book = stage.play(node_id=2) >> client_sends(fetch(session_id=SESSION, session_epoch=1), 12)

    assert book << to_client(NOT_FOUND)


def test_a_number_that_the_broker_gives_out_anew_changes_its_owner(stage: Stage) -> None:
    assert start_session(stage.play("globex"), 12)
    assert start_session(stage.play("acme"), 12)
    incremental = fetch(session_id=SESSION, session_epoch=1)

    book = stage.play("globex") >> client_sends(incremental, 12)

    assert book << to_client(NOT_FOUND)
    assert stage.play("acme") >> client_sends(incremental, 12) << to_broker(incremental)


def test_an_answer_without_a_session_claims_none(stage: Stage) -> None:
    book = (
        stage.play() >> client_sends(fetch("orders"), 12) << to_broker(fetch(physical_name("acme", "orders")))
    )

    book >> broker_answers(fetched(physical_name("acme", "orders"))) << to_client(fetched("orders"))

    assert book
    assert len(stage.fetch_sessions.claims) == 0


def test_that_a_session_is_not_found_waits_for_the_answers_before_it(stage: Stage) -> None:
    assert (
        stage.play()
        >> client_sends(fetch("orders"), 12)
        << to_broker(fetch(physical_name("acme", "orders")))
        >> client_sends(fetch(session_id=SESSION, session_epoch=1), 12)
        >> broker_answers(fetched(physical_name("acme", "orders")))
        << to_client(fetched("orders"))
        << to_client(NOT_FOUND)
    )


# -- followers


def refusal(*topics: str | bytes):
    partitions = [{"error_code": REFUSED, "high_watermark": -1, "records": b""}]
    key = "topic_id" if isinstance(topics[0], bytes) else "topic"
    return messages.FetchResponse(responses=[{key: topic, "partitions": partitions} for topic in topics])


@pytest.mark.parametrize("version", range(15))
@pytest.mark.parametrize("replica_id", [0, 1, 2**31 - 1])
def test_no_client_fetches_as_a_replica(stage: Stage, version: int, replica_id: int) -> None:
    topic = stage.topic(physical_name("acme", "orders")) if version in BY_ID else "orders"

    book = stage.play() >> client_sends(fetch(topic, replica_id=replica_id), version)

    assert book << to_client(refusal(topic))


@pytest.mark.parametrize("version", range(15, 19))
@pytest.mark.parametrize("replica_id", [0, 1, 2**31 - 1])
def test_no_client_fetches_as_a_replica_by_the_tagged_field(
    stage: Stage, version: int, replica_id: int
) -> None:
    topic = stage.topic(physical_name("acme", "orders"))
    replica = {"replica_id": replica_id, "replica_epoch": 5}

    book = stage.play() >> client_sends(fetch(topic, replica_state=replica), version)

    assert book << to_client(refusal(topic))


@pytest.mark.parametrize("replica_id", [-1, -2, -3])
@pytest.mark.parametrize("version", [0, 4, 11, 12])
def test_a_consumer_by_any_of_kafkas_numbers_fetches(stage: Stage, version: int, replica_id: int) -> None:
    book = stage.play() >> client_sends(fetch("orders", replica_id=replica_id), version)

    assert book << to_broker(fetch(physical_name("acme", "orders"), replica_id=replica_id))


def test_a_foreign_session_and_a_replica_at_once_are_not_served(stage: Stage) -> None:
    assert start_session(stage.play("globex"), 12)
    request = fetch("orders", session_id=SESSION, session_epoch=0, replica_id=3)

    book = stage.play("acme") >> client_sends(request, 12)

    assert book << to_client(refusal("orders"))


@pytest.mark.parametrize("version", range(12, 19))
def test_a_cluster_id_does_not_reach_the_broker(stage: Stage, version: int) -> None:
    topic = stage.topic(physical_name("acme", "orders")) if version in BY_ID else "orders"
    physical = topic if version in BY_ID else physical_name("acme", "orders")

    book = stage.play() >> client_sends(fetch(topic, cluster_id="4L6g3nShT-eMCtK--X86sw"), version)

    assert book << to_broker(fetch(physical))


@pytest.mark.parametrize("version", [17, 18])
def test_a_replicas_directory_does_not_reach_the_broker(stage: Stage, version: int) -> None:
    topic = stage.topic(physical_name("acme", "orders"))
    request = fetch(topic)
    request.topics[0].partitions[0].replica_directory_id = b"0123456789abcdef"

    book = stage.play() >> client_sends(request, version)

    assert book << to_broker(fetch(topic))


# -- leader hints (KIP-951)


@pytest.mark.parametrize("version", [16, 17, 18])
def test_a_leader_hint_gives_the_gateways_address(stage: Stage, version: int) -> None:
    topic = stage.topic(physical_name("acme", "orders"))
    moved = {
        "error_code": ErrorCode.NOT_LEADER_OR_FOLLOWER,
        "current_leader": {"leader_id": 2, "leader_epoch": 9},
    }
    broker = {"node_id": 2, "host": "kafka-2.internal", "port": 9092, "rack": "eu-1"}
    gateway = {"node_id": 2, "host": "proxy.example.com", "port": 9094, "rack": "eu-1"}
    answer, expected = (
        messages.FetchResponse(responses=[{"topic_id": topic, "partitions": [moved]}], node_endpoints=[one])
        for one in (broker, gateway)
    )
    book = stage.play() >> client_sends(fetch(topic), version) << to_broker(fetch(topic))

    book >> broker_answers(answer)

    assert book << to_client(expected)


def test_a_leader_that_has_no_port_is_not_hinted_at(stage: Stage) -> None:
    topic = stage.topic(physical_name("acme", "orders"))
    answer = fetched(topic, node_endpoints=[{"node_id": 9, "host": "kafka-9.internal", "port": 9092}])
    book = stage.play() >> client_sends(fetch(topic)) << to_broker(fetch(topic))

    book >> broker_answers(answer)

    assert book << to_client(fetched(topic))
