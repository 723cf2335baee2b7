"""Who looks for the journal: another process is one of the system's own here, for a process has its locks but once."""

import subprocess
import sys

import pytest

from bifrost.gateway.workers.shared_limits import SNAPSHOT_PLACES, SharedLimits
from bifrost.gateway.workers.shared_snapshot_turn import SharedSnapshotTurn

HOLD = """
import sys
from bifrost.gateway.workers.shared_limits import SharedLimits
from bifrost.gateway.workers.shared_snapshot_turn import SharedSnapshotTurn
turn = SharedSnapshotTurn(SharedLimits(int(sys.argv[1]), 2))
print(turn.is_mine(), turn.last_ms("main"), flush=True)
sys.stdin.readline()
turn.note("main", 70)
turn.leave()
print("left", flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def shared_limits() -> SharedLimits:
    return SharedLimits.create(2)


def other_worker(shared_limits: SharedLimits) -> "subprocess.Popen[str]":
    """Start a process that takes the turn if it can, then leaves it, then ends: step by step, a line each."""
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", HOLD, str(shared_limits.fd)]
    return subprocess.Popen(command, pass_fds=[shared_limits.fd], stdin=pipe, stdout=pipe, text=True)


def heard(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_one_has_the_turn_until_it_leaves(shared_limits: SharedLimits) -> None:
    turn = SharedSnapshotTurn(shared_limits)
    with other_worker(shared_limits) as other:
        assert heard(other) == "True None"
        assert not turn.is_mine()
        assert other.stdin is not None
        other.stdin.write("\n")
        other.stdin.flush()
        assert heard(other) == "left"

        assert turn.is_mine()
        assert turn.is_mine()
        assert turn.last_ms("main") == 70
        other.stdin.close()


def test_one_that_is_killed_has_it_no_more(shared_limits: SharedLimits) -> None:
    turn = SharedSnapshotTurn(shared_limits)
    with other_worker(shared_limits) as other:
        assert heard(other) == "True None"
        assert not turn.is_mine()

        other.kill()
        other.wait()

        assert turn.is_mine()


def test_no_process_takes_it_from_the_one_that_has_it(shared_limits: SharedLimits) -> None:
    turn = SharedSnapshotTurn(shared_limits)
    assert turn.is_mine()
    turn.note("main", 50)

    with other_worker(shared_limits) as other:
        assert heard(other) == "False 50"
        other.kill()


def test_snapshots_of_several_clusters_stand_side_by_side(shared_limits: SharedLimits) -> None:
    turn = SharedSnapshotTurn(shared_limits)
    names = [f"cluster-{number}" for number in range(SNAPSHOT_PLACES)]
    for number, name in enumerate(names):
        turn.note(name, number)
    turn.note(names[3], 1000)

    other = SharedSnapshotTurn(SharedLimits(shared_limits.fd, 2))

    assert [other.last_ms(name) for name in names] == [0, 1, 2, 1000, *range(4, SNAPSHOT_PLACES)]
    turn.note("one too many", 5)
    assert other.last_ms("one too many") is None
    assert shared_limits.fetch_marks()[-1] == 0
