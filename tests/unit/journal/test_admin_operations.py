from typing import Any

import pytest

from bifrost.journal.admin_operations import ADMIN_APIS, MAX_PARTS, Operation, operations, topic_id_of
from bifrost.wire import messages as m
from bifrost.wire.api_keys import ApiKey


def made(api_key: ApiKey, request: Any, answer: Any) -> list[Operation]:
    return list(operations(api_key, request, answer))


def test_a_topic_is_created_with_what_the_broker_made_of_defaults() -> None:
    config = m.CreateTopicsRequest.CreatableTopicConfig(name="retention.ms", value="5")
    topic = m.CreateTopicsRequest.CreatableTopic(
        name="t", num_partitions=-1, replication_factor=2, configs=[config]
    )
    result = m.CreateTopicsResponse.CreatableTopicResult(name="t", num_partitions=6, replication_factor=2)

    (one,) = made(
        ApiKey.CREATE_TOPICS, m.CreateTopicsRequest(topics=[topic]), m.CreateTopicsResponse(topics=[result])
    )

    assert one == Operation(
        "topic", "t", 0, {"partitions": "6", "replication_factor": "2", "config:retention.ms": "5"}
    )


def test_assignments_say_how_many_partitions_there_are() -> None:
    places = [
        m.CreateTopicsRequest.CreatableReplicaAssignment(partition_index=index, broker_ids=[1, 2])
        for index in range(3)
    ]
    topic = m.CreateTopicsRequest.CreatableTopic(
        name="t", num_partitions=-1, replication_factor=-1, assignments=places
    )
    result = m.CreateTopicsResponse.CreatableTopicResult(name="t")

    (one,) = made(
        ApiKey.CREATE_TOPICS, m.CreateTopicsRequest(topics=[topic]), m.CreateTopicsResponse(topics=[result])
    )

    assert one.after == {"partitions": "3", "replication_factor": "2"}


def test_what_is_only_tried_changes_nothing() -> None:
    topic = m.CreateTopicsRequest.CreatableTopic(name="t")
    request = m.CreateTopicsRequest(topics=[topic], validate_only=True)

    assert made(ApiKey.CREATE_TOPICS, request, m.CreateTopicsResponse(topics=[])) == []


def test_a_topic_may_be_deleted_by_its_id() -> None:
    Result = m.DeleteTopicsResponse.DeletableTopicResult  # noqa: N806
    results = [Result(name="t", topic_id=bytes(16)), Result(name=None, topic_id=b"\1" * 16, error_code=100)]

    named, by_id = made(
        ApiKey.DELETE_TOPICS, m.DeleteTopicsRequest(), m.DeleteTopicsResponse(responses=results)
    )

    assert (named.name, topic_id_of(named)) == ("t", None)
    assert (by_id.name, topic_id_of(by_id), by_id.error_code) == (None, "AQEBAQEBAQEBAQEBAQEBAQ", 100)


@pytest.mark.parametrize(
    ("resource_type", "operation", "shown"),
    [(2, 0, "v"), (2, 1, "(deleted)v"), (2, 2, "(added) v"), (4, 0, "(not shown)")],
)
def test_values_of_topics_are_shown_and_others_are_not(
    resource_type: int, operation: int, shown: str
) -> None:
    request = m.IncrementalAlterConfigsRequest
    config = request.AlterableConfig(name="k", config_operation=operation, value="v")
    resource = request.AlterConfigsResource(resource_type=resource_type, resource_name="r", configs=[config])
    result = m.IncrementalAlterConfigsResponse.AlterConfigsResourceResponse(
        resource_type=resource_type, resource_name="r", error_code=0
    )

    (one,) = made(
        ApiKey.INCREMENTAL_ALTER_CONFIGS,
        request(resources=[resource]),
        m.IncrementalAlterConfigsResponse(responses=[result]),
    )

    assert one.after == {"config:k": shown if resource_type == 4 or operation != 1 else "(deleted)v"}


def test_the_first_error_of_many_partitions_is_told() -> None:
    request = m.DeleteRecordsRequest
    asked = request.DeleteRecordsTopic(
        name="t",
        partitions=[request.DeleteRecordsPartition(partition_index=index, offset=9) for index in range(3)],
    )
    response = m.DeleteRecordsResponse
    results = [
        response.DeleteRecordsPartitionResult(partition_index=index, error_code=code)
        for index, code in enumerate((0, 1, 3))
    ]
    topics = [response.DeleteRecordsTopicResult(name="t", partitions=results)]

    (one,) = made(ApiKey.DELETE_RECORDS, request(topics=[asked]), response(topics=topics))

    assert (one.error_code, one.after) == (1, {"offset:0": "9", "offset:1": "9", "offset:2": "9"})


