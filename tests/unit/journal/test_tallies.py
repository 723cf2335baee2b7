from typing import Any

import pytest

from bifrost.journal.tallies import request_tally, response_tally
from bifrost.journal.usage import TopicUsage, Usage
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.codec import encode
from bifrost.wire.entities import REFUSED, SERVED, served_versions
from bifrost.wire.entity import Entity
from bifrost.wire.messages import ProduceRequest
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
    assert request_tally(ApiKey.SHARE_FETCH, 1) is None


def test_the_walk_ends_behind_the_last_thing_to_count() -> None:
    request = ProduceRequest(acks=1, timeout_ms=1, topic_data=[])
    frame = encode(compile_layout("ProduceRequest", 9), request, b"")[4:]
    usage = counting(ApiKey.PRODUCE, 9)

    usage.count_request(frame[:-1], 0)  # Without the tagged fields at its end.

    assert usage.take() is not None
