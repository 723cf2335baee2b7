"""Asks the loader and the schema about the same configuration."""

from pathlib import Path
from typing import Any

import jsonschema
import yaml
from pydantic import ValidationError

from bifrost.config.json_schema import configuration_schema
from bifrost.config.loc import Loc
from bifrost.config.model import Config

EXAMPLES = Path(__file__).parents[4] / "examples"
SCHEMA = configuration_schema()
DEFINITIONS: dict[str, Any] = SCHEMA["$defs"]

_LISTS: dict[Loc, str] = {
    ("proxy", "listener_sets"): "ListenerSet",
    ("upstreams",): "Upstream",
    ("tenants",): "Tenant",
}
_VALIDATORS: dict[str, jsonschema.Draft202012Validator] = {}


def examples() -> dict[str, Any]:
    """Every example of a gateway that is one file in the flat dialect, by its name."""
    found = {}
    for path in sorted(EXAMPLES.rglob("*.yaml")):
        documents = list(yaml.safe_load_all(path.read_text()))
        if len(documents) == 1 and "proxy" in documents[0]:
            found[path.name] = documents[0]
    return found


def validator(reference: str) -> jsonschema.Draft202012Validator:
    if reference not in _VALIDATORS:
        schema = {"$ref": f"#/$defs/{reference}", "$defs": DEFINITIONS}
        _VALIDATORS[reference] = jsonschema.Draft202012Validator(schema)
    return _VALIDATORS[reference]


def piece(data: Any, loc: Loc) -> tuple[Any, str] | None:
    """The part of the file that has the value at `loc`, and its schema; None: it is the file itself."""
    at, reference = None, ""
    for found, name in _LISTS.items():
        if loc[: len(found)] == found and len(loc) > len(found) + 1:
            at, reference = loc[: len(found) + 1], name
    if at is None and loc[0] == "proxy" and len(loc) > 2:
        at, reference = loc[:2], f"Proxy/properties/{loc[1]}"
    if at is None:
        return None
    for step in at:
        data = data[step]
    return data, reference


def rules_of(section: str) -> dict[str, Any]:
    """What a section and its lists demand, without the sections in it."""
    described = DEFINITIONS[section]
    keys = {key: {"allOf": one["allOf"]} for key, one in described["properties"].items() if "allOf" in one}
    return {"properties": keys, "allOf": described.get("allOf", [])}


_AROUND = jsonschema.Draft202012Validator(
    {"allOf": [rules_of("Config"), {"properties": {"proxy": rules_of("Proxy")}}], "$defs": DEFINITIONS}
)


def accepts(data: Any, loc: Loc) -> bool:
    """Whether the schema accepts a valid configuration in which the value at `loc` was changed."""
    part = piece(data, loc)
    if part is None:
        return validator("Config").is_valid(data)
    # The other parts are as they were, and to look at them takes a hundred times as long.
    return validator(part[1]).is_valid(part[0]) and _AROUND.is_valid(data)


def loads(data: Any) -> bool:
    """Whether the loader takes it."""
    try:
        Config.model_validate(data)
    except ValidationError:
        return False
    return True
