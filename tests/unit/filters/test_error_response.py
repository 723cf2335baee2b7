"""The same is compared with Kafka's own classes by tests/golden/test_error_response.py."""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from bifrost.filters.error_response import MAX_SORTED, MAX_TEXTS, error_response, top_level_error
from bifrost.wire import messages
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.codec import decode, encode_body
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.fields.entities import REFUSED, SERVED, served_versions
from bifrost.wire.message import Message, message_class
from bifrost.wire.programs import compile_layout
from bifrost.wire.schema import Field, FieldType, request_schema

PAIRS = [(api, version) for api in (*SERVED, *REFUSED) for version in served_versions(api) or ()]
DENIED = ErrorCode.POLICY_VIOLATION


def test_a_response_with_an_error_code_of_its_own_has_no_items() -> None:
    request = messages.LeaveGroupRequest(
        group_id="g", members=[messages.LeaveGroupRequest.MemberIdentity(member_id="m")]
    )

    answer = error_response(request, 5, DENIED, throttle_time_ms=9)

    assert answer == messages.LeaveGroupResponse(error_code=DENIED, throttle_time_ms=9)


def test_a_response_without_one_has_an_item_for_each_item_of_the_request() -> None:
    topic = messages.ListOffsetsRequest.ListOffsetsTopic
    partition = messages.ListOffsetsRequest.ListOffsetsPartition
    request = messages.ListOffsetsRequest(
        topics=[
            topic(
                name="a", partitions=[partition(partition_index=3, timestamp=7), partition(partition_index=5)]
            ),
            topic(name="b"),
        ]
    )

    answer: Any = error_response(request, 7, DENIED)

    found = [
        (one.name, [(each.partition_index, each.error_code) for each in one.partitions])
        for one in answer.topics
    ]
    assert found == [("a", [(3, DENIED), (5, DENIED)]), ("b", [])]
    assert answer.topics[0].partitions[0].timestamp == -1


def test_items_that_are_keys_themselves_are_copied() -> None:
    request = messages.FindCoordinatorRequest(key_type=0, coordinator_keys=["a", "b"])

    answer: Any = error_response(request, 4, DENIED)

    found = [(one.key, one.error_code, one.node_id, one.port) for one in answer.coordinators]
    assert found == [("a", DENIED, -1, -1), ("b", DENIED, -1, -1)]


def test_topic_ids_are_copied() -> None:
    topic = messages.OffsetCommitRequest.OffsetCommitRequestTopic
    partition = messages.OffsetCommitRequest.OffsetCommitRequestPartition
    request = messages.OffsetCommitRequest(topics=[topic(topic_id=b"i" * 16, partitions=[partition()])])

    answer: Any = error_response(request, 10, DENIED)

    assert answer.topics[0].topic_id == b"i" * 16


def test_an_error_of_a_fetch_names_its_session() -> None:
    answer: Any = error_response(messages.FetchRequest(session_id=77), 13, DENIED)

    assert (answer.session_id, answer.error_code, answer.responses) == (77, DENIED, [])


def test_users_of_both_lists_are_answered_once() -> None:
    deletion = messages.AlterUserScramCredentialsRequest.ScramCredentialDeletion
    upsertion = messages.AlterUserScramCredentialsRequest.ScramCredentialUpsertion
    request = messages.AlterUserScramCredentialsRequest(
        deletions=[deletion(name="b")], upsertions=[upsertion(name="a"), upsertion(name="b")]
    )

    answer: Any = error_response(request, 0, DENIED)

    assert [(one.user, one.error_code) for one in answer.results] == [("a", DENIED), ("b", DENIED)]


def test_very_many_users_are_answered_unsorted() -> None:
    deletion = messages.AlterUserScramCredentialsRequest.ScramCredentialDeletion
    names = [str(n) for n in range(MAX_SORTED + 1)]
    request = messages.AlterUserScramCredentialsRequest(deletions=[deletion(name=one) for one in names])

    answer: Any = error_response(request, 0, DENIED)

    assert [one.user for one in answer.results] == names
    request.deletions.pop()
    answer = error_response(request, 0, DENIED)
    assert [one.user for one in answer.results] == sorted(names[:-1])


def test_a_text_stands_beside_each_error() -> None:
    topic = messages.CreateTopicsRequest.CreatableTopic
    request = messages.CreateTopicsRequest(topics=[topic(name="a"), topic(name="b")])

    with_text: Any = error_response(request, 7, DENIED, message="Too many topics.")
    without: Any = error_response(request, 7, DENIED)

    assert [one.error_message for one in with_text.topics] == ["Too many topics."] * 2
    assert [one.error_message for one in without.topics] == [None] * 2


