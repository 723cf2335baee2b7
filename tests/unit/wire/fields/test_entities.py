"""What a field means to the engine and to a filter, and which APIs are served because every field has a meaning."""

from dataclasses import replace

import pytest

from bifrost.wire.api_keys import ApiKey
from bifrost.wire.entity import Entity
from bifrost.wire.fields import entities
from bifrost.wire.fields.classification import CLASSIFICATION
from bifrost.wire.fields.entities import (
    REFUSED,
    SERVED,
    SLOT_CLUSTER_ID,
    UnclassifiedField,
    engine_slots,
    entities_of,
    served_versions,
    unclassified_fields,
)
from bifrost.wire.program import SLOT_ADDRESS, SLOT_DECODE
from bifrost.wire.schema import (
    Field,
    FieldType,
    VersionRange,
    all_schemas,
    message_schema,
    request_schema,
    response_schema,
)


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
