import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from pydantic import BaseModel

from bifrost.config.explain import section_at
from bifrost.config.fields.limits import Limits
from bifrost.config.json_schema import configuration_schema, field_documentation
from bifrost.config.model import Config
from bifrost.config.secrets import READ_FROM_FILES
from bifrost.config.section import Section

from .conftest import PROXY_YAML

FOLDER = Path(__file__).resolve().parents[3] / "examples"
EXAMPLES = sorted(one for one in FOLDER.rglob("*.yaml") if one.name != "price-book.yaml")
"""Those of gateways."""
SCHEMA = configuration_schema()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def mistakes(text: str) -> list[str]:
    """Where the schema finds something wrong."""
    found = VALIDATOR.iter_errors(yaml.safe_load(text))
    return sorted({".".join(map(str, error.absolute_path)) for error in found})


def sections(model: type[BaseModel] = Config) -> Iterator[type[BaseModel]]:
    yield model
    for field in model.model_fields:
        held = section_at(model, (field,))
        if held:
            yield from sections(held)


def test_it_is_a_schema_of_the_draft_that_it_names() -> None:
    assert SCHEMA["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_every_example_is_valid(example: Path) -> None:
    assert mistakes(example.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("old", "new", "where"),
    [
        ("allowed_topics: [orders, users]", "alowed_topics: [orders, users]", "tenants.1"),
        ("bootstrap_port: 9092", 'bootstrap_port: "9092"', "proxy.listener_sets.0.port_range.bootstrap_port"),
        ("bootstrap_port: 9092", "bootstrap_port: 0", "proxy.listener_sets.0.port_range.bootstrap_port"),
        ("bootstrap_port: 9092", "", "proxy.listener_sets.0.port_range"),
        ("kafka-1.internal:9092", "kafka-1.internal", "upstream.bootstrap.0"),
        ("allowed_topics: [orders, users]", "allowed_topics: []", "tenants.1.allowed_topics"),
        ("allowed_topics: [orders, users]", "allowed_topics:", "tenants.1.allowed_topics"),
        ('password_file: "secrets/acme.password"', "password: x", "tenants.0.auth.credentials.0"),
        ("upstream:", "  limits: { max_request_bytes: 1 MB }\nupstream:", "proxy.limits.max_request_bytes"),
        ("upstream:", "  limits: { max_request_bytes: 1 }\nupstream:", "proxy.limits.max_request_bytes"),
        (
            "upstream:",
            "  limits: { metadata_refresh_ms: 5 B }\nupstream:",
            "proxy.limits.metadata_refresh_ms",
        ),
    ],
)
def test_a_mistake_is_marked_where_it_stands(old: str, new: str, where: str) -> None:
    assert old in PROXY_YAML

    assert mistakes(PROXY_YAML.replace(old, new, 1)) == [where]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("max_request_bytes", value) for value in (4096, "4096B", "1.5 KiB", " 8 MiB ", "1GiB")),
        *(("max_reauth_ms", value) for value in (0, "30 ms", "2.5s", "90min", "1 h")),
    ],
)
def test_a_quantity_that_the_model_takes_is_valid(field: str, value: object) -> None:
    schema = {"$ref": "#/$defs/Limits", "$defs": SCHEMA["$defs"]}

    Limits.model_validate({field: value})

    assert list(jsonschema.Draft202012Validator(schema).iter_errors({field: value})) == []


def test_every_key_is_there_with_its_documentation_and_no_other() -> None:
    described: dict[str, Any] = SCHEMA["$defs"]

    for section in sections():
        keys = described[section.__name__]["properties"]
        assert set(keys) == set(section.model_fields) - READ_FROM_FILES
        assert described[section.__name__]["additionalProperties"] is False
        for name, key in keys.items():
            assert key["description"] == field_documentation(section)[name]
            assert len(key["description"]) > 20
            assert "\n" not in key["description"].replace("\n\n", "")


def test_what_is_read_from_files_is_nowhere_in_it() -> None:
    assert not re.search(r"\b(Kept)?Secret\b", str(SCHEMA))
    assert "salt" not in SCHEMA["$defs"]
    assert not READ_FROM_FILES & SCHEMA["$defs"]["Credential"]["properties"].keys()


class Outer(Section):
    """A section."""

    own: int = 1
    """What it is
    about."""

    bare: int = 2


class Inner(Outer):
    """A section of a section."""

    other: str = ""
    """First.

    Second,
    longer."""


def test_documentation_is_found_under_the_fields_of_a_section_and_of_those_it_extends() -> None:
    assert field_documentation(Inner) == {"own": "What it is about.", "other": "First.\n\nSecond, longer."}
