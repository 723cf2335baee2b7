"""The table that isolation rests on: complete, and what it says is what the messages have."""

from dataclasses import replace

import pytest

from bifrost.wire import entities
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.classification import CLASSIFICATION
from bifrost.wire.engine import SLOT_ADDRESS, SLOT_DECODE
from bifrost.wire.entities import (
    REFUSED,
    SERVED,
    SLOT_CLUSTER_ID,
    UnclassifiedField,
    engine_slots,
    entities_of,
    served_versions,
    unclassified_fields,
    walk_fields,
)
from bifrost.wire.entity import Entity
from bifrost.wire.schema import (
    Field,
    FieldType,
    VersionRange,
    all_schemas,
    message_schema,
    request_schema,
    response_schema,
)

SERVED_MESSAGES = [schema for key in SERVED for schema in (request_schema(key), response_schema(key))] + [
    message_schema("ConsumerProtocolSubscription"),
    message_schema("ConsumerProtocolAssignment"),
]


@pytest.fixture
def forget(monkeypatch: pytest.MonkeyPatch):
    """Take fields out of the table for one test."""
    for cached in (entities_of, served_versions):
        cached.cache_clear()

    def forget(message: str, *paths: str) -> None:
        left = {path: meaning for path, meaning in CLASSIFICATION[message].items() if path not in paths}
        monkeypatch.setitem(CLASSIFICATION, message, left)

    yield forget
    for cached in (entities_of, served_versions):
        cached.cache_clear()


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


def test_a_field_has_its_meaning_in_the_versions_that_have_it() -> None:
    assert "Topics.Topic" in entities_of("FetchRequest", 12)
    assert "Topics.Topic" not in entities_of("FetchRequest", 13)
    assert "Topics.TopicId" not in entities_of("FetchRequest", 12)


def test_the_engine_replaces_what_it_can_and_decodes_the_rest() -> None:
    assert engine_slots("MetadataResponse", 13) == {
        "Brokers.Host": SLOT_ADDRESS,
        "ClusterId": SLOT_CLUSTER_ID,
        "Topics.Name": 1,
        "Topics.TopicId": 4,
    }
    assert engine_slots("FindCoordinatorResponse", 4)["Coordinators.Key"] == SLOT_DECODE


def test_what_brokers_tell_of_themselves_is_replaced_in_their_answers_only() -> None:
    assert engine_slots("FetchRequest", 12)["ClusterId"] == SLOT_DECODE
    assert not {SLOT_ADDRESS, SLOT_CLUSTER_ID} & {int(entity) for entity in Entity if entity.is_in_place}


def test_the_engines_slots_are_the_lowest_meanings() -> None:
    in_place = [entity for entity in Entity if entity.is_in_place and entity]

    assert [int(entity) for entity in in_place] == list(range(1, len(in_place) + 1))
    assert max(in_place) <= 8
    assert min(entity for entity in Entity if not entity.is_in_place) > 8


# -- what is served


def test_an_api_with_an_unclassified_field_is_not_served(forget) -> None:
    forget("HeartbeatRequest", "MemberId")

    assert served_versions(ApiKey.HEARTBEAT) is None
    with pytest.raises(UnclassifiedField, match="HeartbeatRequest v0: MemberId has no meaning"):
        entities_of("HeartbeatRequest", 0)


def test_it_is_served_up_to_the_version_that_brings_one(forget) -> None:
    forget("HeartbeatRequest", "GroupInstanceId")  # from v3 on

    assert served_versions(ApiKey.HEARTBEAT) == VersionRange(0, 2)


def test_an_unclassified_field_of_a_response_counts_as_well(forget) -> None:
    forget("ProduceResponse", "Responses.PartitionResponses.ErrorMessage")  # from v8 on

    assert served_versions(ApiKey.PRODUCE) == VersionRange(0, 7)
    assert len(unclassified_fields(response_schema(ApiKey.PRODUCE))) == 6


def test_a_message_outside_the_table_is_not_served_though_kafka_marks_its_fields(
    monkeypatch: pytest.MonkeyPatch, forget
) -> None:
    monkeypatch.delitem(CLASSIFICATION, "DeleteGroupsRequest")

    assert served_versions(ApiKey.DELETE_GROUPS) is None


def test_a_new_field_of_any_type_that_can_hold_a_name_is_noticed(
    forget, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema = message_schema("HeartbeatResponse")
    for field_type in (FieldType.STRING, FieldType.BYTES, FieldType.UUID, FieldType.RECORDS):
        new = new_field(schema.fields[0], field_type)
        monkeypatch.setattr(entities, "message_schema", lambda _name, new=new: with_field(schema, new))
        entities_of.cache_clear()

        with pytest.raises(UnclassifiedField, match="HeartbeatResponse v4: Surprise"):
            entities_of("HeartbeatResponse", 4)


def new_field(like: Field, field_type: FieldType) -> Field:
    return replace(like, kafka_name="Surprise", name="surprise", type=field_type)


def with_field(schema, field: Field):
    return replace(schema, fields=(*schema.fields, field))


def test_the_newest_version_may_be_held_back() -> None:
    assert served_versions(ApiKey.ADD_PARTITIONS_TO_TXN) == VersionRange(0, 3)


@pytest.mark.parametrize("api_key", sorted(REFUSED), ids=lambda key: key.name)
def test_what_is_refused_is_offered_in_every_version(api_key: ApiKey) -> None:
    assert served_versions(api_key) == request_schema(api_key).versions


def test_what_is_neither_served_nor_refused_has_no_versions() -> None:
    others = {s.api_key for s in all_schemas() if s.kind == "request"} - set(SERVED) - REFUSED

    assert ApiKey.WRITE_TXN_MARKERS in others
    assert [served_versions(api_key) for api_key in others] == [None] * len(others)
    assert served_versions(999) is None
