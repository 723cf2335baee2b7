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


def test_parts_and_rules_share_the_time() -> None:
    record = [part(b'{"age": 18, "text": "' + b"x" * 1_000 + b'"}')]
    alone_ns = next(ns for ns in range(1_000, 100_000, 1_000) if _is_begun(record, None, ns))

    assert not _is_begun(record * 2, None, 2 * alone_ns - 1_000)
    assert _is_begun(record * 2, None, 2 * alone_ns)
    assert not _is_begun(record, ADULT, alone_ns)


def _is_begun(record: list[ReadPart], checks: SchemaChecks | None, most_ns: int) -> bool:
    try:
        fault_of(record, checks, most_ns)
    except TakesLong:
        return False
    return True
