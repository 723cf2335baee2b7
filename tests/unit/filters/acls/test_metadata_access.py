import pytest

from bifrost.filters.acls.metadata_access import MetadataAccessFilter
from bifrost.filters.steps import FORWARD
from bifrost.filters.topics.automatic_creation import ABSENT_TOPICS
from bifrost.tenancy.acls.acl_binding import ResourceType
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from support.physical_names import physical_name
from support.stage import messages
from support.stage.guards import allow, exchange_of, guard_of
from support.stage.messages import metadata, metadata_of
from support.stage.stage import Stage

DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED


@pytest.fixture
def stage() -> Stage:
    return Stage()


def codes_of(response: messages.Message) -> dict[str | None, int]:
    return {one.name: one.error_code for one in response.topics}


@pytest.mark.parametrize("version", [0, 1, 9, 12])
def test_a_denied_topic_is_denied_whether_it_exists_or_not(stage: Stage, version: int) -> None:
    exchange = exchange_of(guard_of(stage, allow("DESCRIBE", "orders")), ApiKey.METADATA, version)
    request = metadata("orders", "secret")

    step = MetadataAccessFilter().on_request(exchange, request)
    response = metadata_of("orders", tenant="initech")
    MetadataAccessFilter().on_response(exchange, response)

    assert step is FORWARD
    assert [one.name for one in request.topics] == ["orders"]
    assert codes_of(response) == {"orders": 0, "secret": DENIED}
    assert response.topics[-1].topic_id == bytes(16)


def test_before_version_1_a_request_without_permitted_names_does_not_become_one_for_all(stage: Stage) -> None:
    exchange, request = exchange_of(guard_of(stage), ApiKey.METADATA, 0), metadata("secret")

    MetadataAccessFilter().on_request(exchange, request)
    response = messages.MetadataResponse(topics=[{"name": "~", "error_code": 17}])
    MetadataAccessFilter().on_response(exchange, response)

    assert [one.name for one in request.topics] == ["~"]
    assert codes_of(response) == {"secret": DENIED}


def test_a_list_of_all_topics_has_only_those_that_may_be_described(stage: Stage) -> None:
    exchange = exchange_of(guard_of(stage, allow("READ", "orders")), ApiKey.METADATA, 9)
    response = metadata_of("orders", "secret", tenant="initech")

    MetadataAccessFilter().on_request(exchange, messages.MetadataRequest(topics=None))
    MetadataAccessFilter().on_response(exchange, response)

    assert exchange.wants_response
    assert codes_of(response) == {"orders": 0}


def test_a_denied_id_is_answered_without_a_name(stage: Stage) -> None:
    exchange = exchange_of(guard_of(stage), ApiKey.METADATA, 12)
    topic_id = stage.topic(physical_name("initech", "secret"))
    request = messages.MetadataRequest(topics=[{"name": None, "topic_id": topic_id}])

    MetadataAccessFilter().on_request(exchange, request)
    response = messages.MetadataResponse()
    MetadataAccessFilter().on_response(exchange, response)

    assert request.topics == []
    assert [(one.name, one.topic_id, one.error_code) for one in response.topics] == [(None, topic_id, DENIED)]


@pytest.mark.parametrize(
    ("right", "is_sent"),
    [
        (allow("DESCRIBE", "*"), False),
        (allow("CREATE", "new"), True),
        (allow("CREATE", "kafka-cluster", ResourceType.CLUSTER), True),
    ],
)
def test_what_would_be_created_needs_the_right_to_create(stage: Stage, right: object, is_sent: bool) -> None:
    guard = guard_of(stage, allow("DESCRIBE", "new"), right)
    exchange, request = exchange_of(guard, ApiKey.METADATA, 9), metadata("new")
    exchange.keep(ABSENT_TOPICS, ["new"])

    MetadataAccessFilter().on_request(exchange, request)
    response = messages.MetadataResponse()
    MetadataAccessFilter().on_response(exchange, response)

    assert [one.name for one in request.topics] == ["new"] * is_sent
    assert codes_of(response) == ({} if is_sent else {"new": DENIED})
