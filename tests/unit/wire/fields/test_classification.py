"""The table that isolation rests on: complete, and what it says is what the messages have."""

import pytest

from bifrost.wire.entity import Entity
from bifrost.wire.fields.classification import CLASSIFICATION
from bifrost.wire.fields.entities import (
    SERVED,
    entities_of,
    served_versions,
    unclassified_fields,
    walk_fields,
)
from bifrost.wire.schema import FieldType, message_schema, request_schema, response_schema

SERVED_MESSAGES = [schema for key in SERVED for schema in (request_schema(key), response_schema(key))] + [
    message_schema("ConsumerProtocolSubscription"),
    message_schema("ConsumerProtocolAssignment"),
]


@pytest.mark.parametrize("schema", SERVED_MESSAGES, ids=lambda schema: schema.name)
def test_every_field_of_every_served_message_has_a_meaning(schema) -> None:
    assert unclassified_fields(schema) == []


@pytest.mark.parametrize("message", CLASSIFICATION)
def test_every_entry_of_the_table_is_a_field(message: str) -> None:
    schema = message_schema(message)
    paths = {path for version in schema.versions for path, _ in walk_fields(schema.fields, version)}

    assert set(CLASSIFICATION[message]) - paths == set()


def test_every_message_of_the_table_is_served() -> None:
    served = {schema.name for schema in SERVED_MESSAGES} | {"RequestHeader"}

    assert set(CLASSIFICATION) == served


@pytest.mark.parametrize("message", CLASSIFICATION)
def test_the_table_does_not_contradict_kafka(message: str) -> None:
    """A field that Kafka marks as an entity is never declared to be something else, let alone neutral."""
    schema = message_schema(message)
    marked = {"topicName", "groupId", "transactionalId"}
    for version in schema.versions:
        for path, field in walk_fields(schema.fields, version):
            if field.entity_type in marked:
                assert path not in CLASSIFICATION[message], f"{message}.{path}"


@pytest.mark.parametrize("message", CLASSIFICATION)
def test_only_a_field_that_holds_it_has_a_meaning_of_its_kind(message: str) -> None:
    schema = message_schema(message)
    kinds = {
        Entity.TOPIC_ID: FieldType.UUID,
        Entity.SUBSCRIPTION: FieldType.BYTES,
        Entity.ASSIGNMENT: FieldType.BYTES,
    }
    for version in schema.versions:
        fields = dict(walk_fields(schema.fields, version))
        for path, entity in entities_of(message, version).items():
            if entity is not Entity.FOLLOWER:
                assert fields[path].type is kinds.get(entity, FieldType.STRING), f"{message}.{path}"


SUSPICIOUS = (
    "topic",
    "group",
    "transaction",
    "host",
    "cluster",
    "message",
    "regex",
    "pattern",
    "resource",
    "dir",
)
NEUTRAL_DESPITE_ITS_NAME = {
    # What a member calls itself, not its group; client text.
    "GroupInstanceId",
    # The application's own address, told to its other instances (KIP-1071).
    "UserEndpoint.Host",
    "GroupState",
    "GroupType",
    "TransactionState",
    # The gateway's own words (SASL never goes to a broker).
    "SaslAuthenticateResponse.ErrorMessage",
}


@pytest.mark.parametrize("schema", SERVED_MESSAGES, ids=lambda schema: schema.name)
def test_what_sounds_like_an_entity_is_one(schema) -> None:
    for version in schema.versions:
        if schema.kind == "request" and version not in (served_versions(schema.api_key) or ()):
            continue
        meanings = entities_of(schema.name, version)
        for path, field in walk_fields(schema.fields, version):
            whole = f"{schema.name}.{path}"
            is_text = field.type in (FieldType.STRING, FieldType.UUID, FieldType.BYTES)
            is_excepted = any(whole.endswith(exception) for exception in NEUTRAL_DESPITE_ITS_NAME)
            if is_text and not is_excepted and any(word in field.kafka_name.lower() for word in SUSPICIOUS):
                assert path in meanings, whole


@pytest.mark.parametrize(
    ("message", "version", "path", "entity"),
    [
        ("MetadataRequest", 0, "Topics.Name", Entity.TOPIC_NAME),
        ("ProduceRequest", 3, "TransactionalId", Entity.TRANSACTIONAL_ID),
        ("FetchRequest", 13, "ForgottenTopicsData.TopicId", Entity.TOPIC_ID),
        ("JoinGroupRequest", 0, "GroupId", Entity.GROUP_ID),
        ("FindCoordinatorRequest", 0, "Key", Entity.COORDINATOR_KEY),
        ("FindCoordinatorRequest", 4, "CoordinatorKeys", Entity.COORDINATOR_KEY),
        ("DescribeClusterResponse", 0, "ClusterId", Entity.CLUSTER_ID),
        ("ConsumerProtocolAssignment", 0, "AssignedPartitions.Topic", Entity.TOPIC_NAME),
    ],
)
def test_some_meanings_by_name(message: str, version: int, path: str, entity: Entity) -> None:
    assert entities_of(message, version)[path] is entity
