"""`bifrost sealing-key` with key files as KEKs; what it writes is what a gateway reads."""

import subprocess
import sys
from pathlib import Path

import pytest

from bifrost.encryption.sealing_key import SEALING_CONTEXT, SealingKey, read_sealing_key
from bifrost.keys.key_file import KeyFile
from support.encryption.key_files import rotate, write_key_file

COMMAND = [sys.executable, "-m", "bifrost.cli.main", "sealing-key"]


def run(*arguments: object) -> tuple[int, str, str]:
    """Return status, standard output and standard error of the real command."""
    line = [*COMMAND, *map(str, arguments)]
    done = subprocess.run(line, capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def keks(tmp_path: Path) -> Path:
    return write_key_file(tmp_path / "keks", "payments", "next")


def key_in(file: Path, keks: Path, name: str = "payments") -> tuple[SealingKey, bytes]:
    sealing = read_sealing_key(file.read_text())
    return sealing, sealing.checked(KeyFile(keks, name).unwrap(sealing.wrapped, SEALING_CONTEXT))


def test_a_key_is_made_once_and_wrapped_again_without_a_change(tmp_path: Path, keks: Path) -> None:
    file, kek = tmp_path / "sealing", f"file:{keks}#payments"

    status, output, errors = run("create", file, "--kek", kek)

    first, key = key_in(file, keks)
    assert (status, output, errors) == (0, f"{file}: sealing key {first.key_id.hex()}\n", "")
    assert key.hex() not in file.read_text()
    assert run("create", file, "--kek", kek)[0] == 1, "a file that is there is never replaced"
    rotate(keks, "payments", 2)
    status, output, _ = run("rewrap", file, "--kek", kek)
    assert (status, "file:payments version 2" in output) == (0, True)
    second, again = key_in(file, keks)
    assert (second.wrapped.kek_version, second.key_id, again) == (2, first.key_id, key)
    assert run("rewrap", file, "--kek", f"file:{keks}#next", "--open-with", kek)[0] == 0
    third, again = key_in(file, keks, "next")
    assert (third.wrapped.kek, third.key_id, again) == ("file:next", first.key_id, key)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["keks", "sealing"]


def test_what_cannot_be_done_leaves_the_file_as_it_was(tmp_path: Path, keks: Path) -> None:
    file, kek = tmp_path / "sealing", f"file:{keks}#payments"
    assert run("create", file, "--kek", f"file:{keks}#absent")[0] == 1
    assert not file.exists()
    assert run("create", file, "--kek", "nonsense")[0] == 2
    assert run("create", file, "--kek", kek)[0] == 0
    before = file.read_text()

    status, _, errors = run("rewrap", file, "--kek", f"file:{keks}#next")

    assert (status, errors.startswith("error: ")) == (1, True)
    assert file.read_text() == before
    assert run("rewrap", tmp_path / "absent", "--kek", kek)[0] == 1
    file.write_text("hunter2")
    status, _, errors = run("rewrap", file, "--kek", kek)
    assert status == 1
    assert "hunter2" not in errors
