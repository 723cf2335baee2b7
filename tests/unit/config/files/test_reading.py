import os
from pathlib import Path

import pytest

from bifrost.config.files.reading import UnreadableError, path_hint, read_file, read_regular_file


def test_what_is_there_is_read_up_to_a_bound(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"12345")

    assert read_file(path, 5) == read_regular_file(path, 5) == b"12345"
    with pytest.raises(UnreadableError, match="larger than 4 bytes"):
        read_file(path, 4)


def test_what_cannot_be_read_says_why(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    expected = {
        tmp_path / "absent": "no such file",
        tmp_path: "a directory, not a file",
        Path("nul\0"): "not a path",
        tmp_path / "pipe": "not a regular file",
    }

    for path, text in expected.items():
        with pytest.raises(UnreadableError, match=text):
            read_regular_file(path, 10)


def test_only_a_relative_path_that_leads_nowhere_is_explained(tmp_path: Path) -> None:
    (tmp_path / "here").touch()

    assert "starts at the folder" in path_hint("absent", tmp_path / "absent")
    assert path_hint("here", tmp_path / "here") == ""
    assert path_hint("/absent", Path("/absent")) == ""
