"""Frames are worked on in their order, one after the other, and each stays until it is done."""

import pytest

from bifrost.filters.steps import FORWARD, TopicCount, TopicIds
from bifrost.session.close_reason import CloseReason, SessionEnded
from bifrost.session.held_frames import MAX_TRIES, HeldFrames, Step
from bifrost.session.in_flight import Buffer
from bifrost.session.needs import ROOM, TURN, Room
from bifrost.wire.steps import in_steps, set_pause_steps
from support.stage.stage import Stage

LATER_NS = 2**62


def holding(*frames: bytes) -> HeldFrames:
    held = HeldFrames()
    for frame in frames:
        held.hold(frame)
    return held


def test_a_frame_that_is_done_is_removed(stage: Stage) -> None:
    held, seen = holding(b"first", b"second"), list[Buffer]()

    def run(frame: Buffer) -> Step:
        seen.append(frame)
        return FORWARD

    assert held.decide(run, stage.namespaces["acme"], LATER_NS) is FORWARD
    assert list(held.frames) == [b"second"]
    assert held.decide(run, stage.namespaces["acme"], LATER_NS) is FORWARD
    assert not held.frames
    assert seen == [b"first", b"second"]


def test_a_frame_that_needs_something_is_worked_on_again(stage: Stage) -> None:
    held = holding(b"first")
    steps: list[Step] = [FORWARD, TopicCount()]

    def run(frame: Buffer) -> Step:
        return steps.pop()

    assert held.decide(run, stage.namespaces["acme"], LATER_NS) == held.need == TopicCount()
    assert list(held.frames) == [b"first"]
    held.meet(TopicIds(frozenset()))
    assert held.need is not None
    held.meet(TopicCount())
    assert (held.need, held.met) == (None, {TopicCount: TopicCount()})
    assert held.decide(run, stage.namespaces["acme"], LATER_NS) is FORWARD
    assert not held.frames


def test_work_that_pauses_goes_on_where_it_paused(stage: Stage) -> None:
    held, rounds, begun = holding(b"first"), list[int](), list[Buffer]()

    def run(frame: Buffer) -> Step:
        begun.append(frame)
        for number in in_steps(range(1000)):
            rounds.append(number)
        return FORWARD

    set_pause_steps()  # What ran before has counted rounds too.
    assert held.decide(run, stage.namespaces["acme"], 0) is TURN
    assert 0 < len(rounds) < 1000
    assert list(held.frames) == [b"first"]
    assert held.decide(run, stage.namespaces["acme"], LATER_NS) is FORWARD
    assert rounds == list(range(1000))
    assert begun == [b"first"]
    assert not held.frames


def test_a_frame_whose_work_raises_stays(stage: Stage) -> None:
    held = holding(b"first")

    def run(frame: Buffer) -> Step:
        raise ValueError("malformed")

    with pytest.raises(ValueError, match="malformed"):
        held.decide(run, stage.namespaces["acme"], LATER_NS)
    assert list(held.frames) == [b"first"]


def test_dropping_frames_gives_the_work_on_the_first(stage: Stage) -> None:
    held, ended = holding(b"first", b"second"), list[str]()
    frames = held.frames

    def run(frame: Buffer) -> Step:
        try:
            for _ in in_steps(range(1000)):
                pass
        finally:
            ended.append("cleaned up")
        return FORWARD

    assert held.decide(run, stage.namespaces["acme"], 0) is TURN
    work = held.drop()

    assert work is not None
    assert not ended
    work.cancel()
    assert ended == ["cleaned up"]
    assert held.drop() is None
    assert not held.frames
    assert held.frames is frames


def test_a_frame_is_tried_so_often_and_no_more(stage: Stage) -> None:
    def run(frame: Buffer) -> Step:
        return TopicIds(frozenset({bytes(16)}))

    held = holding(b"first")
    for _ in range(1 + MAX_TRIES):
        held.decide(run, stage.namespaces["acme"], LATER_NS)
    with pytest.raises(SessionEnded) as ended:
        held.decide(run, stage.namespaces["acme"], LATER_NS)
    assert ended.value.reason is CloseReason.TOO_MANY_TOPIC_IDS


def test_the_next_frame_starts_anew(stage: Stage) -> None:
    steps: list[Step] = [TopicIds(frozenset())] * MAX_TRIES
    held = holding(b"first", b"second")
    for step in [*steps, FORWARD, *steps, FORWARD]:
        held.decide(lambda _frame, step=step: step, stage.namespaces["acme"], LATER_NS)
    assert not held.frames


def test_room_is_used_up_by_one_frame(stage: Stage) -> None:
    held = holding(b"first")
    held.decide(lambda _frame: ROOM, stage.namespaces["acme"], LATER_NS)
    held.meet(ROOM)
    assert held.use(Room)
    assert not held.use(Room)
