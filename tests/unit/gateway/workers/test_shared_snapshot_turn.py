"""Who looks for the journal: another process is one of the system's own here, for a process has its locks but once."""

import subprocess
import sys

import pytest

from bifrost.gateway.workers.shared_limits import LOOK_PLACES, SharedLimits
from bifrost.gateway.workers.shared_snapshot_turn import SharedSnapshotTurn

HOLD = """
import sys
from bifrost.gateway.workers.shared_limits import SharedLimits
from bifrost.gateway.workers.shared_snapshot_turn import SharedSnapshotTurn
looks = SharedSnapshotTurn(SharedLimits(int(sys.argv[1]), 2))
print(looks.is_mine(), looks.last_ms("main"), flush=True)
sys.stdin.readline()
looks.note("main", 70)
looks.leave()
print("left", flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def board() -> SharedLimits:
    return SharedLimits.create(2)


def other_worker(board: SharedLimits) -> "subprocess.Popen[str]":
    """Start a process that takes the turn if it can, then leaves it, then ends: step by step, a line each."""
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", HOLD, str(board.fd)]
    return subprocess.Popen(command, pass_fds=[board.fd], stdin=pipe, stdout=pipe, text=True)


def heard(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_one_has_the_turn_until_it_leaves(board: SharedLimits) -> None:
    looks = SharedSnapshotTurn(board)
    with other_worker(board) as other:
        assert heard(other) == "True None"
        assert not looks.is_mine()
        assert other.stdin is not None
        other.stdin.write("\n")
        other.stdin.flush()
        assert heard(other) == "left"

        assert looks.is_mine()
        assert looks.is_mine()
        assert looks.last_ms("main") == 70
        other.stdin.close()


def test_one_that_is_killed_has_it_no_more(board: SharedLimits) -> None:
    looks = SharedSnapshotTurn(board)
    with other_worker(board) as other:
        assert heard(other) == "True None"
        assert not looks.is_mine()

        other.kill()
        other.wait()

        assert looks.is_mine()


def test_nobody_takes_it_from_who_has_it(board: SharedLimits) -> None:
    looks = SharedSnapshotTurn(board)
    assert looks.is_mine()
    looks.note("main", 50)

    with other_worker(board) as other:
        assert heard(other) == "False 50"
        other.kill()


def test_looks_at_several_clusters_stand_side_by_side(board: SharedLimits) -> None:
    looks = SharedSnapshotTurn(board)
    names = [f"cluster-{number}" for number in range(LOOK_PLACES)]
    for number, name in enumerate(names):
        looks.note(name, number)
    looks.note(names[3], 1000)

    other = SharedSnapshotTurn(SharedLimits(board.fd, 2))

    assert [other.last_ms(name) for name in names] == [0, 1, 2, 1000, *range(4, LOOK_PLACES)]
    looks.note("one too many", 5)
    assert other.last_ms("one too many") is None
    assert board.fetch_marks()[-1] == 0
