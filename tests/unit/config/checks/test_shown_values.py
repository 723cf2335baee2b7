from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from pydantic import BaseModel

from bifrost.config.checks.shown_values import shown
from bifrost.config.model import Config
from unit.config.test_model import settings


def plain(value: object) -> Any:
    """Return what is shown as dicts and tuples."""
    if isinstance(value, Mapping):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return tuple(plain(one) for one in value)
    return value


def test_a_configuration_is_shown_as_pydantic_dumps_it() -> None:
    given = settings(allowed_topics=["orders"], prefixes={"topic": "own-"}, limits={"max_connections": 5})
    given["proxy"]["limits"] = {"max_idle_ms": 60_000}
    config = Config.model_validate(given)
    values: Any = shown(config)

    assert plain(values) == plain(config.model_dump())
    assert len(values) == len(Config.model_fields)
    assert values.get("nothing") is values["tenants"][0].get("model_dump") is None
    assert [one["name"] for one in values["tenants"][0:1]] == ["acme"]
    assert shown("text") == "text"


def test_a_check_of_all_tenants_dumps_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """`model_dump` keeps the interpreter from other threads, and a reload runs in one."""

    def fail(*_: object, **__: object) -> None:
        raise AssertionError

    monkeypatch.setattr(BaseModel, "model_dump", fail)

    assert Config.model_validate(settings()).tenants[0].name == "acme"
