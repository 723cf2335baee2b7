from pathlib import Path

import pytest

import run_tests
from support import files_in_order

UNSTEADY = """
from pathlib import Path

def test_first_run():
    marker = Path({marker!r})
    if not marker.exists():
        marker.touch()
        raise AssertionError

def test_other():
    pass
"""
BROKEN = "import pytest\n@pytest.fixture\ndef one():\n    raise ValueError\ndef test_broken(one):\n    pass\n"
GOOD = "def test_good():\n    pass\n"


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of its own, in which pytest finds none of this project's settings."""
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_good.py").write_text(GOOD)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def unsteady(project: Path, number: int) -> None:
    (project / f"test_unsteady_{number}.py").write_text(
        UNSTEADY.format(marker=str(project / f"marker{number}"))
    )


def test_all_pass_at_once(project: Path) -> None:
    assert run_tests.main([str(project)]) == 0
    assert not run_tests.UNSTEADY.exists()


def test_what_passes_alone_is_listed_and_does_not_fail_the_run(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    unsteady(project, 1)

    assert run_tests.main([str(project)]) == 0
    assert run_tests.main(["list"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "test_unsteady_1.py::test_first_run"


def test_what_fails_twice_fails_the_run(project: Path) -> None:
    (project / "test_broken.py").write_text(BROKEN)

    assert run_tests.main([str(project)]) == 1
    assert not run_tests.UNSTEADY.exists()


def test_failures_in_too_many_files_are_not_tried_again(project: Path) -> None:
    for number in range(run_tests.MAX_FILES + 1):
        unsteady(project, number)

    assert run_tests.main([str(project)]) == 1
    assert not run_tests.UNSTEADY.exists()


def test_files_that_took_longest_are_listed_behind_a_run(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "test_slow.py").write_text(
        "import time\ndef test_one():\n    time.sleep(0.1)\ndef test_two():\n    time.sleep(0.1)\n"
    )

    run_tests.main([str(project)])

    head, longest, other = capsys.readouterr().out.splitlines()
    assert head == "Files that took longest:"
    assert longest.endswith(" s  test_slow.py")
    assert 0.2 <= float(longest.split()[0]) < 60
    assert other.endswith(" s  test_good.py")


def test_processes_begin_with_the_files_that_take_long() -> None:
    tests = Path(__file__).parents[2]
    files = [
        tests / name
        for name in ("test_tidy.py", "unit/a/test_b.py", "property/test_c.py", "kafka/d/test_e.py")
    ]

    assert [one.name for one in sorted(files, key=files_in_order.place_of)] == [
        "test_e.py",
        "test_c.py",
        "test_tidy.py",
        "test_b.py",
    ]


def test_a_run_that_did_not_come_to_its_end_fails(project: Path) -> None:
    (project / "test_no_python.py").write_text("def")

    assert run_tests.main([str(project)]) not in (0, run_tests.FAILED)
