"""A Produce by topic IDs that is too large to be decoded; smaller ones are in test_topic_ids_of_clients.py."""

import pytest

from bifrost.filters.error_response import error_response
from bifrost.session import decoded_request
from bifrost.session.decoded_request import REQUEST_BYTES_LIMIT
from bifrost.tenancy.topic_ids import FEW_IDS
from bifrost.wire.error_codes import ErrorCode
from support.physical_names import physical_name
from support.stage.messages import produce_by_id, produced, topic_id
from support.stage.playbook import (
    broker_answers,
    client_sends,
    client_sends_frame,
    holds,
    learns,
    looks_up,
    request_frame,
    response_frame,
    to_broker,
    to_client,
    to_client_frame,
)
from support.stage.stage import Stage

ORDERS, THEIRS = physical_name("acme", "orders"), physical_name("globex", "orders")
OWN, FOREIGN = topic_id(ORDERS), topic_id(THEIRS)
UNKNOWN_ID = ErrorCode.UNKNOWN_TOPIC_ID
MANY = 100

pytestmark = pytest.mark.usefixtures("all_are_large")


@pytest.fixture
def all_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoded_request, "MAX_OTHER_DECODED_BYTES", 100)


def made_up(count: int, start: int = 1) -> list[bytes]:
    return [number.to_bytes(16, "big") for number in range(start, start + count)]


def masks(stage: Stage, ids: list[bytes]) -> list[bytes]:
    return [stage.masked(one) for one in ids]


def test_many_ids_that_no_topic_has_are_answered_one_by_one(stage: Stage, decoded: list[str]) -> None:
    ids = made_up(MANY)
    book = stage.play()
    decoded.clear()
    book >> client_sends(produce_by_id(*ids, OWN), 13) << looks_up(set(ids[: FEW_IDS + 1]))
    stage.namespaces["acme"].topics_were_listed()

    book >> learns({OWN: ORDERS}) << to_broker(produce_by_id(*masks(stage, ids), OWN)) << holds()

    book >> broker_answers(produced(*masks(stage, ids), error_code=UNKNOWN_ID))
    assert book << to_client(produced(*ids, error_code=UNKNOWN_ID))
    assert decoded == []


def test_one_look_up_is_for_all_that_follow(stage: Stage) -> None:
    stage.namespaces["acme"].topics_were_listed()
    book = stage.play()
    for start in (1, 1 + MANY):
        ids = made_up(MANY, start)
        book >> client_sends(produce_by_id(*ids), 13) << to_broker(produce_by_id(*masks(stage, ids)))
        book >> broker_answers(produced(*masks(stage, ids))) << to_client(produced(*ids))

    assert book << holds()


def test_a_known_foreign_id_is_as_unknown_as_the_others(stage: Stage) -> None:
    stage.topic_ids.learn(FOREIGN, THEIRS.encode())
    ids = [*made_up(FEW_IDS), FOREIGN]
    book = stage.play() >> client_sends(produce_by_id(*ids), 13) << looks_up(set(ids))
    stage.namespaces["acme"].topics_were_listed()

    assert book >> learns({}) << to_broker(produce_by_id(*masks(stage, ids)))


def test_a_few_ids_are_looked_up_even_when_the_topics_were_just_listed(stage: Stage) -> None:
    stage.namespaces["acme"].topics_were_listed()
    ids = made_up(FEW_IDS)

    book = stage.play() >> client_sends(produce_by_id(*ids), 13) << looks_up(set(ids))

    assert book >> learns({}) << to_broker(produce_by_id(*masks(stage, ids)))


def test_a_request_with_an_unknown_field_would_have_to_be_decoded_and_is_refused(stage: Stage) -> None:
    stage.namespaces["acme"].topics_were_listed()
    request = produce_by_id(*made_up(MANY))
    frame = request_frame(request, 13, 1)
    assert frame[-1] == 0
    tagged = frame[:-1] + b"\x01\x63\x02yz"

    book = stage.play() >> client_sends_frame(tagged)

    text = "The request is larger than this gateway takes: at most 100000 items and 100 bytes"
    refused = error_response(request, 13, ErrorCode.INVALID_REQUEST, message=text)
    assert refused is not None
    assert book << to_client_frame(response_frame(refused, 13, 1))
    assert stage.shared.lanes.in_flight_limits.hits == {(REQUEST_BYTES_LIMIT, "acme"): 1}
