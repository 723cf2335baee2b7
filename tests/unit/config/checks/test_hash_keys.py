from pathlib import Path
from typing import Any

import pytest

from bifrost.config.checks.hash_keys import read_hash_keys
from bifrost.config.kept_secret import KeptSecret

AT = ("tenants", 1, "filters", 1, "config")


def data(config: Any) -> dict[str, Any]:
    """Return a file in which the config of a filter stands behind what is none."""
    return {"tenants": [1, {"filters": ["none", {"config": config}, {"config": 3}]}, {"filters": 4}]}


def test_the_key_stands_beside_its_file(tmp_path: Path) -> None:
    (tmp_path / "hash.key").write_bytes(b"x" * 32 + b"\n")
    config = {"hash_key_file": "hash.key"}

    assert list(read_hash_keys(data(config), tmp_path)) == []

    assert config["hash_key"] == KeptSecret(b"x" * 32)
    assert "x" * 32 not in repr(config)


@pytest.mark.parametrize(
    ("content", "expected"),
    [(None, "no such file"), (b" " * 40, "less than 32 bytes"), (b"x" * 31, "less than")],
)
def test_a_file_without_a_usable_key_is_named(tmp_path: Path, content: bytes | None, expected: str) -> None:
    if content is not None:
        (tmp_path / "hash.key").write_bytes(content)
    config = {"hash_key_file": "hash.key"}

    [(loc, text)] = read_hash_keys(data(config), tmp_path)

    assert loc == (*AT, "hash_key_file")
    assert text.startswith("tenants[1].filters[1].config.hash_key_file: file of the key ")
    assert expected in text
    assert "hash_key" not in config


def test_a_key_in_the_configuration_itself_is_refused(tmp_path: Path) -> None:
    config = {"hash_key": "hunter2" * 8}

    [(loc, text)] = read_hash_keys(data(config), tmp_path)

    assert loc == (*AT, "hash_key")
    assert "name that with hash_key_file" in text
    assert config == {}
