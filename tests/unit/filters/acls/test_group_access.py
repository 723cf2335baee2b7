import pytest

from bifrost.filters.acls.group_access import (
    DescribeGroupsAccessFilter,
    FindCoordinatorAccessFilter,
    GroupHeartbeatAccessFilter,
    ListGroupsAccessFilter,
    OffsetFetchAccessFilter,
)
from bifrost.filters.steps import FORWARD, Answer
from bifrost.tenancy.acls.acl_binding import ResourceType
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from support.stage import messages
from support.stage.guards import allow, exchange_of, guard_of
from support.stage.stage import Stage

GROUP, CLUSTER = ResourceType.GROUP, ResourceType.CLUSTER
NO_TOPIC, NO_GROUP = ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.GROUP_AUTHORIZATION_FAILED
READERS = allow("READ", "readers", GROUP)


@pytest.fixture
def stage() -> Stage:
    return Stage()


def test_offsets_of_denied_groups_and_topics_are_not_fetched(stage: Stage) -> None:
    exchange = exchange_of(guard_of(stage, READERS, allow("READ", "orders")), ApiKey.OFFSET_FETCH, 8)
    topics = [{"name": one, "partition_indexes": [0]} for one in ("orders", "secret")]
    groups = [{"group_id": one, "topics": topics} for one in ("readers", "others")]
    request = messages.OffsetFetchRequest(groups=groups)

    step = OffsetFetchAccessFilter().on_request(exchange, request)
    there = [{"name": "orders", "partitions": [{"partition_index": 0}]}]
    response = messages.OffsetFetchResponse(groups=[{"group_id": "readers", "topics": there}])
    OffsetFetchAccessFilter().on_response(exchange, response)

    assert step is FORWARD
    assert [(one.group_id, [t.name for t in one.topics]) for one in request.groups] == [
        ("readers", ["orders"])
    ]
    readers, others = response.groups
    assert {one.name: one.partitions[0].error_code for one in readers.topics} == {
        "orders": 0,
        "secret": NO_TOPIC,
    }
    assert (others.group_id, others.error_code, others.topics) == ("others", NO_GROUP, [])


@pytest.mark.parametrize("version", [2, 5, 7])
def test_a_list_of_all_offsets_has_only_topics_that_may_be_described(stage: Stage, version: int) -> None:
    exchange = exchange_of(guard_of(stage, READERS, allow("READ", "orders")), ApiKey.OFFSET_FETCH, version)
    response = messages.OffsetFetchResponse(topics=[{"name": one} for one in ("orders", "secret")])

    OffsetFetchAccessFilter().on_request(
        exchange, messages.OffsetFetchRequest(group_id="readers", topics=None)
    )
    OffsetFetchAccessFilter().on_response(exchange, response)

    assert [one.name for one in response.topics] == ["orders"]


def test_a_denied_topic_of_an_old_offset_fetch_is_answered(stage: Stage) -> None:
    exchange = exchange_of(guard_of(stage, READERS), ApiKey.OFFSET_FETCH, 5)
    request = messages.OffsetFetchRequest(
        group_id="readers", topics=[{"name": "secret", "partition_indexes": [3]}]
    )

    OffsetFetchAccessFilter().on_request(exchange, request)
    response = messages.OffsetFetchResponse()
    OffsetFetchAccessFilter().on_response(exchange, response)

    (topic,) = response.topics
    assert (topic.name, topic.partitions[0].partition_index, topic.partitions[0].error_code) == (
        "secret",
        3,
        NO_TOPIC,
    )


