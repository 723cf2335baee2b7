"""Work that pauses gives the same result as work that does not, and other work does not disturb it."""

import contextlib
import gc
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from greenlet import getcurrent, greenlet

from bifrost.forwarding import work as work_module
from bifrost.forwarding.work import MAX_IDLE, Work
from bifrost.session.needs import TURN
from bifrost.wire.messages import FindCoordinatorRequest, FindCoordinatorResponse
from bifrost.wire.steps import in_steps
from support.physical_names import physical_name
from support.stage.hasty_turns import HastyTurns, pausing_everywhere
from support.stage.playbook import (
    broker_answers,
    client_sends,
    request_frame,
    split_frames,
    to_broker,
    to_client,
)
from support.stage.stage import Stage

LATER_NS = 2**62


def coordinators(keys: list[str]) -> FindCoordinatorResponse:
    """Answer for keys."""
    one = FindCoordinatorResponse.Coordinator
    return FindCoordinatorResponse(
        coordinators=[one(key=key, node_id=-1, host="", port=-1, error_code=15) for key in keys]
    )


def find_coordinator(correlation_id: int, keys: list[str]) -> bytes:
    """Give a request's frame."""
    request = FindCoordinatorRequest(key_type=0, coordinator_keys=keys)
    return request_frame(request, 6, correlation_id, b"client", b"\0")


def test_work_pauses_when_its_time_is_up_and_goes_on_from_there(stage: Stage) -> None:
    seen: list[int] = []

    def run() -> bool:
        for number in in_steps(range(1000)):
            seen.append(number)
        return True

    work = Work(run, stage.namespaces["acme"])

    assert work.go_on(0) is None
    assert len(seen) < 1000
    assert work.go_on(LATER_NS) is True
    assert seen == list(range(1000))


def test_what_work_raises_reaches_the_caller_that_goes_on_with_it(stage: Stage) -> None:
    def run() -> bool:
        for _ in in_steps(range(1000)):
            pass
        raise ValueError("at the end")

    work = Work(run, stage.namespaces["acme"])

    assert work.go_on(0) is None
    with pytest.raises(ValueError, match="at the end"):
        work.go_on(LATER_NS)


def test_work_is_done_by_what_has_done_the_work_before(stage: Stage) -> None:
    seen: list[greenlet] = []

    def run() -> bool:
        seen.append(getcurrent())
        return len(seen) == 1 or bool(1 // 0)

    for _ in range(2):
        work = Work(run, stage.namespaces["acme"])
        with contextlib.suppress(ZeroDivisionError):
            assert work.go_on(LATER_NS) is True
    last = Work(lambda: seen.append(getcurrent()) or "result", stage.namespaces["acme"])  # type: ignore[func-returns-value]

    assert last.go_on(LATER_NS) == "result"
    assert len(seen) == 3
    assert len(set(map(id, seen))) == 1
    assert getcurrent() is not seen[0]


def test_so_many_are_kept_of_those_that_were_used_at_once(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    idle: list[greenlet] = []
    monkeypatch.setattr(work_module, "_idle", idle)

    def run() -> int:
        return sum(in_steps(range(1_000)))

    works = [Work(run, stage.namespaces["acme"]) for _ in range(MAX_IDLE + 3)]
    assert [one.go_on(0) for one in works] == [None] * len(works), "each has paused"
    assert [one.go_on(LATER_NS) for one in works] == [499_500] * len(works)

    assert len(idle) == len(set(map(id, idle))) == MAX_IDLE


def test_work_of_another_thread_is_done_in_that_one(stage: Stage) -> None:
    def go_on() -> int | None:
        return Work(threading.get_ident, stage.namespaces["acme"]).go_on(LATER_NS)

    assert go_on() == threading.get_ident()
    with ThreadPoolExecutor(1) as threads:
        assert threads.submit(go_on).result() == threads.submit(threading.get_ident).result()
    assert go_on() == threading.get_ident()


def test_what_was_raised_is_not_kept(stage: Stage) -> None:
    class Kept(Exception):
        pass

    def run() -> None:
        raise Kept

    with contextlib.suppress(Kept):
        Work(run, stage.namespaces["acme"]).go_on(LATER_NS)

    gc.collect()
    assert not [one for one in gc.get_objects() if isinstance(one, Kept)]


def test_cancelled_work_cleans_up(stage: Stage) -> None:
    ended: list[str] = []

    def run() -> bool:
        try:
            for _ in in_steps(range(1000)):
                pass
        finally:
            ended.append("cleaned up")
        return True

    work = Work(run, stage.namespaces["acme"])
    work.go_on(0)
    work.cancel()

    assert ended == ["cleaned up"]


def test_ids_that_two_messages_need_are_kept_apart(stage: Stage) -> None:
    namespace = stage.namespaces["acme"]

    def needs(topic_id: bytes) -> bool:
        for _ in in_steps(range(1000)):
            namespace.unresolved.add(topic_id)
        return namespace.take_unresolved() == {topic_id}

    first, second = Work(lambda: needs(b"a"), namespace), Work(lambda: needs(b"b"), namespace)
    assert first.go_on(0) is None
    assert second.go_on(0) is None

    assert first.go_on(LATER_NS) is True
    assert second.go_on(LATER_NS) is True


def test_a_large_request_is_done_in_slices(stage: Stage) -> None:
    turns = stage.shared.turns = HastyTurns()
    keys = [f"group-{number}" for number in range(2000)]

    with pausing_everywhere():
        book = (
            stage.play()
            >> client_sends(FindCoordinatorRequest(key_type=0, coordinator_keys=keys))
            << to_broker(
                FindCoordinatorRequest(
                    key_type=0, coordinator_keys=[physical_name("acme", key) for key in keys]
                )
            )
            >> broker_answers(coordinators([physical_name("acme", key) for key in keys]))
            << to_client(coordinators(keys))
        )
        assert book

    assert turns.given > len(keys)


def test_what_comes_behind_a_request_that_pauses_waits_for_it(stage: Stage) -> None:
    book = stage.play()
    stage.shared.turns = HastyTurns()
    session = book.session

    with pausing_everywhere():
        session.receive_from_client(find_coordinator(1, ["a", "b"]))
        session.receive_from_client(find_coordinator(2, ["c"]))
        assert TURN in session.needs
        assert session.is_holding
        assert not session.to_broker
        while TURN in session.needs:
            session.meet(TURN)

    frames = split_frames(b"".join(session.to_broker))
    assert [int.from_bytes(frame[4:8], "big") for frame in frames] == [1, 2]
    assert session.in_flight == 2


def test_a_connection_that_ends_leaves_nothing_to_send(stage: Stage) -> None:
    stage.shared.turns = HastyTurns()
    has_begun = False

    with pausing_everywhere():
        while not has_begun:  # A slice is so short that it may be over before the work begins.
            session = stage.play().session
            session.receive_from_client(find_coordinator(1, ["a", "b"]))
            has_begun = session.close() is not None
        session.meet(TURN)

    assert not session.to_broker
    assert session.in_flight == 0


def test_a_session_that_stops_drops_what_it_has_not_sent_on(stage: Stage) -> None:
    book = stage.play()
    stage.shared.turns = HastyTurns()
    session = book.session

    with pausing_everywhere():
        session.receive_from_client(find_coordinator(1, ["a", "b"]))
        session.stop()

    assert session.has_finished
