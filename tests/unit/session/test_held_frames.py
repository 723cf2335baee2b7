"""Frames are worked on in their order, one after the other, and each stays until it is done."""

import pytest

from bifrost.session.held_frames import HeldFrames
from bifrost.session.in_flight import Buffer
from bifrost.wire.engine import in_steps
from support.stage import Stage

LATER_NS = 2**62


def holding(*frames: bytes) -> HeldFrames:
    held = HeldFrames()
    held.frames.extend(frames)
    return held


def test_a_frame_that_is_done_is_removed(stage: Stage) -> None:
    held, seen = holding(b"first", b"second"), list[Buffer]()

    def run(frame: Buffer) -> bool:
        seen.append(frame)
        return True

    assert held.go_on(run, stage.namespaces["acme"], LATER_NS) is True
    assert list(held.frames) == [b"second"]
    assert held.go_on(run, stage.namespaces["acme"], LATER_NS) is True
    assert not held.frames
    assert seen == [b"first", b"second"]


def test_a_frame_that_is_not_done_is_worked_on_again(stage: Stage) -> None:
    held, results = holding(b"first"), [True, False]

    def run(frame: Buffer) -> bool:
        return results.pop()

    assert held.go_on(run, stage.namespaces["acme"], LATER_NS) is False
    assert list(held.frames) == [b"first"]
    assert held.go_on(run, stage.namespaces["acme"], LATER_NS) is True
    assert not held.frames


def test_work_that_pauses_goes_on_where_it_paused(stage: Stage) -> None:
    held, rounds, begun = holding(b"first"), list[int](), list[Buffer]()

    def run(frame: Buffer) -> bool:
        begun.append(frame)
        for number in in_steps(range(1000)):
            rounds.append(number)
        return True

    assert held.go_on(run, stage.namespaces["acme"], 0) is None
    assert 0 < len(rounds) < 1000
    assert list(held.frames) == [b"first"]
    assert held.go_on(run, stage.namespaces["acme"], LATER_NS) is True
    assert rounds == list(range(1000))
    assert begun == [b"first"]
    assert not held.frames


def test_a_frame_whose_work_raises_stays(stage: Stage) -> None:
    held = holding(b"first")

    def run(frame: Buffer) -> bool:
        raise ValueError("malformed")

    with pytest.raises(ValueError, match="malformed"):
        held.go_on(run, stage.namespaces["acme"], LATER_NS)
    assert list(held.frames) == [b"first"]


def test_dropping_frames_gives_the_work_on_the_first(stage: Stage) -> None:
    held, ended = holding(b"first", b"second"), list[str]()
    frames = held.frames

    def run(frame: Buffer) -> bool:
        try:
            for _ in in_steps(range(1000)):
                pass
        finally:
            ended.append("cleaned up")
        return True

    assert held.go_on(run, stage.namespaces["acme"], 0) is None
    work = held.drop()

    assert work is not None
    assert not ended
    work.cancel()
    assert ended == ["cleaned up"]
    assert held.drop() is None
    assert not held.frames
    assert held.frames is frames
