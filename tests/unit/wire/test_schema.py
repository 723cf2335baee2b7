import keyword
from collections.abc import Iterator

import pytest

from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.schema import (
    MAX_VERSION,
    NO_VERSIONS,
    Field,
    FieldType,
    MessageSchema,
    VersionRange,
    all_schemas,
    begins_with_throttle,
    has_throttle,
    message_names,
    message_schema,
    read_schemas,
    read_version_range,
    request_schema,
    response_schema,
    to_snake_case,
)


def field_of(message: str, *path: str) -> Field:
    fields = message_schema(message).fields
    for name in path:
        found = next(field for field in fields if field.kafka_name == name)
        fields = found.fields
    return found


def structs_of(fields: tuple[Field, ...]) -> Iterator[tuple[Field, ...]]:
    yield fields
    for field in fields:
        if field.type is FieldType.STRUCT:
            yield from structs_of(field.fields)


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [("3", 3, 3), ("0-4", 0, 4), ("9+", 9, MAX_VERSION), ("10-11", 10, 11), ("none", 0, -1)],
)
def test_version_ranges_are_read_from_kafkas_notation_and_written_in_it(text, low, high):
    versions = read_version_range(text)

    assert (versions.low, versions.high) == (low, high)
    assert str(versions) == text


@pytest.mark.parametrize("text", ["", "a", "4-2", "1-", "+", "-1"])
def test_anything_else_is_no_version_range(text):
    with pytest.raises(ValueError, match=r"version range|invalid literal"):
        read_version_range(text)


def test_both_ends_of_a_range_are_in_it():
    versions = VersionRange(2, 4)

    assert [version for version in range(7) if version in versions] == [2, 3, 4]
    assert list(versions) == [2, 3, 4]
    assert versions


def test_no_version_is_in_the_empty_range():
    assert not NO_VERSIONS
    assert 0 not in NO_VERSIONS
    assert list(NO_VERSIONS) == []


@pytest.mark.parametrize(
    ("kafka_name", "name"),
    [
        ("TopicId", "topic_id"),
        ("Name", "name"),
        ("ThrottleTimeMs", "throttle_time_ms"),
        ("Enable2Pc", "enable2_pc"),
        ("V3AndBelowTopics", "v3_and_below_topics"),
        ("HMAC", "hmac"),
    ],
)
def test_field_names_turn_into_snake_case_as_in_kafkas_generator(kafka_name, name):
    assert to_snake_case(kafka_name) == name


def test_every_name_can_be_an_attribute_and_is_unique_in_its_struct():
    for schema in all_schemas():
        for fields in structs_of(schema.fields):
            names = [field.name for field in fields]
            assert len(set(names)) == len(names), schema.name
            assert not [n for n in names if keyword.iskeyword(n) or not n.isidentifier()], schema.name


def test_structs_of_one_name_are_one_struct_within_a_message():
    for schema in all_schemas():
        seen: dict[str, tuple[Field, ...]] = {}
        for fields in structs_of(schema.fields):
            for field in fields:
                if field.struct_name:
                    assert seen.setdefault(field.struct_name, field.fields) == field.fields, schema.name


def test_tags_are_unique_and_only_in_flexible_versions():
    for schema in all_schemas():
        for fields in structs_of(schema.fields):
            for version in schema.versions:
                tags = [field.tag for field in fields if field.is_tagged(version)]
                assert None not in tags, schema.name
                assert len(set(tags)) == len(tags), schema.name
                assert not tags or schema.is_flexible(version), schema.name


def test_every_api_has_a_request_and_a_response_of_the_same_versions():
    requests = [schema for schema in all_schemas() if schema.kind == "request"]

    assert len(requests) == 77
    for request in requests:
        assert request.api_key is not None
        response = response_schema(request.api_key)
        assert request_schema(request.api_key) is request
        assert (response.versions, response.flexible) == (request.versions, request.flexible), request.name
        assert response.unstable == request.unstable
        assert "broker" in request.listeners


