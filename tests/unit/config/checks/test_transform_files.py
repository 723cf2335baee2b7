from pathlib import Path
from typing import Any

import pytest

from bifrost.config.checks.transform_files import find_transform_files

AT = ("tenants", 0, "filters", 0, "config")


def data(config: Any) -> dict[str, Any]:
    return {"tenants": [{"filters": [{"config": config}]}]}


def test_the_path_of_a_file_becomes_absolute(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def transform(batch, context): ...")
    config = {"transform_file": "mine.py"}

    assert list(find_transform_files(data(config), tmp_path)) == []
    assert config == {"transform_file": str(tmp_path / "mine.py")}


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    [(loc, text)] = find_transform_files(data({"transform_file": "mine.py"}), tmp_path)

    assert loc == (*AT, "transform_file")
    assert "file of the transform" in text
    assert "no such file" in text


@pytest.mark.parametrize("config", [{"entry_point": "x"}, {"transform_file": 3}])
def test_without_arrow_a_transform_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, config: dict[str, Any]
) -> None:
    monkeypatch.setattr("bifrost.config.checks.transform_files.find_spec", lambda _name: None)

    [(loc, text)] = find_transform_files(data(config), tmp_path)

    assert loc == AT
    assert "pip install '.[transforms]'" in text
    assert list(find_transform_files(data({"require_key": True}), tmp_path)) == []
