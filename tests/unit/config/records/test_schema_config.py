from typing import Any

import pytest
from pydantic import ValidationError

from bifrost.config.records.record_filter import RecordFilter
from bifrost.config.records.schema_config import SchemaLevel

URL = {"registry_url": "http://registry:8081"}
CHECK = {"name": "adult", "expression": "value.age >= 18"}


def read(**config: Any) -> RecordFilter:
    return RecordFilter.model_validate({"name": "SchemaValidator", "config": config})


def test_a_registry_is_enough() -> None:
    config = read(**URL).config

    assert config.enforce
    assert config.level is SchemaLevel.SCHEMA
    assert [str(part) for part in config.parts] == ["value"]
    assert read(**URL, level="rules", checks=[CHECK]).config.checks[0].name == "adult"


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"enforce": True}, "has no registry_url"),
        ({"enforce": False}, "has no registry_url|asks for nothing"),
        (URL | {"quarantine_topic": "bad", "enforce": False}, "with enforce: false none is"),
        (URL | {"fail": "quarantine"}, "needs quarantine_topic"),
        (URL | {"registry_username": "gateway"}, "need each other"),
        (URL | {"registry_password_file": "secret"}, "need each other"),
        (
            URL | {"registry_token_file": "a", "registry_username": "b", "registry_password_file": "c"},
            "remove one of them",
        ),
        (URL | {"level": "rules"}, "needs checks"),
        (URL | {"checks": [CHECK]}, "needs checks"),
        (URL | {"level": "rules", "checks": [CHECK, CHECK]}, "same name"),
        (URL | {"parts": ["value", "value"]}, "twice"),
        (URL | {"parts": []}, "at least 1"),
        (URL | {"require_key": True}, "is no key of SchemaValidator"),
        ({"registry_url": "registry"}, "http"),
    ],
)
def test_what_makes_no_sense_is_refused(wrong: dict[str, Any], why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        read(**wrong)


def test_it_is_for_producers_alone() -> None:
    with pytest.raises(ValidationError, match="for direction: produce only"):
        RecordFilter.model_validate(
            {"name": "SchemaValidator", "config": URL, "rules": [{"direction": "fetch"}]}
        )
