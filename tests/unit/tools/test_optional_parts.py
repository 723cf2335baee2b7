"""The list of skipped tests, and tools/optional_parts.py, which prints it behind several runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import optional_parts
from support.skips.optional_parts import KERBEROS, LINUX, PARTS, Part, lacks, part_of
from support.skips.skip_list import FAIL_VARIABLE, FILE_VARIABLE, is_failure, lines_of, read_skips

TESTS = Path(__file__).resolve().parents[2]
MISSING, BY_CHOICE = lacks(KERBEROS, "no program krb5kdc"), "make soak does this"
SUITE = f"""
import pytest

@pytest.mark.skipif(True, reason={MISSING!r})
@pytest.mark.parametrize("number", [1, 2])
def test_by_ticket(number): pass

@pytest.mark.skip(reason={BY_CHOICE!r})
def test_for_hours(): pass

def test_works(): pass
"""


def run(folder: Path, *more: str, text: str = SUITE, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run pytest over a suite of its own."""
    folder.joinpath("test_suite.py").write_text(text, encoding="utf-8")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("BIFROST_", "PYTEST_"))}
    return subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "support.skips.skip_list",
            "--rootdir",
            str(folder),
            *more,
        ],
        cwd=folder,
        env={**kept, "PYTHONPATH": str(TESTS), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("more", [(), ("-n", "1")], ids=["one process", "xdist"])
def test_a_run_ends_with_what_was_skipped_and_how_to_get_it(more: tuple[str, ...], tmp_path: Path) -> None:
    done = run(tmp_path, *more)

    assert done.returncode == 0, done.stdout + done.stderr
    end = done.stdout.partition("skipped, 1 passed")[0] + done.stdout
    assert f"2 tests: {MISSING}" in end
    assert "to get it: make optional-parts" in end
    assert f"1 tests: {BY_CHOICE}" in end


def test_a_missing_part_fails_the_run_where_all_are_wanted(tmp_path: Path) -> None:
    assert run(tmp_path, **{FAIL_VARIABLE: "fail"}).returncode == 1


def test_a_part_that_is_there_fails_the_run_where_those_are_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    present, absent = (
        Part(name, "x", "y", packages=("p",), is_there=lambda is_there=is_there: is_there)
        for name, is_there in (("here", True), ("away", False))
    )
    monkeypatch.setattr("support.skips.optional_parts.PARTS", (present, absent))
    monkeypatch.setenv(FAIL_VARIABLE, "present")

    assert is_failure(["here: it does not work"])
    assert not is_failure(["away: it is not here", BY_CHOICE])


def test_a_skip_by_choice_never_fails_a_run(tmp_path: Path) -> None:
    text = f"import pytest\n\n@pytest.mark.skip(reason={BY_CHOICE!r})\ndef test_it(): pass\n"

    assert run(tmp_path, text=text, **{FAIL_VARIABLE: "fail"}).returncode == 0


def test_the_skips_of_several_runs_are_listed_behind_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    skips = tmp_path / "skips"
    environment = {FILE_VARIABLE: str(skips), FAIL_VARIABLE: "fail"}
    runs = [run(tmp_path, **environment) for _ in range(2)]

    assert [one.returncode for one in runs] == [0, 0]
    assert all(MISSING not in one.stdout for one in runs)
    assert sorted(read_skips(skips)) == sorted(2 * [BY_CHOICE, MISSING, MISSING])
    monkeypatch.setattr(sys, "argv", ["optional_parts.py", "list", str(skips)])
    monkeypatch.delenv(FAIL_VARIABLE, raising=False)
    assert optional_parts.main() == 0
    assert f"4 tests: {MISSING}" in capsys.readouterr().out
    monkeypatch.setenv(FAIL_VARIABLE, "fail")
    assert optional_parts.main() == 1


@pytest.fixture(autouse=True)
def reasons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of reasons, in a folder of the test's own."""
    monkeypatch.setattr(optional_parts, "REASONS", tmp_path / "build" / "reasons.json")
    return tmp_path / "build" / "reasons.json"


@pytest.mark.parametrize("is_there", [True, False])
def test_what_cannot_be_installed_is_named(
    is_there: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    part = Part("a part", "something", "buy one", is_there=lambda: is_there)
    monkeypatch.setattr(optional_parts, "PARTS", (part,))
    monkeypatch.setattr(sys, "argv", ["optional_parts.py", "install"])

    assert optional_parts.main() == (0 if is_there else 1)
    assert ("no a part; not tested without it: something" in capsys.readouterr().out) is not is_there


def test_what_another_target_needs_is_named_and_no_failure(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    part = Part("a part", "something", "buy one", is_there=lambda: False, is_for_all_tests=False)
    monkeypatch.setattr(optional_parts, "PARTS", (part,))
    monkeypatch.setattr(sys, "argv", ["optional_parts.py", "install"])

    assert optional_parts.main() == 0
    assert "no a part; not tested without it: something" in capsys.readouterr().out


def test_behind_a_run_stands_which_parts_it_did_not_have_and_why(
    reasons: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pip = tmp_path / "pip"
    pip.write_text(
        "#!/bin/sh\necho 'note: no network' >&2\necho 'ERROR: No matching distribution' >&2\nexit 1\n"
    )
    pip.chmod(0o755)
    parts = (
        Part("a wheel", "logins", "make optional-parts", wheels=("wheel",), is_there=lambda: False),
        Part("a kernel", "sockets", "build one", is_there=lambda: False),
        Part("Perl", "poems", "make poems", is_there=lambda: False, is_for_all_tests=False),
        Part("a hammer", "nails", "buy one"),
    )
    monkeypatch.setattr(optional_parts, "PARTS", parts)

    def missing() -> list[str]:
        capsys.readouterr()
        monkeypatch.setattr(sys, "argv", ["optional_parts.py", "missing"])
        assert optional_parts.main() == 0
        return capsys.readouterr().out.splitlines()

    untried = missing()
    monkeypatch.setattr(sys, "executable", str(pip))
    monkeypatch.setattr(sys, "argv", ["optional_parts.py", "install"])
    assert optional_parts.main() == 1
    tried = missing()

    head = "This run had no a wheel, a kernel: what needs them was SKIPPED, and the run does not fail for it."
    assert untried[0] == tried[0] == head
    assert untried[1:] == [
        "  a wheel: make optional-parts did not come to its end; not tested: logins",
        "  a kernel: make optional-parts did not come to its end; not tested: sockets",
    ]
    assert tried[1:] == [
        "  a wheel: ERROR: No matching distribution; not tested: logins",
        "  a kernel: build one; not tested: sockets",
    ]
    monkeypatch.setattr(optional_parts, "PARTS", parts[3:])
    assert missing() == ["Every part was there that `make test` needs."]


def test_without_a_skip_the_list_says_so(tmp_path: Path) -> None:
    assert list(lines_of(read_skips(tmp_path / "absent"))) == ["No test was skipped."]


def test_reasons_name_their_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FAIL_VARIABLE, "fail")

    assert [part_of(lacks(part.name)) for part in PARTS] == list(PARTS)
    assert part_of(BY_CHOICE) is None
    assert is_failure([BY_CHOICE, MISSING])
    assert not is_failure([BY_CHOICE])
    assert not is_failure([lacks(LINUX)])


def test_every_part_is_one_that_a_test_is_skipped_for() -> None:
    uses = "\n".join(path.read_text(encoding="utf-8") for path in TESTS.rglob("*.py"))
    table = TESTS.joinpath("support/skips/optional_parts.py").read_text(encoding="utf-8")
    names = [line.partition(" = ")[0] for line in table.splitlines() if line[:1].isupper() and ' = "' in line]

    assert len(names) == len(PARTS)
    assert [name for name in names if f"lacks({name}" not in uses] == []
