import io
import random
from typing import Any

import fastavro
import pytest

from bifrost.records.codec.columns import ColumnRecord, Columns
from bifrost.schemas.readers.reader import MAX_VALUES
from bifrost.transforms.masking.avro_fields import AvroFields
from bifrost.transforms.masking.avro_masker import NO_TARGET, AvroMasker
from bifrost.transforms.masking.field_path import path_of
from bifrost.transforms.masking.masked_values import mask_values
from support.records.record_columns import plenty
from support.records.schema_answers import of_schema

TEXT = "string"
MASK = b"\x06***"


class Whole:
    """Makes each field a target whose form is the number of its path."""

    def place(self, fields: AvroFields, schema: Any, path: int) -> int:
        return fields.target(schema, path)


def masker_of(
    schema: Any, *paths: str, max_values: int = MAX_VALUES, tags: tuple[str, ...] = ()
) -> AvroMasker:
    named: dict[str, Any] = {}
    parsed = fastavro.parse_schema(schema, named_schemas=named)
    made = AvroFields(parsed, named, [path_of(one) for one in paths], frozenset(tags), Whole())
    return AvroMasker(
        made.nodes, made.children, made.forms, [b"begin"], max_values, lambda _form, _content: MASK, made.root
    )


def written(schema: Any, value: Any) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), value)
    return out.getvalue()


def masked(masker: AvroMasker, data: bytes) -> bytes | None:
    """Return a payload with its masks; None: it does not read."""
    columns = Columns.of([ColumnRecord(0, 0, b"k", of_schema(1, data))])
    found, unreadable = mask_values(columns, {1: masker}, plenty())
    value = found.values[0]
    assert unreadable == ([0] if value is None else [])
    return None if value is None else value[5:]


