"""Children that are shell commands: started, stopped, killed, and never left behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from bifrost.embedded.child import Child, tail
from bifrost.embedded.errors import EmbeddedError


def started(script: str, directory: Path) -> Child:
    """Start a shell script and wait until it has printed its first line."""
    child = Child(["/bin/sh", "-c", script], log_file=directory / "log")
    while "\n" not in child.log() and child.exit_status() is None:
        pass
    return child


def watchers_of(pid: int) -> list[psutil.Process]:
    return [child for child in psutil.Process().children() if _is_watcher(child, pid)]


def _is_watcher(child: psutil.Process, pid: int) -> bool:
    try:
        return child.cmdline()[-2:] == ["watcher", str(pid)]
    except psutil.NoSuchProcess:  # A child of another test that has ended, waited for or not.
        return False


def test_output_goes_to_the_log_and_the_status_is_kept(tmp_path: Path) -> None:
    child = Child(["/bin/sh", "-c", "echo out; echo err >&2; exit 3"], log_file=tmp_path / "log")

    assert child.wait(10)
    assert child.exit_status() == 3
    assert child.log() == "out\nerr\n"


def test_stop_lets_it_end_in_order(tmp_path: Path) -> None:
    child = started("trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.01; done", tmp_path)

    assert child.exit_status() is None
    assert child.stop(grace_s=10)
    assert child.exit_status() == 0
    assert child.log() == "up\nbye\n"


def test_stop_kills_what_does_not_end(tmp_path: Path) -> None:
    child = started("trap '' TERM; echo up; while :; do sleep 0.01; done", tmp_path)

    assert not child.stop(grace_s=0.2)
    assert child.exit_status() == -9


def test_watcher_goes_with_its_child(tmp_path: Path) -> None:
    child = started("echo up; exec sleep 60", tmp_path)
    before = watchers_of(child.pid)

    child.kill()

    assert len(before) == 1
    assert watchers_of(child.pid) == []
    assert child.stop()


def test_terminals_interrupt_does_not_reach_it(tmp_path: Path) -> None:
    child = started("echo up; exec sleep 60", tmp_path)

    assert os.getsid(child.pid) != os.getsid(0)
    assert os.getpgid(child.pid) != os.getpgid(0)
    child.kill()


def test_child_does_not_outlive_a_killed_parent(tmp_path: Path) -> None:
    script = (
        "import sys, time; from pathlib import Path; from bifrost.embedded.child import Child\n"
        "child = Child(['sleep', '60'], log_file=Path(sys.argv[1])); print(child.pid, flush=True); time.sleep(60)"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path / "log")], stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    child = psutil.Process(int(parent.stdout.readline()))

    parent.kill()
    parent.communicate()

    assert psutil.wait_procs([child], timeout=15)[1] == []


def test_missing_program_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(EmbeddedError, match=r"cannot start /nowhere/java: .*No such file"):
        Child(["/nowhere/java"], log_file=tmp_path / "log")


def test_tail_leaves_out_stack_frames() -> None:
    text = "one\ntwo\n\nException: bad\n\tat a.b(C.java:1)\n\tat d.e(F.java:2)\nCaused by: worse\n"

    assert tail(text, lines=3) == "two\nException: bad\nCaused by: worse"