def test_the_table_is_ordered_by_api_with_headers_and_payloads_last():
    names = message_names()

    assert names[:4] == ("ProduceRequest", "ProduceResponse", "FetchRequest", "FetchResponse")
    assert names[-4:] == (
        "RequestHeader",
        "ResponseHeader",
        "ConsumerProtocolAssignment",
        "ConsumerProtocolSubscription",
    )


def test_old_versions_come_from_the_release_that_still_defines_them():
    produce, fetch = message_schema("ProduceRequest"), message_schema("FetchRequest")

    assert (str(produce.versions), str(produce.flexible)) == ("0-13", "9+")
    assert str(fetch.versions) == "0-18"
    # Kafka 4 says 3+ because it dropped v0-2; Kafka 3.9 had no transactional ID there either.
    assert str(field_of("ProduceRequest", "TransactionalId").versions) == "3+"
    assert str(field_of("ProduceRequest", "TopicData", "Name").versions) == "0-12"
    # Only in versions that Kafka 4 dropped.
    assert str(field_of("ListOffsetsRequest", "Topics", "Partitions", "MaxNumOffsets").versions) == "0"
    assert str(field_of("OffsetCommitRequest", "Topics", "Partitions", "CommitTimestamp").versions) == "1"
    assert str(field_of("DescribeConfigsResponse", "Results", "Configs", "IsDefault").versions) == "0"


def test_an_early_access_version_that_was_withdrawn_is_not_there():
    assert str(message_schema("ShareFetchRequest").versions) == "1-2"
    assert str(message_schema("ShareGroupHeartbeatRequest").versions) == "1"


def test_an_unstable_last_version_is_known_as_such():
    assert [schema.name for schema in all_schemas() if schema.unstable] == [
        "InitProducerIdRequest",
        "InitProducerIdResponse",
    ]


def test_a_field_says_all_that_kafka_says_of_it():
    topic_id = field_of("FetchRequest", "Topics", "TopicId")
    cluster_id = field_of("FetchRequest", "ClusterId")
    partitions = field_of("FetchRequest", "Topics", "Partitions")
    forgotten = field_of("FetchRequest", "ForgottenTopicsData", "Partitions")

    assert (topic_id.type, topic_id.default, topic_id.ignorable) == (FieldType.UUID, bytes(16), True)
    assert (cluster_id.tag, str(cluster_id.tagged), str(cluster_id.nullable)) == (0, "12+", "12+")
    assert (cluster_id.is_tagged(11), cluster_id.is_tagged(12)) == (False, True)
    assert (partitions.is_array, partitions.type, partitions.struct_name) == (
        True,
        FieldType.STRUCT,
        "FetchPartition",
    )
    assert (forgotten.is_array, forgotten.type, forgotten.fields) == (True, FieldType.INT32, ())
    assert field_of("FetchRequest", "Topics", "Topic").entity_type == "topicName"
    assert field_of("ApiVersionsResponse", "ApiKeys", "ApiKey").map_key


@pytest.mark.parametrize(
    ("path", "default"),
    [
        (("FetchRequest", "MaxBytes"), 2**31 - 1),
        (("FetchRequest", "ReplicaId"), -1),
        (("FetchRequest", "MinBytes"), 0),
        (("FetchRequest", "RackId"), ""),
        (("FetchRequest", "ClusterId"), None),
        (("FetchRequest", "Topics"), ()),
        (("FetchRequest", "ReplicaState"), ()),
        (("MetadataRequest", "AllowAutoTopicCreation"), True),
        (("ApiVersionsResponse", "ZkMigrationReady"), False),
        (("ProduceRequest", "TopicData", "PartitionData", "Records"), None),
        (("JoinGroupResponse", "Members", "Metadata"), b""),
        (("ConsumerProtocolSubscription", "UserData"), None),
        (("ConsumerGroupHeartbeatRequest", "TopicPartitions"), None),
        (("DescribeTopicPartitionsRequest", "Cursor"), None),
        (("DescribeClientQuotasResponse", "Entries"), ()),
        (("AlterClientQuotasRequest", "Entries", "Ops", "Value"), 0.0),
    ],
)
def test_defaults_are_kafkas(path, default):
    found = field_of(*path).default

    assert found == default
    assert type(found) is type(default)


