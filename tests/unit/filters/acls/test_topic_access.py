import pytest

from bifrost.filters.acls.topic_access import (
    CreateTopicsAccessFilter,
    DeleteTopicsAccessFilter,
    TopicPartitionsAccessFilter,
)
from bifrost.filters.steps import FORWARD, Answer, Close
from bifrost.tenancy.acls.acl_binding import ResourceType
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from support.physical_names import physical_name
from support.stage import messages
from support.stage.guards import allow, exchange_of, guard_of
from support.stage.stage import Stage

DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
CLUSTER = ResourceType.CLUSTER


@pytest.fixture
def stage() -> Stage:
    return Stage()


def creation(*names: str) -> messages.Message:
    return messages.CreateTopicsRequest(topics=[{"name": one} for one in names])


def test_topics_that_may_not_be_created_are_answered_here(stage: Stage) -> None:
    exchange = exchange_of(guard_of(stage, allow("CREATE", "new")), ApiKey.CREATE_TOPICS, 5)
    request = creation("new", "other", "twice", "twice")

    step = CreateTopicsAccessFilter().on_request(exchange, request)
    response = messages.CreateTopicsResponse(topics=[{"name": "new", "num_partitions": 3}])
    CreateTopicsAccessFilter().on_response(exchange, response)

    assert step is FORWARD
    assert [one.name for one in request.topics] == ["new"]
    codes = {one.name: one.error_code for one in response.topics}
    assert codes == {"new": 0, "other": DENIED, "twice": ErrorCode.INVALID_REQUEST}
    (new,) = [one for one in response.topics if one.name == "new"]
    assert (new.topic_config_error_code, new.num_partitions) == (DENIED, -1)


def test_the_cluster_right_permits_every_topic(stage: Stage) -> None:
    rights = allow("CREATE", "kafka-cluster", CLUSTER), allow("DELETE", "kafka-cluster", CLUSTER)
    guard = guard_of(stage, *rights)
    request = creation("new")

    assert (
        CreateTopicsAccessFilter().on_request(exchange_of(guard, ApiKey.CREATE_TOPICS, 5), request) is FORWARD
    )
    assert (
        DeleteTopicsAccessFilter().on_request(
            exchange_of(guard, ApiKey.DELETE_TOPICS, 5), messages.DeleteTopicsRequest(topic_names=["x"])
        )
        is FORWARD
    )


def test_topics_that_may_not_be_deleted_are_answered_by_the_name_that_may_be_known(stage: Stage) -> None:
    seen, hidden = (stage.topic(physical_name("initech", one)) for one in ("seen", "hidden"))
    guard = guard_of(stage, allow("DESCRIBE", "seen"))
    wanted = [{"name": "named"}, {"name": None, "topic_id": seen}, {"name": None, "topic_id": hidden}]

    step = DeleteTopicsAccessFilter().on_request(
        exchange_of(guard, ApiKey.DELETE_TOPICS, 6), messages.DeleteTopicsRequest(topics=wanted)
    )

    assert isinstance(step, Answer)
    answered = [(one.name, one.topic_id, one.error_code) for one in step.response.responses]
    assert answered == [
        ("named", bytes(16), DENIED),
        ("seen", seen, DENIED),
        (None, hidden, DENIED),
    ]


def test_topics_that_may_be_deleted_go_to_the_broker(stage: Stage) -> None:
    exchange = exchange_of(guard_of(stage, allow("DELETE", "old")), ApiKey.DELETE_TOPICS, 5)
    request = messages.DeleteTopicsRequest(topic_names=["old", "kept"])

    step = DeleteTopicsAccessFilter().on_request(exchange, request)
    response = messages.DeleteTopicsResponse(responses=[{"name": "old"}])
    DeleteTopicsAccessFilter().on_response(exchange, response)

    assert step is FORWARD
    assert request.topic_names == ["old"]
    assert {one.name: one.error_code for one in response.responses} == {"old": 0, "kept": DENIED}


def test_pages_of_all_topics_need_the_right_to_describe_all(stage: Stage) -> None:
    request = messages.DescribeTopicPartitionsRequest()
    api_key = ApiKey.DESCRIBE_TOPIC_PARTITIONS

    some = exchange_of(guard_of(stage, allow("DESCRIBE", "orders")), api_key, 0)
    every = exchange_of(guard_of(stage, allow("DESCRIBE", "*")), api_key, 0)

    assert isinstance(TopicPartitionsAccessFilter().on_request(some, request), Close)
    assert TopicPartitionsAccessFilter().on_request(every, request) is FORWARD


def test_denied_topics_are_described_as_denied_in_the_order_of_names(stage: Stage) -> None:
    exchange = exchange_of(guard_of(stage, allow("DESCRIBE", "m")), ApiKey.DESCRIBE_TOPIC_PARTITIONS, 0)
    request = messages.DescribeTopicPartitionsRequest(topics=[{"name": one} for one in ("a", "m", "z")])

    TopicPartitionsAccessFilter().on_request(exchange, request)
    response = messages.DescribeTopicPartitionsResponse(topics=[{"name": "m"}])
    TopicPartitionsAccessFilter().on_response(exchange, response)

    assert [(one.name, one.error_code) for one in response.topics] == [("a", DENIED), ("m", 0), ("z", DENIED)]
