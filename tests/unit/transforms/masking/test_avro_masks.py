import io
import json
from typing import Any

import fastavro
import pytest

from bifrost.config.records.masking_config import MaskedField
from bifrost.schemas.readers.reader import SchemaError
from bifrost.transforms.masking.avro_fields import AvroFields
from bifrost.transforms.masking.avro_masks import MaskForm, MaskTargets

ENUM = {"type": "enum", "name": "E", "symbols": ["FIRST", "HIDDEN"]}
FIXED = {"type": "fixed", "name": "F", "size": 3}
INNER = {
    "type": "record",
    "name": "I",
    "fields": [
        {"name": "s", "type": "string"},
        {"name": "u", "type": ["int", "null"]},
        {"name": "next", "type": [ENUM, "I"]},
    ],
}


def masked(schema: Any, value: Any, action: str, constant: Any = None) -> Any:
    """Return what is seen of a value."""
    named: dict[str, Any] = {}
    parsed = fastavro.parse_schema(schema, named_schemas=named)
    field = MaskedField.model_validate(
        {"path": "a", "action": action} | ({} if constant is None else {"value": constant})
    )
    fields = AvroFields("null", named, [], frozenset(), MaskTargets([], [], lambda *_: ""))
    form = MaskForm(fields, parsed, field, lambda text: text[-1:] + "!")
    out = io.BytesIO()
    fastavro.schemaless_writer(out, parsed, value)
    return fastavro.schemaless_reader(io.BytesIO(form.mask(out.getvalue())), parsed, None)


@pytest.mark.parametrize(
    ("schema", "value", "seen"),
    [
        ("string", "x", ""),
        ("bytes", b"x", b""),
        ("int", 7, 0),
        ("long", -7, 0),
        ("float", 1.5, 0.0),
        ("double", 1.5, 0.0),
        ("boolean", True, False),
        (ENUM, "HIDDEN", "FIRST"),
        (FIXED, b"abc", b"\0\0\0"),
        ({"type": "array", "items": "int"}, [1, 2], []),
        ({"type": "map", "values": "int"}, {"k": 1}, {}),
        (["string", "null"], "x", None),
        (["int", "string"], "x", ""),
        (["int", "string"], 7, 0),
        (["null", "string"], None, None),
        (INNER, {"s": "x", "u": 1, "next": "HIDDEN"}, {"s": "", "u": None, "next": "FIRST"}),
    ],
)
def test_null_is_null_or_what_the_type_has_for_nothing(schema: Any, value: Any, seen: Any) -> None:
    assert masked(schema, value, "set_null") == seen


@pytest.mark.parametrize(
    ("schema", "value", "seen"),
    [
        ("string", "abc", "c!"),
        (["null", "string"], "abc", "c!"),
        (["null", "string"], None, None),
        (["null", "int", "string"], 7, None),
        (["int", "string"], 7, 0),
        ("bytes", b"abc", b""),
        ("long", 7, 0),
    ],
)
@pytest.mark.parametrize("action", ["hash", "last_four"])
def test_texts_are_hashed_or_cut_and_all_else_is_hidden(
    schema: Any, value: Any, seen: Any, action: str
) -> None:
    assert masked(schema, value, action) == seen


@pytest.mark.parametrize(
    ("schema", "constant", "seen"),
    [
        ("string", "é", "é"),
        ("bytes", "é", "é".encode()),
        (ENUM, "HIDDEN", "HIDDEN"),
        (ENUM, "OTHER", "FIRST"),
        ("int", -5, -5),
        ("int", 2**31, 0),
        ("long", 2**31, 2**31),
        ("long", 2**63, 0),
        ("long", 1.5, 0),
        ("double", 5, 5.0),
        ("float", 10**40, 0.0),
        ("double", 10**400, 0.0),
        ("boolean", True, True),
        ("int", True, 0),
        ("string", 5, ""),
        (["null", "int", "string"], "x", "x"),
        (["null", "int", "string"], 5, 5),
        (["null", "int"], "x", None),
        (["int", "string"], True, 7),
    ],
)
def test_a_constant_stands_where_it_suits_the_type(schema: Any, constant: Any, seen: Any) -> None:
    given: dict[str, Any] = {"string": "a", "bytes": b"a", "boolean": False, "float": 1.0, "double": 1.0}
    kind = schema if isinstance(schema, str) else None
    value = given.get(kind, 7) if kind else "FIRST" if schema == ENUM else 7
    if seen == 7:
        seen = 0

    assert masked(schema, value, "constant", constant) == seen


def test_null_gets_the_constant_as_well() -> None:
    assert masked(["null", "string"], None, "constant", "x") == "x"


def test_a_type_without_an_end_or_of_too_many_parts_is_refused() -> None:
    with pytest.raises(SchemaError, match="no value that ends"):
        _form({"type": "record", "name": "L", "fields": [{"name": "l", "type": "L"}]})
    levels: Any = "string"
    for at in range(12):
        fields = [{"name": one, "type": levels if one == "a" else f"r{at - 1}"} for one in "abcd"]
        levels = {
            "type": "record",
            "name": f"r{at}",
            "fields": fields if at else [{"name": "a", "type": "int"}],
        }
    with pytest.raises(SchemaError, match="parts"):
        _form(levels)


def _form(schema: Any) -> MaskForm:
    named: dict[str, Any] = {}
    parsed = fastavro.parse_schema(json.loads(json.dumps(schema)), named_schemas=named)
    fields = AvroFields("null", named, [], frozenset(), MaskTargets([], [], lambda *_: ""))
    field = MaskedField.model_validate({"path": "a", "action": "set_null"})
    return MaskForm(fields, parsed, field, str)