def record(name: str, **fields: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": n, "type": t} for n, t in fields.items()]}


INNER = record("Inner", email=TEXT, n="long")
MANY = {"type": "array", "items": INNER}
MAP = {"type": "map", "values": TEXT}


@pytest.mark.parametrize(
    ("schema", "path", "value", "expected"),
    [
        (record("R", a=TEXT, b=TEXT), "a", {"a": "x", "b": "y"}, {"a": "***", "b": "y"}),
        (record("R", a=INNER), "a.email", {"a": {"email": "x", "n": 1}}, {"a": {"email": "***", "n": 1}}),
        (
            record("R", a=INNER, b="Inner"),
            "b.email",
            {"a": {"email": "x", "n": 1}, "b": {"email": "y", "n": 2}},
            {"a": {"email": "x", "n": 1}, "b": {"email": "***", "n": 2}},
        ),
        (
            record("R", a=MANY, z=TEXT),
            "a.email",
            {"a": [{"email": "x", "n": 1}, {"email": "y", "n": 2}], "z": "z"},
            {"a": [{"email": "***", "n": 1}, {"email": "***", "n": 2}], "z": "z"},
        ),
        (record("R", a=MAP), "a.k", {"a": {"k": "x", "kk": "y"}}, {"a": {"k": "***", "kk": "y"}}),
        (record("R", a=MAP), "a.*", {"a": {"k": "x", "kk": "y"}}, {"a": {"k": "***", "kk": "***"}}),
        (record("R", a=["null", INNER]), "a.email", {"a": None}, {"a": None}),
        (
            record("R", a=[TEXT, INNER]),
            "a.email",
            {"a": {"email": "x", "n": 1}},
            {"a": {"email": "***", "n": 1}},
        ),
        (record("R", a=[TEXT, INNER]), "a.email", {"a": "x"}, {"a": "***"}),
        (record("R", a="long", b=TEXT), "*.x", {"a": 1, "b": "y"}, {"a": 1, "b": "***"}),
        (record("R", a=TEXT), "none", {"a": "x"}, {"a": "x"}),
    ],
)
def test_paths_lead_to_fields(schema: Any, path: str, value: Any, expected: Any) -> None:
    found = masked(masker_of(schema, path), written(schema, value))

    assert found == written(schema, expected)


def test_a_type_within_itself_has_fields_at_each_depth_that_a_path_names() -> None:
    schema = record("Node", value=TEXT, next=["null", "Node"])
    value = {"value": "a", "next": {"value": "b", "next": {"value": "c", "next": None}}}

    found = masked(masker_of(schema, "next.value"), written(schema, value))

    expected = {"value": "a", "next": {"value": "***", "next": {"value": "c", "next": None}}}
    assert found == written(schema, expected)
    tagged = {
        "type": "record",
        "name": "Node",
        "fields": [
            {"name": "value", "type": TEXT, "confluent:tags": ["PII"]},
            {"name": "next", "type": ["null", "Node"]},
        ],
    }
    everywhere = {"value": "***", "next": {"value": "***", "next": {"value": "***", "next": None}}}
    assert masked(masker_of(tagged, tags=("PII",)), written(schema, value)) == written(schema, everywhere)


def test_a_whole_value_may_be_what_a_path_means() -> None:
    assert masked(masker_of(TEXT, "a"), b"\x02x") == MASK
    assert masked(masker_of(["null", TEXT], "a"), b"\x02\x02x") == b"\x02" + MASK


def test_the_caller_learns_the_names_and_keys_that_led_there() -> None:
    schema = record("R", a={"type": "map", "values": MANY})
    data = written(schema, {"a": {"k1": [{"email": "x", "n": 1}], "k2": [{"email": "y", "n": 2}]}})
    columns = Columns.of([ColumnRecord(0, 0, None, None), ColumnRecord(1, 0, b"k", of_schema(1, data))])
    asked: list[object] = []

    def replace(*given: object) -> None:
        asked.append(given)

    assert mask_values(columns, {1: masker_of(schema, "a.*.email")}, plenty(), replace)[0] is columns
    assert asked == [
        (1, [b"begin", b"a", key, b"email"], content, 0)
        for key, content in ((b"k1", b"\x02x"), (b"k2", b"\x02y"))
    ]


@pytest.mark.parametrize("cut", range(1, 12))
def test_what_does_not_read_does_not_pass(cut: int) -> None:
    schema = record("R", a=TEXT, b=["null", "double"])
    data = written(schema, {"a": "x", "b": 1.5})
    masker = masker_of(schema, "a")

    assert masked(masker, data) is not None
    assert masked(masker, data[:-cut]) is None
    assert masked(masker, data + b"\0" * cut) is None


def test_values_and_depth_are_bounded() -> None:
    numbers = record("R", a={"type": "array", "items": "null"}, b=TEXT)
    bomb = b"\x80\x80\x80\x80\x20\0\0"
    assert masked(masker_of(numbers, "b"), bomb) is None
    few = written(numbers, {"a": [None] * 8, "b": "x"})
    assert masked(masker_of(numbers, "b", max_values=11), few) is not None
    assert masked(masker_of(numbers, "b", max_values=10), few) is None
    node = record("Node", v=TEXT, next=["null", "Node"])
    for depth, reads in ((90, True), (150, False)):
        deep = b"\x02x\x02" * depth + b"\x02x\0"
        assert (masked(masker_of(node, "next.next.v"), deep) is not None) == reads


def test_a_program_that_does_not_fit_together_is_refused() -> None:
    def made(nodes: list[Any], children: list[Any], root: int = 0) -> None:
        AvroMasker(nodes, children, [], [], 10, lambda _form, _content: None, root)

    for nodes, children, root in (
        ([], [], 0),
        ([(0, 0, 0, NO_TARGET)], [], 1),
        ([(0, 0, 0, 0)], [], 0),
        ([(13, 0, 1, NO_TARGET)], [], 0),
        ([(10, 0, 0, NO_TARGET)], [], 0),
        ([(13, 0, 1, NO_TARGET)], [(1, b"a")], 0),
    ):
        with pytest.raises(ValueError, match=r"no (such )?(node|child|form)|an array has"):
            made(nodes, children, root)


def test_random_values_read_as_their_author_wrote_them() -> None:
    """The same as fastavro reads, with one field in another place of a random schema."""
    dice = random.Random(7)  # no secret
    for _ in range(150):
        schema, value = _random_record(dice, "R", 3)
        data = written(schema, value)
        masker = masker_of(schema, "secret", "*.secret", "*.*.secret")
        found = masked(masker, data)
        assert found is not None
        expected = _hidden(value)
        assert fastavro.schemaless_reader(io.BytesIO(found), schema, None) == expected
        for _ in range(20):
            # Whatever the bytes say, nothing worse happens than that they do not read.
            spoilt = bytearray(data)
            spoilt[dice.randrange(len(spoilt))] ^= 1 << dice.randrange(8)
            masked(masker, bytes(spoilt))


def _random_record(dice: random.Random, name: str, depth: int) -> tuple[dict[str, Any], dict[str, Any]]:
    fields, value = [{"name": "secret", "type": TEXT}], {"secret": "s" * dice.randrange(200)}
    for at in range(dice.randrange(4)):
        kind, one = _random_type(dice, f"{name}_{at}", depth)
        fields.append({"name": f"f{at}", "type": kind})
        value[f"f{at}"] = one
    dice.shuffle(fields)
    return {"type": "record", "name": name, "fields": fields}, value


def _random_type(dice: random.Random, name: str, depth: int) -> tuple[Any, Any]:
    if depth and dice.random() < 0.5:
        kind, value = _random_record(dice, name, depth - 1)
        match dice.randrange(3):
            case 0:
                return kind, value
            case 1:
                return {"type": "array", "items": kind}, [value] * dice.randrange(3)
            case _:
                return ["null", kind], dice.choice([None, value])
    return dice.choice(
        [
            ("long", dice.randrange(-(2**63), 2**63)),
            ("double", dice.random()),
            ("boolean", True),
            ("bytes", bytes(dice.randrange(30))),
            (["null", "int"], None),
            ({"type": "map", "values": "long"}, {"k": 1, "l": -2}),
            ({"type": "enum", "name": f"{name}_e", "symbols": ["A", "B"]}, "B"),
            ({"type": "fixed", "name": f"{name}_f", "size": 3}, b"abc"),
        ]
    )


def _hidden(value: Any, depth: int = 0) -> Any:
    if isinstance(value, list):
        return [_hidden(one, depth) for one in value]
    if not isinstance(value, dict):
        # Bytes may have inside what a path means.
        return b"***" if isinstance(value, bytes) and value != b"abc" and depth < 3 else value
    return {
        key: "***" if key == "secret" and depth < 3 else _hidden(one, depth + 1) for key, one in value.items()
    }
