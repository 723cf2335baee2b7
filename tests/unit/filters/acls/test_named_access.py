import pytest

from bifrost.filters.acls.named_access import NAMED, NamedAccessFilter, UndecidedFilter
from bifrost.filters.steps import FORWARD, Answer
from bifrost.tenancy.acls.access import ACCESS
from bifrost.tenancy.acls.acl_binding import ResourceType
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from support.stage import messages
from support.stage.guards import HOST, allow, authority_of, exchange_of, guard_of
from support.stage.stage import Stage

GROUP = ResourceType.GROUP


@pytest.fixture
def stage() -> Stage:
    return Stage()


def commit(*topics: str) -> messages.Message:
    partitions = [{"partition_index": 0, "committed_offset": 1}]
    return messages.OffsetCommitRequest(
        group_id="readers", topics=[{"name": one, "partitions": partitions} for one in topics]
    )


def test_what_is_needed_as_a_whole_comes_first(stage: Stage) -> None:
    guard = guard_of(stage, allow("READ", "orders"))
    one = NamedAccessFilter(NAMED[ApiKey.OFFSET_COMMIT])

    step = one.on_request(exchange_of(guard, ApiKey.OFFSET_COMMIT, 8), commit("orders", "secret"))

    assert isinstance(step, Answer)
    codes = {each.name: each.partitions[0].error_code for each in step.response.topics}
    assert set(codes.values()) == {ErrorCode.GROUP_AUTHORIZATION_FAILED}


def test_items_are_decided_one_by_one(stage: Stage) -> None:
    guard = guard_of(stage, allow("READ", "orders"), allow("READ", "readers", GROUP))
    one, exchange = (
        NamedAccessFilter(NAMED[ApiKey.OFFSET_COMMIT]),
        exchange_of(guard, ApiKey.OFFSET_COMMIT, 8),
    )
    request = commit("orders", "secret")

    step = one.on_request(exchange, request)
    response = messages.OffsetCommitResponse(
        topics=[{"name": "orders", "partitions": [{"partition_index": 0}]}]
    )
    one.on_response(exchange, response)

    assert step is FORWARD
    assert [each.name for each in request.topics] == ["orders"]
    codes = {each.name: each.partitions[0].error_code for each in response.topics}
    assert codes == {"orders": 0, "secret": ErrorCode.TOPIC_AUTHORIZATION_FAILED}


def test_when_every_item_is_denied_the_broker_is_not_asked(stage: Stage) -> None:
    one = NamedAccessFilter(NAMED[ApiKey.DELETE_GROUPS])
    exchange = exchange_of(guard_of(stage), ApiKey.DELETE_GROUPS, 2)

    step = one.on_request(exchange, messages.DeleteGroupsRequest(groups_names=["a", "b"]))

    assert isinstance(step, Answer)
    codes = [(each.group_id, each.error_code) for each in step.response.results]
    assert codes == [(name, ErrorCode.GROUP_AUTHORIZATION_FAILED) for name in ("a", "b")]


def test_all_that_is_named_needs_an_operation() -> None:
    for api_key, named in NAMED.items():
        kinds = {kind for _, kind in named.whole} | ({named.item_type} if named.items else set())
        assert kinds == set(ACCESS[api_key].needs), api_key


def test_an_api_without_a_decision_is_for_super_users_alone(stage: Stage) -> None:
    exchange = exchange_of(guard_of(stage, allow("ALL", "*")), ApiKey.SHARE_FETCH, 1)
    authority = authority_of(super_users=("User:alice",))
    super_user = authority.guard(stage.namespaces["initech"], "alice", HOST)
    request = messages.ShareFetchRequest(group_id="readers")

    step = UndecidedFilter().on_request(exchange, request)
    permitted = UndecidedFilter().on_request(exchange_of(super_user, ApiKey.SHARE_FETCH, 1), request)

    assert permitted is FORWARD

    assert isinstance(step, Answer)
    assert step.response.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED


def test_offsets_of_a_share_group_are_answered_by_the_broker_and_by_item(stage: Stage) -> None:
    guard = guard_of(stage, allow("READ", "readers", GROUP))
    one = NamedAccessFilter(NAMED[ApiKey.ALTER_SHARE_GROUP_OFFSETS])
    topics = [{"topic_name": "secret", "partitions": [{"partition_index": 4, "start_offset": 0}]}]
    answers = [
        messages.AlterShareGroupOffsetsResponse(error_code=code) for code in (0, ErrorCode.NON_EMPTY_GROUP)
    ]

    for answer in answers:
        request = messages.AlterShareGroupOffsetsRequest(group_id="readers", topics=topics)
        exchange = exchange_of(guard, ApiKey.ALTER_SHARE_GROUP_OFFSETS, 0)
        assert one.on_request(exchange, request) is FORWARD
        assert request.topics == []
        one.on_response(exchange, answer)

    (topic,) = answers[0].responses
    denied = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert (topic.topic_name, topic.partitions[0].partition_index) == ("secret", 4)
    assert (topic.partitions[0].error_code, topic.partitions[0].error_message) == (denied, denied.message)
    assert answers[1].responses == []
