from pathlib import Path
from typing import Any

import pytest

from bifrost.config.checks.admin_tokens import read_admin_tokens
from bifrost.config.secrets import Secret


def data(*admins: Any) -> dict[str, Any]:
    return {"proxy": {"control": {"admins": list(admins)}}}


def test_the_token_stands_beside_its_file(tmp_path: Path) -> None:
    (tmp_path / "alice.token").write_bytes(b"x" * 32 + b"\n")
    admin = {"token_file": "alice.token"}

    assert list(read_admin_tokens(data(admin, {"token_sha256": "0"}, "none"), tmp_path)) == []

    assert admin["token"] == Secret(b"x" * 32)
    assert "x" * 32 not in repr(admin)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (None, "no such file"),
        (b"x" * 31, "less than 32 bytes: write random ones into it, e.g. of openssl rand -hex 32"),
        (b" " * 40, "less than 32 bytes"),
        (b"x" * 40 + b" " + b"y", "has a space or a character that HTTP has no room for"),
        (b"\xff" * 40, "has a space or a character that HTTP has no room for"),
        (b"x" * 5000, ""),
    ],
)
def test_a_file_without_a_usable_token_is_named(tmp_path: Path, content: bytes | None, expected: str) -> None:
    if content is not None:
        (tmp_path / "alice.token").write_bytes(content)
    admin = {"token_file": "alice.token"}

    [(loc, text)] = read_admin_tokens(data(admin), tmp_path)

    assert loc == ("proxy", "control", "admins", 0, "token_file")
    assert text.startswith("proxy.control.admins[0].token_file: file of the token ")
    assert expected in text
    assert "token" not in admin


def test_a_token_in_the_configuration_itself_is_refused(tmp_path: Path) -> None:
    admin = {"token": "hunter2" * 8}

    [(loc, text)] = read_admin_tokens(data(admin), tmp_path)

    assert loc[-1] == "token"
    assert "write the token into a file" in text
    assert "hunter2" not in text
    assert admin == {}


@pytest.mark.parametrize(
    "given", [{}, {"proxy": 1}, {"proxy": {"control": []}}, {"proxy": {"control": {"admins": 5}}}]
)
def test_a_configuration_without_admins_has_no_tokens(tmp_path: Path, given: dict[str, object]) -> None:
    assert list(read_admin_tokens(given, tmp_path)) == []
