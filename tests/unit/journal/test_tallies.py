from typing import Any

import pytest

from bifrost.journal.tallies import request_tally, response_tally
from bifrost.journal.usage import TopicUsage, Usage
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.codec import encode
from bifrost.wire.entity import Entity
from bifrost.wire.fields.entities import REFUSED, SERVED, served_versions
from bifrost.wire.message import Message
from bifrost.wire.messages import (
    DescribeConfigsRequest,
    FindCoordinatorRequest,
    OffsetCommitRequest,
    ProduceRequest,
    ShareFetchRequest,
    TxnOffsetCommitRequest,
)
from bifrost.wire.programs import compile_layout
from bifrost.wire.schema import Field, FieldType, request_schema, response_schema
from support.gateways.sample import sample

EVERY = [
    (key, version)
    for key in (*SERVED, *REFUSED)
    for version in range(served_versions(key).low, served_versions(key).high + 1)  # type: ignore[union-attr]
]


def give(_entity: Entity, field: Field) -> Any:
    if field.type is FieldType.STRING:
        return "name"
    return b"\x01" * 16 if field.type is FieldType.UUID else b"bytes"


def counting(api_key: int, version: int) -> Usage:
    def resolve(usage: Usage, slot: int, name: bytes, is_physical: bool) -> TopicUsage:
        return usage.topics.setdefault((slot, name), TopicUsage((slot, name)))

    return Usage(b"me", request_tally(api_key, version), response_tally(api_key, version), False, resolve)


@pytest.mark.parametrize(("api_key", "version"), EVERY)
def test_every_message_that_is_served_can_be_counted(api_key: int, version: int) -> None:
    usage = counting(api_key, version)
    for schema, count in (
        (request_schema(api_key), lambda frame: usage.count_request(frame, 0)),
        (response_schema(api_key), lambda frame: usage.count_response(frame, 0, False)),
    ):
        frame = encode(compile_layout(schema.name, version), sample(schema.name, version, give), b"")[4:]
        count(frame)

    taken = usage.take()

    assert taken is not None
    assert taken[0] == 1


def test_a_fetch_request_has_nothing_to_count() -> None:
    assert request_tally(ApiKey.FETCH, 12) is None


def counted(api_key: int, version: int, request: Message) -> dict[Any, int]:
    """Return how often a request names each entity."""
    usage = counting(api_key, version)
    usage.count_request(encode(compile_layout(request.SCHEMA.name, version), request, b"")[4:], 0)
    taken = usage.take()
    assert taken is not None
    return {key: one.take()[0] for key, one in taken[-1].items()}


GROUP, TRANSACTION, TOPIC = Entity.GROUP_ID, Entity.TRANSACTIONAL_ID, Entity.TOPIC_NAME


def test_a_share_fetch_names_its_group_and_its_answer_the_topics() -> None:
    topics = [ShareFetchRequest.FetchTopic(topic_id=b"t" * 16)]

    assert counted(ApiKey.SHARE_FETCH, 1, ShareFetchRequest(group_id="g", topics=topics)) == {
        (GROUP, b"g"): 1
    }


@pytest.mark.parametrize("version", range(7))
@pytest.mark.parametrize("key_type", [0, 1, 2, -1])
def test_the_type_of_a_coordinator_s_key_says_what_it_is(version: int, key_type: int) -> None:
    batch = version >= 4
    request = FindCoordinatorRequest(
        key="" if batch else "a",
        coordinator_keys=["a", "b"] if batch else [],
        key_type=key_type if version else 0,
    )

    entity = {0: GROUP, 1: TRANSACTION}.get(key_type if version else 0)
    keys = [b"a", b"b"] if batch else [b"a"]
    expected = {} if entity is None else {(entity, key): 1 for key in keys}
    assert counted(ApiKey.FIND_COORDINATOR, version, request) == expected


def test_the_type_of_a_resource_says_what_its_name_is() -> None:
    resource = DescribeConfigsRequest.DescribeConfigsResource
    named = [(32, "g"), (2, "t"), (4, "1"), (32, "h"), (2, "u"), (32, "g")]
    resources = [
        resource(resource_type=type_, resource_name=name, configuration_keys=None) for type_, name in named
    ]

    assert counted(ApiKey.DESCRIBE_CONFIGS, 4, DescribeConfigsRequest(resources=resources)) == {
        (GROUP, b"g"): 2,
        (GROUP, b"h"): 1,
        (TOPIC, b"t"): 1,
        (TOPIC, b"u"): 1,
    }


def test_groups_and_transactional_ids_are_counted_beside_topics() -> None:
    request = TxnOffsetCommitRequest
    topics = [request.TxnOffsetCommitRequestTopic(name="t", partitions=[])]

    found = counted(ApiKey.TXN_OFFSET_COMMIT, 3, request(transactional_id="x", group_id="x", topics=topics))

    assert found == {(TRANSACTION, b"x"): 1, (GROUP, b"x"): 1, (TOPIC, b"t"): 1}


def test_a_produce_request_without_a_transactional_id_names_none() -> None:
    def produced(transactional_id: str | None) -> dict[Any, int]:
        return counted(
            ApiKey.PRODUCE, 9, ProduceRequest(transactional_id=transactional_id, acks=1, topic_data=[])
        )

    assert produced(None) == produced("") == {}
    assert produced("x") == {(TRANSACTION, b"x"): 1}


def test_the_empty_group_is_a_group() -> None:
    assert counted(ApiKey.OFFSET_COMMIT, 7, OffsetCommitRequest(group_id="", topics=[])) == {(GROUP, b""): 1}
