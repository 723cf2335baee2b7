import pytest

from bifrost.filters.acls.denial import keep_answer, put_back, refuse, split_topics, take_out, topic_name
from bifrost.filters.steps import Answer, Close
from bifrost.tenancy.acls.acl_binding import Operation
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


def test_denied_items_leave_the_request_and_come_back_with_the_answer(stage: Stage) -> None:
    guard = guard_of(stage, allow("WRITE", "orders"))
    exchange = exchange_of(guard, ApiKey.PRODUCE, 9)
    request = messages.produce("orders", "secret")

    permitted, denied = split_topics(guard, request.topic_data, Operation.WRITE)
    take_out(exchange, request, "topic_data", permitted, denied, DENIED)
    response = messages.produced("orders")
    put_back(exchange, response)

    assert [one.name for one in request.topic_data] == ["orders"]
    assert exchange.wants_response
    codes = {one.name: one.partition_responses[0].error_code for one in response.responses}
    assert codes == {"orders": 0, "secret": DENIED}


def test_several_kept_answers_come_back(stage: Stage) -> None:
    exchange = exchange_of(guard_of(stage), ApiKey.CREATE_TOPICS, 5)
    for name in ("a", "b"):
        keep_answer(exchange, messages.CreateTopicsResponse(topics=[{"name": name}]))
    response = messages.CreateTopicsResponse()

    put_back(exchange, response)

    assert [one.name for one in response.topics] == ["a", "b"]


def test_a_topic_is_known_by_its_name_or_its_id(stage: Stage) -> None:
    guard, topic_id = guard_of(stage), stage.topic(physical_name("initech", "orders"))
    by_id = messages.fetch(topic_id).topics[0]

    assert topic_name(guard, by_id) == "orders"
    assert topic_name(guard, messages.fetch("orders").topics[0]) == "orders"
    assert topic_name(guard, messages.fetch(b"\x01" * 16).topics[0]) is None


def test_a_request_whose_answer_has_no_place_for_an_error_ends_the_connection(stage: Stage) -> None:
    exchange = exchange_of(guard_of(stage), ApiKey.PRODUCE, 9)

    answered = refuse(exchange, messages.produce("orders"), DENIED)
    unanswered = refuse(exchange, messages.produce("orders", acks=0), DENIED)

    assert isinstance(answered, Answer)
    assert isinstance(unanswered, Close)