@pytest.mark.parametrize(
    ("kind", "code"), [(0, NO_GROUP), (1, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)]
)
def test_a_coordinator_is_found_for_permitted_keys_only(stage: Stage, kind: int, code: ErrorCode) -> None:
    own = allow("READ", "own", GROUP), allow("WRITE", "own", ResourceType.TRANSACTIONAL_ID)
    guard = guard_of(stage, *own)
    exchange = exchange_of(guard, ApiKey.FIND_COORDINATOR, 4)
    request = messages.FindCoordinatorRequest(key_type=kind, coordinator_keys=["own", "other"])

    step = FindCoordinatorAccessFilter().on_request(exchange, request)
    response = messages.FindCoordinatorResponse(coordinators=[{"key": "own"}])
    FindCoordinatorAccessFilter().on_response(exchange, response)
    old = FindCoordinatorAccessFilter().on_request(
        exchange_of(guard, ApiKey.FIND_COORDINATOR, 3),
        messages.FindCoordinatorRequest(key="other", key_type=kind),
    )

    assert step is FORWARD
    assert {one.key: one.error_code for one in response.coordinators} == {"own": 0, "other": code}
    assert isinstance(old, Answer)
    assert old.response.error_code == code


def test_groups_are_listed_that_may_be_described_or_all_with_the_cluster_right(stage: Stage) -> None:
    def listed(*rights: object) -> list[str]:
        response = messages.ListGroupsResponse(groups=[{"group_id": one} for one in ("readers", "others")])
        exchange = exchange_of(guard_of(stage, *rights), ApiKey.LIST_GROUPS, 4)
        ListGroupsAccessFilter().on_request(exchange, messages.ListGroupsRequest())
        ListGroupsAccessFilter().on_response(exchange, response)
        return [one.group_id for one in response.groups]

    assert listed(READERS) == ["readers"]
    assert listed(allow("DESCRIBE", "kafka-cluster", CLUSTER)) == ["readers", "others"]


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"group_id": "others"}, NO_GROUP),
        ({"group_id": "readers", "subscribed_topic_names": ["orders", "secret"]}, NO_TOPIC),
        ({"group_id": "readers", "subscribed_topic_regex": "o.*"}, NO_TOPIC),
        ({"group_id": "readers", "subscribed_topic_names": ["orders"]}, None),
    ],
)
def test_a_heartbeat_needs_the_group_and_every_topic(
    stage: Stage, fields: dict[str, object], code: ErrorCode | None
) -> None:
    guard = guard_of(stage, READERS, allow("READ", "orders"))
    exchange = exchange_of(guard, ApiKey.CONSUMER_GROUP_HEARTBEAT, 1)

    step = GroupHeartbeatAccessFilter().on_request(exchange, messages.ConsumerGroupHeartbeatRequest(**fields))

    assert (step.response.error_code if isinstance(step, Answer) else None) == code


def test_a_pattern_passes_for_who_may_describe_all(stage: Stage) -> None:
    guard = guard_of(stage, READERS, allow("DESCRIBE", "*"))
    request = messages.ConsumerGroupHeartbeatRequest(group_id="readers", subscribed_topic_regex="o.*")

    exchange = exchange_of(guard, ApiKey.CONSUMER_GROUP_HEARTBEAT, 1)

    assert GroupHeartbeatAccessFilter().on_request(exchange, request) is FORWARD


def test_a_group_with_topics_that_may_not_be_described_is_not_told_of(stage: Stage) -> None:
    exchange = exchange_of(guard_of(stage, READERS), ApiKey.CONSUMER_GROUP_DESCRIBE, 1)
    one = DescribeGroupsAccessFilter("group_ids")
    assignment = {"topic_partitions": [{"topic_name": "secret"}]}
    response = messages.ConsumerGroupDescribeResponse(
        groups=[{"group_id": "readers", "members": [{"assignment": assignment}]}]
    )

    one.on_request(exchange, messages.ConsumerGroupDescribeRequest(group_ids=["readers", "others"]))
    one.on_response(exchange, response)

    assert [(each.group_id, each.error_code, each.members) for each in response.groups] == [
        ("readers", NO_TOPIC, []),
        ("others", NO_GROUP, []),
    ]