def test_groups_and_their_offsets_are_told_of() -> None:
    result = m.DeleteGroupsResponse.DeletableGroupResult(group_id="g", error_code=68)
    (group,) = made(
        ApiKey.DELETE_GROUPS,
        m.DeleteGroupsRequest(groups_names=["g"]),
        m.DeleteGroupsResponse(results=[result]),
    )
    topic = m.OffsetDeleteRequest.OffsetDeleteRequestTopic(
        name="t", partitions=[m.OffsetDeleteRequest.OffsetDeleteRequestPartition(partition_index=4)]
    )
    (offsets,) = made(
        ApiKey.OFFSET_DELETE,
        m.OffsetDeleteRequest(group_id="g", topics=[topic]),
        m.OffsetDeleteResponse(topics=[]),
    )

    assert group == Operation("group", "g", 68)
    assert offsets == Operation("group", "g", 0, {"offset:t": "4"})


def test_every_api_has_a_reader_that_takes_empty_messages() -> None:
    for api_key in ADMIN_APIS:
        name = m_name(api_key)
        assert made(api_key, getattr(m, f"{name}Request")(), getattr(m, f"{name}Response")()) in (
            [],
            [_group()],
        )


def m_name(api_key: ApiKey) -> str:
    return "".join(part.capitalize() for part in api_key.name.split("_"))


def _group() -> Operation:
    return Operation("group", "", 0)


def test_offsets_of_many_partitions_are_told_up_to_a_bound_and_the_others_counted() -> None:
    request, response = m.DeleteRecordsRequest, m.DeleteRecordsResponse
    asked = request.DeleteRecordsTopic(
        name="t",
        partitions=[
            request.DeleteRecordsPartition(partition_index=index, offset=9) for index in range(MAX_PARTS + 5)
        ],
    )
    results = [response.DeleteRecordsPartitionResult(partition_index=index) for index in range(MAX_PARTS + 5)]
    topics = [response.DeleteRecordsTopicResult(name="t", partitions=results)]

    (one,) = made(ApiKey.DELETE_RECORDS, request(topics=[asked]), response(topics=topics))

    assert len(one.after) == MAX_PARTS + 1
    assert one.after["more"] == "5"


ORDERS = {
    "resource_type": "TOPIC",
    "pattern_type": "LITERAL",
    "operation": "READ",
    "permission": "ALLOW",
    "principal": "User:bob",
    "host": "*",
}


def test_created_acls_say_what_they_say() -> None:
    def creation(**fields: Any) -> Any:
        numbers = {"resource_type": 2, "resource_pattern_type": 3, "operation": 3, "permission_type": 3}
        texts = {"resource_name": "orders", "principal": "User:bob", "host": "*"}
        return m.CreateAclsRequest.AclCreation(**(numbers | texts | fields))

    results = [m.CreateAclsResponse.AclCreationResult(error_code=code) for code in (0, 42)]

    done, refused = made(
        ApiKey.CREATE_ACLS,
        m.CreateAclsRequest(creations=[creation(), creation(operation=99)]),
        m.CreateAclsResponse(results=results),
    )

    assert done == Operation("acl", "orders", 0, ORDERS)
    assert refused == Operation("acl", "orders", 42, ORDERS | {"operation": "99"})


def test_deleted_acls_say_what_they_said() -> None:
    found = m.DeleteAclsResponse.DeleteAclsMatchingAcl(
        resource_type=2, resource_name="orders", pattern_type=3, principal="User:bob", host="*", operation=3,
        permission_type=3,
    )  # fmt: skip
    result = m.DeleteAclsResponse.DeleteAclsFilterResult
    wanted = [m.DeleteAclsRequest.DeleteAclsFilter(resource_name_filter=name) for name in ("orders", None)]
    answer = m.DeleteAclsResponse(filter_results=[result(matching_acls=[found]), result(error_code=42)])

    done, refused = made(ApiKey.DELETE_ACLS, m.DeleteAclsRequest(filters=wanted), answer)

    assert done == Operation("acl", "orders", 0, before=ORDERS)
    assert refused == Operation("acl", None, 42)


def test_quotas_are_told_by_entity_and_not_when_they_are_only_validated() -> None:
    request, response = m.AlterClientQuotasRequest, m.AlterClientQuotasResponse
    parts = (("user", "bob"), ("client-id", None))
    ops = [
        request.OpData(key="producer_byte_rate", value=1024.0, remove=False),
        request.OpData(key="request_percentage", value=0.0, remove=True),
    ]
    entry = request.EntryData(
        entity=[request.EntityData(entity_type=kind, entity_name=name) for kind, name in parts], ops=ops
    )
    told = response.EntryData(
        error_code=44,
        entity=[response.EntityData(entity_type=kind, entity_name=name) for kind, name in parts],
    )
    answer = response(entries=[told])

    (one,) = made(ApiKey.ALTER_CLIENT_QUOTAS, request(entries=[entry], validate_only=False), answer)

    assert one == Operation(
        "quota",
        "user=bob,client-id=<default>",
        44,
        {"producer_byte_rate": "1024", "request_percentage": "(deleted)"},
    )
    assert made(ApiKey.ALTER_CLIENT_QUOTAS, request(entries=[entry], validate_only=True), answer) == []
