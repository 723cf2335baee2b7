from pathlib import Path
from typing import Any

from bifrost.config.checks.key_files import filter_configs, read_key_files
from bifrost.config.files.reading import UnreadableError

TEXTS = ("a secret", "the key")


def configuration(**config: Any) -> dict[str, object]:
    return {"tenants": [{"filters": [{"config": config}]}, None, {"filters": "none"}]}


def test_what_a_file_has_is_put_beside_its_name(tmp_path: Path) -> None:
    data = configuration(some_key_file="key")
    (tmp_path / "key").write_text("content")

    assert list(read_key_files(data, tmp_path, "some_key", TEXTS, Path.read_text)) == []
    assert [config for _, config in filter_configs(data)] == [{"some_key_file": "key", "some_key": "content"}]


def test_key_in_the_configuration_itself_is_taken_out_and_told(tmp_path: Path) -> None:
    data = configuration(some_key="a secret of mine")

    ((loc, text),) = read_key_files(data, tmp_path, "some_key", TEXTS, Path.read_text)

    assert loc == ("tenants", 0, "filters", 0, "config", "some_key")
    assert "some_key_file" in text
    assert "a secret of mine" not in text
    assert [config for _, config in filter_configs(data)] == [{}]


def test_file_that_does_not_read_is_told_with_its_place(tmp_path: Path) -> None:
    def refuse(path: Path) -> str:
        raise UnreadableError("too short")

    data = configuration(some_key_file="key")

    ((loc, text),) = read_key_files(data, tmp_path, "some_key", TEXTS, refuse)

    assert loc == ("tenants", 0, "filters", 0, "config", "some_key_file")
    assert f"file of the key {tmp_path / 'key'}: too short" in text