def test_only_so_many_errors_have_a_text() -> None:
    request = messages.FindCoordinatorRequest(coordinator_keys=[str(n) for n in range(MAX_TEXTS + 2)])

    answer: Any = error_response(request, 4, DENIED, message="Too many keys.")

    texts = [one.error_message for one in answer.coordinators]
    assert texts == ["Too many keys."] * MAX_TEXTS + [None] * 2
    assert {one.error_code for one in answer.coordinators} == {DENIED}


def test_an_error_of_the_whole_has_a_text_where_there_is_a_field() -> None:
    with_field: Any = top_level_error(ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, DENIED, "Too large.")
    without: Any = top_level_error(ApiKey.HEARTBEAT, 4, DENIED, "Too large.")

    assert (with_field.error_code, with_field.error_message) == (DENIED, "Too large.")
    assert without == messages.HeartbeatResponse(error_code=DENIED)


@pytest.mark.parametrize(
    ("request_", "version"),
    [
        pytest.param(messages.ProduceRequest(acks=0), 9, id="produce without acknowledgement"),
        pytest.param(messages.ProduceRequest(acks=1), 9, id="produce of nothing"),
        pytest.param(messages.MetadataRequest(topics=None), 12, id="metadata of all topics"),
        pytest.param(messages.FindCoordinatorRequest(), 4, id="coordinator of no key"),
        pytest.param(messages.DescribeGroupsRequest(), 5, id="no group"),
        pytest.param(messages.FetchRequest(), 6, id="nothing to fetch"),
    ],
)
def test_there_is_no_response_where_the_error_has_no_place(request_: Message, version: int) -> None:
    assert error_response(request_, version, DENIED) is None


def test_metadata_of_all_topics_has_a_place_since_v13() -> None:
    answer: Any = error_response(messages.MetadataRequest(topics=None), 13, DENIED)

    assert (answer.error_code, answer.topics) == (DENIED, [])


def test_no_log_dirs_are_an_error_before_they_have_an_error_code() -> None:
    answer: Any = error_response(messages.DescribeLogDirsRequest(topics=None), 2, DENIED)

    assert answer.results == []


def test_every_item_is_visited_through_the_callers_iterator() -> None:
    topic = messages.DeleteRecordsRequest.DeleteRecordsTopic
    partition = messages.DeleteRecordsRequest.DeleteRecordsPartition
    request = messages.DeleteRecordsRequest(
        topics=[topic(name=str(n), partitions=[partition(partition_index=n)] * 3) for n in range(4)]
    )
    visited = []

    def each(items: Sequence[Any]) -> Iterator[Any]:
        for item in items:
            visited.append(item)
            yield item

    answer = error_response(request, 2, DENIED, each=each)

    assert len(visited) == 4 + 4 * 3
    assert answer == error_response(request, 2, DENIED)


@pytest.mark.parametrize(("api", "version"), PAIRS, ids=lambda value: getattr(value, "name", value))
def test_every_request_is_answered_with_what_can_be_encoded(api: ApiKey, version: int) -> None:
    schema = request_schema(api)
    request = filled(schema.name, version)

    answer = error_response(request, version, DENIED, throttle_time_ms=5, message="No.")

    assert answer is not None
    layout = compile_layout(answer.SCHEMA.name, version)
    body = encode_body(layout, answer)
    is_silent = api == ApiKey.DESCRIBE_LOG_DIRS and version < 3
    assert is_silent or str(DENIED.value) in repr(decode(layout, body, 0))


@pytest.mark.parametrize(("api", "version"), PAIRS, ids=lambda value: getattr(value, "name", value))
def test_a_request_that_was_not_read_is_answered_at_the_top_or_not_at_all(api: ApiKey, version: int) -> None:
    answer: Any = top_level_error(api, version, DENIED)

    if answer is not None:
        assert answer.error_code == DENIED
        assert encode_body(compile_layout(answer.SCHEMA.name, version), answer)


def test_there_is_no_answer_at_an_unknown_version() -> None:
    assert top_level_error(ApiKey.HEARTBEAT, 99, DENIED) is None


def filled(name: str, version: int) -> Message:
    """Return a message with one item in each of its lists."""
    made = message_class(name)()
    fill(made, made.SCHEMA.fields, message_class(name), version)
    if hasattr(made, "acks"):
        made.acks = 1
    return made


def fill(struct: Any, fields: tuple[Field, ...], classes: type[Message], version: int) -> None:
    for field in fields:
        if not field.is_array or version not in field.versions:
            continue
        item: Any = {FieldType.STRING: "x", FieldType.UUID: bytes(16)}.get(field.type, 1)
        if field.type is FieldType.STRUCT:
            item = getattr(classes, str(field.struct_name))()
            fill(item, field.fields, classes, version)
        setattr(struct, field.name, [item])
