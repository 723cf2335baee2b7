import json
from typing import Any

import pytest

from bifrost.schemas.readers import json_reader
from bifrost.schemas.readers.json_reader import JsonReader
from bifrost.schemas.readers.reader import SchemaError, TakesLong
from bifrost.schemas.registered_schema import Reference, RegisteredSchema, SchemaType
from bifrost.schemas.wire_format import Payload, Unreadable

USER = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "title": "User",
    "type": "object",
    "properties": {"age": {"type": "integer"}, "name": {"type": "string", "pattern": "^(a+)+$"}},
    "required": ["age"],
}


def reader_of(schema: Any, *references: Reference) -> JsonReader:
    return JsonReader(RegisteredSchema(SchemaType.JSON, json.dumps(schema), references))


def test_a_payload_is_checked_and_read() -> None:
    reader = reader_of(USER)

    reader.check(Payload(1, b'{"age": 3}'))
    assert reader.value(Payload(1, b'{"age": 3}')) == {"age": 3}
    assert reader.names == {"User"}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b'{"age": "secret"}',
        b'{"name": "secret"}',
        b"\xff",
        b'{"age": NaN}',
        b"[" * 100_000,
        b'"secret"',
    ],
)
def test_a_payload_that_breaks_the_schema_is_refused_without_its_content(data: bytes) -> None:
    with pytest.raises(Unreadable) as refused:
        reader_of(USER).check(Payload(1, data))

    assert "secret" not in str(refused.value)


def test_a_pattern_takes_no_longer_for_a_text_that_is_meant_to() -> None:
    with pytest.raises(Unreadable, match="/properties/name/pattern"):
        reader_of(USER).check(Payload(1, json.dumps({"age": 1, "name": "a" * 100_000 + "!"}).encode()))


def test_schemas_are_taken_from_references_alone() -> None:
    team = {"type": "array", "items": {"$ref": "user.json"}}
    reader = reader_of(team, Reference("user.json", json.dumps(USER)))

    reader.check(Payload(1, b'[{"age": 3}]'))
    with pytest.raises(Unreadable):
        reader.check(Payload(1, b"[3]"))
    for outside in (team, {"$ref": "http://127.0.0.1:1/user.json"}, {"$ref": "file:///etc/hostname"}):
        with pytest.raises(SchemaError):
            reader_of(outside)


@pytest.mark.parametrize("text", ["", "{", "3", '{"type": 3}', '{"pattern": "(?=a)b\\\\1"}', "[" * 5000])
def test_what_is_no_schema_is_refused(text: str) -> None:
    with pytest.raises(SchemaError):
        JsonReader(RegisteredSchema(SchemaType.JSON, text))


def test_more_values_than_rules_may_have_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_reader, "MAX_RULE_VALUES", 10)
    reader = reader_of({"type": "array"})

    assert reader.value(Payload(1, b"[1,2,3]")) == [1, 2, 3]
    with pytest.raises(Unreadable, match="more values"):
        reader.value(Payload(1, b"[[],[],[],[],[],[]]"))


MILLISECOND = 1_000_000


@pytest.mark.parametrize(
    ("schema", "payload"),
    [
        (True, b'"' + b"a" * 1_000_000 + b'"'),
        (True, b"[" + b"1," * 10_000 + b"1]"),
        ({"items": {"allOf": [{"type": "integer"}] * 200}}, b"[" + b"1," * 1_000 + b"1]"),
        ({"pattern": "(a|b)*a(a|b){100}c"}, b'"' + b"ab" * 1_000 + b'"'),
        ({"items": {"$ref": "#"}}, b"1"),
        ({"anyOf": [{"$ref": "#/items"}], "items": {"$ref": "#"}}, b"1"),
    ],
)
def test_what_takes_long_is_not_begun(schema: Any, payload: bytes) -> None:
    reader = reader_of(schema)

    for read in (reader.check, reader.value):
        with pytest.raises(TakesLong):
            read(Payload(1, payload), MILLISECOND)
    reader.check(Payload(1, b"1"))


def test_payloads_of_a_usual_size_are_read_at_once() -> None:
    payload = json.dumps({"age": 3, "name": "aaa", "items": [{"id": 1, "price": 2.5}] * 50}).encode()

    reader_of(USER).check(Payload(1, payload), MILLISECOND)
    reader_of(USER).check(Payload(1, memoryview(payload)), MILLISECOND)


def test_a_payload_with_many_faults_is_refused_for_the_first() -> None:
    reader = reader_of({"items": {"anyOf": [{"required": [f"a{number}"]} for number in range(30)]}})

    with pytest.raises(Unreadable, match="/items/anyOf"):
        reader.check(Payload(1, b"[" + b"{}," * 10_000 + b"{}]"))
