"""A configuration with many tenants, each of which is validated by itself."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bifrost.config.model import Config
from support.journal.loading import load

Problems = Callable[..., list[str]]


def test_many_tenants_are_validated_one_by_one(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = load(folder / "proxy.yaml")
    given: list[object] = []
    validate = Config.model_validate

    def watched(data: dict[str, Any]) -> Config:
        given.extend(data["tenants"])
        return validate(data)

    monkeypatch.setattr("bifrost.config.load.MANY_TENANTS", 2)
    monkeypatch.setattr(Config, "model_validate", watched)
    assert load(folder / "proxy.yaml") == whole
    assert given == list(whole.tenants), "the whole is validated with tenants that are valid already"


def test_mistakes_in_one_of_many_tenants_have_their_places(
    problems: Problems, monkeypatch: pytest.MonkeyPatch
) -> None:
    mistakes = (
        ("allowed_topics: [orders, billing", "alowed_topics: [orders, billing"),
        ("name: globex", "name: acme"),
        ("username: globex", "username: 7"),
    )
    few = problems(*mistakes)
    monkeypatch.setattr("bifrost.config.load.MANY_TENANTS", 2)
    assert problems(*mistakes) == few
    assert len(few) == 3
