from typing import Any

import pytest

from bifrost.schemas.readers.reader import SchemaError
from bifrost.transforms.masking import json_tags
from bifrost.transforms.masking.field_path import Path
from bifrost.transforms.masking.json_tags import tagged_paths

PII: dict[str, Any] = {"confluent:tags": ["PII"]}


def paths(schema: Any, **references: Any) -> list[Path]:
    return tagged_paths(schema, references, frozenset(["PII", "SECRET"]))


def props(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


@pytest.mark.parametrize(
    ("schema", "found"),
    [
        (props(a=PII, b={"confluent:tags": ["OTHER"]}), [Path((b"a",))]),
        (props(a={"confluent:tags": ["X", "SECRET"]}), [Path((b"a",))]),
        (props(a=props(b=PII)), [Path((b"a", b"b"))]),
        (props(a={"items": props(b=PII)}), [Path((b"a", b"b"))]),
        (props(a={"items": PII}), [Path((b"a",), True)]),
        (props(a={"prefixItems": [{}, PII]}), [Path((b"a",), True)]),
        ({"patternProperties": {"^x": PII}}, [Path((None,))]),
        ({"additionalProperties": props(b=PII)}, [Path((None, b"b"))]),
        ({"allOf": [props(a=PII)], "anyOf": [props(b=PII)]}, [Path((b"a",)), Path((b"b",))]),
        ({"if": {}, "then": props(a=PII)}, [Path((b"a",))]),
        ({"dependentSchemas": {"x": props(a=PII)}}, [Path((b"a",))]),
        ({"dependencies": {"x": ["y"], "z": props(a=PII)}}, [Path((b"a",))]),
        (props(a={"$ref": "#/$defs/d"}) | {"$defs": {"d": PII}}, [Path((b"a",))]),
        (props(a={"type": "string"}), []),
        (True, []),
    ],
)
def test_tags_are_found_wherever_they_apply(schema: Any, found: list[Path]) -> None:
    assert paths(schema) == found


def test_references_of_the_registry_are_followed() -> None:
    schema = props(a={"$ref": "common.json#/$defs/d"}, b={"$ref": "https://x/other.json"})

    assert paths(schema, **{"common.json": {"$defs": {"d": PII}}, "other.json": props(c=PII)}) == [
        Path((b"a",)),
        Path((b"b", b"c")),
    ]


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        (PII, "whole value"),
        ({"items": PII}, "whole value"),
        (props(a={"$dynamicRef": "#x"}), "depends on values"),
        (props(a={"$ref": "gone.json"}), "no schema that it has"),
        (props(a={"$ref": "#/$defs/none"}), "cannot be followed"),
        (props(a={"$ref": "#anchor"}), "cannot be followed"),
        (props(next={"$ref": "#"}, ssn=PII), "leads back to itself"),
        (props(a={"confluent:tags": "PII"}), "no list of texts"),
    ],
)
def test_what_paths_cannot_say_is_refused(schema: Any, why: str) -> None:
    with pytest.raises(SchemaError, match=why):
        paths(schema)


def test_a_schema_that_leads_back_to_itself_without_tags_there_is_fine() -> None:
    tree = {
        "$defs": {"t": props(left={"$ref": "#/$defs/t"})},
        "properties": {"t": {"$ref": "#/$defs/t"}, "a": PII},
    }

    assert paths(tree) == [Path((b"a",))]


def test_references_cannot_multiply_the_work() -> None:
    levels = {f"d{at}": props(**{n: {"$ref": f"#/$defs/d{at + 1}"} for n in "abcdefghij"}) for at in range(9)}
    with pytest.raises(SchemaError, match=f"more than {json_tags.MAX_PARTS} parts"):
        paths({"$ref": "#/$defs/d0", "$defs": levels | {"d9": PII}})
