"""The configuration's JSON Schema (draft 2020-12), with which editors complete keys, explain them and mark mistakes.

It is made from the model, from the documentation under its fields and from the rules of `schema_rules/`. It refuses
by shape what the loader refuses. Only the loader checks what concerns places far from each other (names that overlap,
ports used twice, names that stand for each other), expressions in a language of their own, and the named files:
`bifrost check` reports that. So the schema accepts everything that the loader accepts, and nearly nothing else.
"""

import ast
import copy
import inspect
import json
import textwrap
from collections.abc import Callable, Iterable
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from bifrost.config.kubernetes.virtual_cluster_schema import document_definitions
from bifrost.config.kubernetes.virtual_clusters import GATEWAY, VIRTUAL_CLUSTER
from bifrost.config.model import Config
from bifrost.config.records.filter_configs import read_acks
from bifrost.config.remapper.sections import PartitionRemapper, read_users
from bifrost.config.schema_rules.forms import FORMS
from bifrost.config.schema_rules.keys import DEFINITIONS, KEYS
from bifrost.config.schema_rules.sections import SECTIONS
from bifrost.config.secrets import READ_FROM_FILES
from bifrost.config.units import BYTES_PER_UNIT, MS_PER_UNIT, read_duration_ms, read_size_bytes
from bifrost.config.values import read_address

DIALECT = "https://json-schema.org/draft/2020-12/schema"


REMAPPER = PartitionRemapper.__name__
_IS_REMAPPER = {
    "anyOf": [{"required": [key]} for key in ("listen", "kafka", "mapping")],
    "not": {"anyOf": [{"required": [key]} for key in Config.model_fields]},
}


def schema_text() -> str:
    """Return the schema as the text of a file."""
    return json.dumps(configuration_schema(), indent=2, ensure_ascii=False) + "\n"


def configuration_schema() -> JsonSchemaValue:
    """Return the schema of a configuration: of each document in it, in any dialect."""
    config = Config.model_json_schema(schema_generator=_Generator)
    definitions = {**config.pop("$defs"), **copy.deepcopy(DEFINITIONS), "Config": config}
    for (
        section,
        key,
    ), rules in KEYS.items():  # not before: pydantic looks for the definitions that they refer to
        definitions[section]["properties"][key]["allOf"] = copy.deepcopy(rules)
    documents = document_definitions(definitions)
    remapper = PartitionRemapper.model_json_schema(schema_generator=_Generator)
    documents |= {**remapper.pop("$defs"), PartitionRemapper.__name__: remapper}
    refer = {name: {"$ref": f"#/$defs/{name}"} for name in ("Config", REMAPPER, VIRTUAL_CLUSTER, GATEWAY)}
    return {
        "$schema": DIALECT,
        "title": "Configuration of a Bifrost gateway",
        "type": "object",
        "if": {"anyOf": [{"required": ["apiVersion"]}, {"required": ["kind"]}]},
        "then": {
            "if": {"properties": {"kind": {"const": GATEWAY}}, "required": ["kind"]},
            "then": refer[GATEWAY],
            "else": refer[VIRTUAL_CLUSTER],
        },
        "else": {"if": _IS_REMAPPER, "then": refer[REMAPPER], "else": refer["Config"]},
        "$defs": definitions | documents,
    }


def field_documentation(section: type[BaseModel]) -> dict[str, str]:
    """Return the text under each field of a section, a line for each paragraph."""
    found: dict[str, str] = {}
    for owner in reversed(section.__mro__):
        if issubclass(owner, BaseModel) and owner is not BaseModel:
            found |= _documentation_in(owner)
    return found


def _documentation_in(owner: type[BaseModel]) -> dict[str, str]:
    [node] = ast.parse(textwrap.dedent(inspect.getsource(owner))).body
    assert isinstance(node, ast.ClassDef)
    found = {}
    for statement, after in zip(node.body, node.body[1:], strict=False):
        match statement, after:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                found[name] = _flat(text)
    return found


def _flat(text: str) -> str:
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))


def _number_or_text(number: JsonSchemaValue, units: Iterable[str]) -> JsonSchemaValue:
    """Return the schema of a quantity, written as a number or with its unit."""
    pattern = rf"^\s*[0-9]{{1,12}}(\.[0-9]{{1,9}})? ?({'|'.join(units)})\s*$"
    return {"anyOf": [number, {"type": "string", "pattern": pattern}]}


def _by_name(user: JsonSchemaValue) -> JsonSchemaValue:
    """Return the schema of a mapping of names to passwords, or to what else describes a user."""
    # The name is the key here, and a section with a key too few is not one of the list.
    described = {"type": "object", "minProperties": 1, "properties": {"username": False}}
    return {
        "type": "object",
        "minProperties": 1,
        "additionalProperties": {"anyOf": [{"type": "string", "minLength": 1}, described]},
    }


_BEFORE: dict[Any, Callable[[JsonSchemaValue], JsonSchemaValue]] = {
    read_size_bytes: lambda number: _number_or_text(number, BYTES_PER_UNIT),
    read_duration_ms: lambda number: _number_or_text(number, MS_PER_UNIT),
    read_users: lambda users: {"anyOf": [users, _by_name(users["items"])]},
    read_acks: lambda name: {"anyOf": [name, {"enum": [0, 1]}]},
    read_address: lambda _: {"type": "string", "pattern": "^[^,/]+:[0-9]{1,5}$"},
}
"""The schema of the text in the file that each of these readers turns into a value."""


class _Generator(GenerateJsonSchema):
    """Describes the file with its documentation, not the values that the model holds once it is loaded."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        # A key may be absent; a key without a value is refused.
        return self.generate_inner(schema["schema"])

    def function_before_schema(self, schema: core_schema.BeforeValidatorFunctionSchema) -> JsonSchemaValue:
        described = _BEFORE.get(schema["function"]["function"])
        inner = super().function_before_schema(schema)
        if schema["schema"]["type"] == "enum" and "off" in schema["schema"]["members"]:
            # YAML 1.1 reads `off` as false, and the model accepts it.
            return {"anyOf": [inner, {"const": False}]}
        return described(inner) if described else inner

    def function_after_schema(self, schema: core_schema.AfterValidatorFunctionSchema) -> JsonSchemaValue:
        return super().function_after_schema(schema) | FORMS.get(schema["function"]["function"], {})

    def model_fields_schema(self, schema: core_schema.ModelFieldsSchema) -> JsonSchemaValue:
        written = {name: field for name, field in schema["fields"].items() if name not in READ_FROM_FILES}
        return super().model_fields_schema({**schema, "fields": written})

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        section = schema["cls"]
        described = super().model_schema(schema)
        described.pop("title", None)
        described["description"] = _flat(inspect.cleandoc(section.__doc__ or ""))
        aliases = {name: field.alias or name for name, field in section.model_fields.items()}
        texts = {
            aliases[name]: text for name, text in field_documentation(section).items() if name in aliases
        }
        for name, field in described.get("properties", {}).items():
            field["description"] = texts[name]
            # Examples in the model are pieces of YAML, for messages; a section's default follows from its fields.
            field.pop("examples", None)
            for bound, keyword in (("ge", "minimum"), ("le", "maximum")):  # pydantic's, of a number or a text
                if bound in field:
                    field[keyword] = field.pop(bound)
            if field.get("default") is None or isinstance(field["default"], dict | list):
                field.pop("default", None)
        if section.__name__ in SECTIONS:
            described["allOf"] = copy.deepcopy(SECTIONS[section.__name__])
        return described
