from typing import Any

import pytest

from bifrost.schemas.readers.reader import SchemaError
from bifrost.transforms.masking import avro_fields
from bifrost.transforms.masking.avro_fields import AvroFields, identity
from bifrost.transforms.masking.field_path import path_of


class Noted:
    """Notes which fields are looked for."""

    def __init__(self) -> None:
        self.found: list[tuple[Any, int]] = []

    def place(self, fields: AvroFields, schema: Any, path: int) -> int:
        self.found.append((fields.resolved(schema)[0], path))
        return fields.target(schema, path)


def found(schema: Any, *paths: str, named: dict[str, Any] | None = None) -> list[tuple[Any, int]]:
    noted = Noted()
    AvroFields(schema, named or {}, [path_of(one) for one in paths], frozenset(["PII"]), noted)
    return noted.found


def record(*fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "record", "name": "R", "fields": list(fields)}


MAP = {"type": "map", "values": "int"}
PII = {"confluent:tags": ["PII"]}


@pytest.mark.parametrize(
    ("schema", "paths", "expected"),
    [
        (record({"name": "a", "type": "int"}), ["a"], [("int", 0)]),
        (record({"name": "a", "type": "int"}), ["b"], []),
        (record({"name": "a", "type": "int"} | PII), [], [("int", -1)]),
        (record({"name": "a", "type": "int"} | PII), ["b", "a"], [("int", 1)]),
        (record({"name": "a", "type": {"type": "int"} | PII}), [], [("int", -1)]),
        (record({"name": "a", "type": "int", "confluent:tags": ["OTHER"]}), [], []),
        (record({"name": "a", "type": ["null", "string"]}), ["a.b"], [("string", 0)]),
        (record({"name": "a", "type": ["null", "string"]}), ["a", "a.b"], [(["null", "string"], 0)]),
        (
            {"type": "array", "items": {"type": "map", "values": "int"} | PII},
            [],
            [({"type": "map", "values": "int"} | PII, -1)],
        ),
    ],
)
def test_fields_are_found_by_path_and_by_tag(schema: Any, paths: list[str], expected: Any) -> None:
    assert found(schema, *paths) == expected


def test_named_types_are_resolved() -> None:
    inner = {"type": "record", "name": "x.I", "fields": [{"name": "s", "type": "string"} | PII]}
    schema = record({"name": "a", "type": "x.I"}, {"name": "b", "type": {"type": "x.I"}})

    assert found(schema, named={"x.I": inner}) == [("string", -1)], "one node for a type that looks the same"
    assert found(schema, "b", named={"x.I": inner}) == [("string", -1), (inner, 0)]
    with pytest.raises(SchemaError, match="cannot be found"):
        found(record({"name": "a", "type": "x.None"}))


def test_tags_that_cannot_be_read_are_refused() -> None:
    with pytest.raises(SchemaError, match="no list of texts"):
        found(record({"name": "a", "type": "int", "confluent:tags": "PII"}))


def test_a_schema_has_a_bounded_number_of_places(monkeypatch: pytest.MonkeyPatch) -> None:
    schema = record(*({"name": f"a{at}", "type": {"type": "array", "items": "int"}} for at in range(5)))
    monkeypatch.setattr(avro_fields, "MAX_NODES", 7)
    found(schema)
    monkeypatch.setattr(avro_fields, "MAX_NODES", 6)
    with pytest.raises(SchemaError, match="more than 6 types"):
        found(schema)


def test_types_are_told_apart() -> None:
    one, two = ["null"], ["null"]
    assert identity("int") == "int"
    assert identity({"type": "enum", "name": "x.E"}) == "x.E"
    assert identity(one) != identity(two)
