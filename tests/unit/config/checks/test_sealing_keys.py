from pathlib import Path

import pytest

from bifrost.config.checks.sealing_keys import read_sealing_keys
from unit.config.checks.test_hash_keys import AT, data

LINE = "v1 0123456789abcdef AAAAAQAV"


def test_the_wrapped_key_stands_beside_its_file(tmp_path: Path) -> None:
    (tmp_path / "sealing").write_text(f"# of payments\n{LINE}\n")
    config = {"sealing_key_file": "sealing"}

    assert list(read_sealing_keys(data(config), tmp_path)) == []

    assert config["sealing_key"] == LINE


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (None, "no such file"),
        ("", "bifrost sealing-key create"),
        ("hunter2", "bifrost sealing-key create"),
        (f"{LINE}\n{LINE}\n", "bifrost sealing-key create"),
        (LINE + " more", "bifrost sealing-key create"),
    ],
)
def test_a_file_without_a_wrapped_key_is_named(tmp_path: Path, content: str | None, expected: str) -> None:
    if content is not None:
        (tmp_path / "sealing").write_text(content)
    config = {"sealing_key_file": "sealing"}

    [(loc, text)] = read_sealing_keys(data(config), tmp_path)

    assert loc == (*AT, "sealing_key_file")
    assert text.startswith("tenants[1].filters[1].config.sealing_key_file: file of the wrapped key ")
    assert expected in text
    assert "hunter2" not in text
    assert "sealing_key" not in config


def test_a_wrapped_key_in_the_configuration_itself_is_refused(tmp_path: Path) -> None:
    config = {"sealing_key": LINE}

    [(loc, text)] = read_sealing_keys(data(config), tmp_path)

    assert loc == (*AT, "sealing_key")
    assert "name that with sealing_key_file" in text
    assert config == {}