@pytest.mark.parametrize(
    ("field_type", "text"),
    [("uuid", "x"), ("bytes", "00"), ("bool", "yes"), ("int32", "one"), ("string", "null")],
)
def test_a_default_that_the_type_cannot_have_is_refused(field_type, text):
    field = {"name": "A", "type": field_type, "versions": "0+", "default": text}
    message = {"name": "Ping", "kind": "data", "versions": "0", "flexible": "none", "fields": [field]}

    with pytest.raises(ValueError, match=r"default|invalid literal"):
        read_schemas({"messages": [message]})


def test_only_the_client_id_is_written_the_old_way_in_a_flexible_header():
    overridden = [
        (schema.name, field.kafka_name, str(field.flexible))
        for schema in all_schemas()
        for fields in structs_of(schema.fields)
        for field in fields
        if field.flexible is not None
    ]

    assert overridden == [("RequestHeader", "ClientId", "none")]


@pytest.mark.parametrize(
    ("api_key", "version", "request_header", "response_header"),
    [
        (ApiKey.PRODUCE, 8, 1, 0),
        (ApiKey.PRODUCE, 9, 2, 1),
        (ApiKey.SASL_HANDSHAKE, 1, 1, 0),
        (ApiKey.OFFSET_DELETE, 0, 1, 0),
        (ApiKey.API_VERSIONS, 0, 1, 0),
        (ApiKey.API_VERSIONS, 3, 2, 0),
        (ApiKey.API_VERSIONS, 4, 2, 0),
        (ApiKey.CONSUMER_GROUP_HEARTBEAT, 0, 2, 1),
    ],
)
def test_header_versions(api_key, version, request_header, response_header):
    assert request_schema(api_key).request_header_version(version) == request_header
    assert response_schema(api_key).response_header_version(version) == response_header


def test_the_first_controlled_shutdown_request_has_the_oldest_header():
    flexible = VersionRange(3, MAX_VERSION)
    schema = MessageSchema(
        "X", ApiKey.CONTROLLED_SHUTDOWN, "request", (), VersionRange(0, 3), flexible, False, ()
    )

    assert [schema.request_header_version(version) for version in range(4)] == [0, 1, 1, 2]


def test_what_brokers_do_not_serve_has_no_schema():
    with pytest.raises(KeyError):
        request_schema(ApiKey.VOTE)
    with pytest.raises(KeyError):
        message_schema("VoteRequest")
    with pytest.raises(KeyError):
        response_schema(9999)


def test_a_response_has_a_throttle_time_from_the_version_on_that_adds_it():
    fields = response_schema(ApiKey.FETCH).fields

    assert not has_throttle(response_schema(ApiKey.SASL_HANDSHAKE).fields, 1)
    assert [has_throttle(fields, version) for version in (0, 1, 12)] == [False, True, True]


def test_most_responses_begin_with_the_throttle_time():
    fetched, produced = response_schema(ApiKey.FETCH).fields, response_schema(ApiKey.PRODUCE).fields

    assert [begins_with_throttle(fetched, version) for version in (0, 1, 12)] == [False, True, True]
    assert not begins_with_throttle(produced, 9), "there it is the last field"
    assert not begins_with_throttle(response_schema(ApiKey.SASL_HANDSHAKE).fields, 1)


def test_a_schema_is_built_once():
    assert message_schema("FetchRequest") is message_schema("FetchRequest") is request_schema(ApiKey.FETCH)


def test_api_keys_are_named_as_kafka_names_them():
    assert ApiKey.OFFSET_FOR_LEADER_EPOCH == 23
    assert ApiKey.LIST_CONFIG_RESOURCES == 74
    assert {schema.api_key for schema in all_schemas() if schema.api_key is not None} <= set(ApiKey)


def test_error_codes_have_kafkas_texts():
    assert ErrorCode.UNKNOWN_SERVER_ERROR == -1
    assert ErrorCode.TOPIC_AUTHORIZATION_FAILED.message == "Topic authorization failed."
    assert ErrorCode.NOT_LEADER_OR_FOLLOWER.is_retriable
    assert not ErrorCode.TOPIC_AUTHORIZATION_FAILED.is_retriable
    assert all(code.message for code in ErrorCode)
