import pytest

from bifrost.filters.acls.fetch_access import FetchAccessFilter
from bifrost.filters.fetch import FINAL_EPOCH
from bifrost.filters.steps import FORWARD, Answer
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from support.physical_names import physical_name
from support.stage import messages
from support.stage.guards import allow, exchange_of, guard_of
from support.stage.stage import Stage

DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED


@pytest.fixture
def stage() -> Stage:
    return Stage()


def codes_of(response: messages.Message) -> dict[str, int]:
    return {one.topic: one.partitions[0].error_code for one in response.responses}


def test_a_request_with_a_denied_topic_is_made_without_a_session(stage: Stage) -> None:
    exchange = exchange_of(guard_of(stage, allow("READ", "orders")), ApiKey.FETCH, 12)
    request = messages.fetch("orders", "secret", session_epoch=0)

    step = FetchAccessFilter().on_request(exchange, request)
    response = messages.fetched("orders")
    FetchAccessFilter().on_response(exchange, response)

    assert step is FORWARD
    assert request.session_epoch == FINAL_EPOCH
    assert [one.topic for one in request.topics] == ["orders"]
    assert codes_of(response) == {"orders": 0, "secret": DENIED}


def test_a_session_that_would_get_a_denied_topic_ends(stage: Stage) -> None:
    exchange = exchange_of(guard_of(stage), ApiKey.FETCH, 12)

    step = FetchAccessFilter().on_request(exchange, messages.fetch("secret", session_id=7, session_epoch=3))

    assert isinstance(step, Answer)
    assert step.response.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_without_a_permitted_topic_the_broker_is_not_asked(stage: Stage) -> None:
    exchange = exchange_of(guard_of(stage), ApiKey.FETCH, 12)

    step = FetchAccessFilter().on_request(exchange, messages.fetch("secret", session_epoch=0))

    assert isinstance(step, Answer)
    assert codes_of(step.response) == {"secret": DENIED}


def test_what_was_revoked_meanwhile_is_taken_out_of_the_answer(stage: Stage) -> None:
    topic_id = stage.topic(physical_name("initech", "secret"))
    guard = guard_of(stage, allow("READ", "orders"))
    response, by_id = messages.fetched("orders", "secret"), messages.fetched(topic_id)

    FetchAccessFilter().on_response(exchange_of(guard, ApiKey.FETCH, 12), response)
    FetchAccessFilter().on_response(exchange_of(guard, ApiKey.FETCH, 13), by_id)

    assert codes_of(response) == {"orders": 0, "secret": DENIED}
    assert response.responses[0].partitions[0].records
    assert not response.responses[1].partitions[0].records
    (partition,) = by_id.responses[0].partitions
    assert (partition.error_code, partition.records) == (DENIED, b"")
