import json

import pytest

from bifrost.schemas.readers.json_reader import JsonReader
from bifrost.schemas.readers.reader import TakesLong
from bifrost.schemas.record_check import ReadPart, fault_of
from bifrost.schemas.registered_schema import RegisteredSchema, SchemaType
from bifrost.schemas.schema_checks import SchemaChecks
from bifrost.schemas.wire_format import Payload

AGE = JsonReader(RegisteredSchema(SchemaType.JSON, json.dumps({"required": ["age"]})))
ADULT = SchemaChecks([("adult", "value.age >= 18")])


def part(data: bytes, name: str = "value") -> ReadPart:
    return ReadPart(name, AGE, Payload(1, data))


def test_each_part_has_to_read() -> None:
    assert fault_of([part(b'{"age": 1}', "key"), part(b'{"age": 2}')], None) is None
    fault = fault_of([part(b"{}", "key"), part(b'{"age": 2}')], None)
    assert fault == "key: it does not read under its schema: it breaks the schema at /required"


def test_rules_are_for_records_with_a_value() -> None:
    assert fault_of([part(b'{"age": 17}')], ADULT) == "it breaks the rule adult"
    assert fault_of([part(b'{"age": 18}')], ADULT) is None
    assert fault_of([part(b'{"age": 17}', "key")], ADULT) is None


def test_what_takes_long_is_not_begun() -> None:
    with pytest.raises(TakesLong):
        fault_of([part(b'{"age": 1}')], None, 100)
