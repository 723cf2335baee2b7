import json
from typing import Any

import pytest

from bifrost.schemas.json_weight import MAX_WEIGHT, weight_of

TREE = {"properties": {"children": {"items": {"$ref": "#"}}}}
DOUBLING: dict[str, Any] = {"$defs": {"d0": {"type": "string"}}, "$ref": "#/$defs/d40"}
for step in range(40):
    DOUBLING["$defs"][f"d{step + 1}"] = {
        "allOf": [{"$ref": f"#/$defs/d{step}"}, {"$ref": f"#/$defs/d{step}"}]
    }


def nodes(schema: Any, **references: Any) -> int:
    found = weight_of(schema, references)
    assert found is not None
    return found.nodes


def test_what_applies_together_adds_up_and_of_properties_the_heaviest_counts() -> None:
    light, heavy = {"type": "string"}, {"enum": list(range(50))}

    assert nodes({"allOf": [heavy] * 10}) > 9 * nodes(heavy)
    one = nodes({"properties": {"a": heavy, "b": light}})
    assert one == nodes({"properties": {"a": heavy, "b": heavy}})
    assert nodes({"patternProperties": {"a": heavy, "b": heavy}}) > one + nodes(heavy) // 2
    assert nodes({"properties": {f"k{number}": light for number in range(500)}}) > 500


def test_references_count_as_what_they_lead_to() -> None:
    item = {"enum": list(range(80))}

    assert nodes({"$defs": {"item": item}, "items": {"$ref": "#/$defs/item"}}) >= 80
    assert nodes({"items": {"$ref": "item.json"}}, **{"item.json": item}) >= 80
    assert nodes({"items": {"$ref": "https://x/item.json#/0"}}, **{"item.json": [item]}) >= 80
    assert nodes({"$defs": {"item": item}, "items": {}}) < 80


def test_patterns_count_by_their_states() -> None:
    def states(schema: Any) -> int:
        found = weight_of(schema, {})
        assert found is not None
        return found.states

    assert states({"pattern": "^[a-z]{2,20}$"}) == len("^[a-z]{2,20}$") * 20
    assert states({"pattern": "(a{30}){30}"}) == len("(a{30}){30}") * 900
    assert states({"properties": {"a": {"pattern": "abc"}, "b": {"pattern": "abcd"}}}) == 4
    assert states({"patternProperties": {"abc": {"pattern": "abcd"}, "a": {}}}) == 8
    assert states({"properties": {"pattern": {"type": "string"}}}) == 0


@pytest.mark.parametrize(
    "schema",
    [
        TREE,
        {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"},
        {"$ref": "#"},
        DOUBLING,
        {"$dynamicRef": "#node"},
        {"properties": {"a": {"unevaluatedProperties": False}}},
        {"$ref": "#anchor"},
        {"$ref": "#/absent"},
        {"$ref": "elsewhere.json"},
        {"pattern": "(((a{1000}){1000}){1000})"},
        {"enum": list(range(MAX_WEIGHT))},
    ],
)
def test_what_has_no_bound_has_no_weight(schema: Any) -> None:
    assert weight_of(json.loads(json.dumps(schema)), {}) is None


def test_a_deep_schema_has_no_weight() -> None:
    deep: dict[str, Any] = {}
    for _ in range(5_000):
        deep = {"not": deep}

    assert weight_of(deep, {}) is None


def test_schemas_that_are_truth_values_are_light() -> None:
    assert nodes(True) == 1
