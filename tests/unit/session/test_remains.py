import gc
import time

import pytest

from bifrost.forwarding.clock import monotonic_ns
from bifrost.forwarding.turns import Turns
from bifrost.forwarding.work import Work
from bifrost.session.needs import TURN
from bifrost.session.remains import Remains
from bifrost.wire.errors import MalformedFrame
from support.stage import messages
from support.stage.hasty_turns import HastyTurns, pausing_everywhere
from support.stage.playbook import request_frame
from support.stage.stage import Stage


def create(count: int) -> bytes:
    topics = [
        {"name": f"topic-{number}", "num_partitions": 1, "replication_factor": 1} for number in range(count)
    ]
    return request_frame(messages.CreateTopicsRequest(topics=topics, timeout_ms=1000), 5, 7)


def test_work_goes_on_to_its_end_and_nothing_comes_of_it(stage: Stage) -> None:
    session = stage.play("initech").session
    turns = stage.shared.turns = HastyTurns()
    with pausing_everywhere():
        session.receive_from_client(create(100))
        while session._requests._work is None:  # The slice may be over before the work begins.
            assert session.needs == (TURN,)
            session.meet(TURN)
        remains = session.close()
        assert remains is not None

        slices = 1
        while remains.take_slice():
            slices += 1

    assert slices > 100
    assert turns.given > slices
    assert not session.to_broker
    assert not session.to_client
    assert session.in_flight == stage.shared.lanes.in_flight_limits.load("initech").in_flight == 0


def test_a_connection_without_work_leaves_nothing(stage: Stage) -> None:
    assert stage.play("initech").session.close() is None


def test_what_would_have_ended_the_connection_ends_the_work_only(stage: Stage) -> None:
    def fails() -> bool:
        raise MalformedFrame("it cannot be read", 0)

    cleaned: list[bool] = []
    works = [Work(fails, stage.namespaces["acme"]), Work(lambda: True, stage.namespaces["acme"])]
    remains = Remains(works, lambda: monotonic_ns() + 10**9, lambda: cleaned.append(True))

    assert remains.take_slice()
    assert not remains.take_slice()
    assert len(cleaned) == 2


def test_it_has_the_turns_of_its_tenant_before_the_others_of_that() -> None:
    class Named:
        def __init__(self, name: str, slices: int) -> None:
            self.name, self.slices = name, slices

        def take_slice(self) -> bool:
            had.append(self.name)
            self.slices -= 1
            return self.slices > 0

    had: list[str] = []
    rounds: list[object] = []
    turns = Turns(rounds.append, monotonic_ns)
    turns.wait("acme", Named("connection", 1))
    turns.wait("globex", Named("other tenant", 2))
    turns.work_off("acme", Named("remains", 2))
    turns.work_off(None, Named("no tenant", 1))
    turns.work_off("acme", None)

    while rounds:
        rounds.pop(0)()  # type: ignore[operator]

    assert had == ["remains", "other tenant", "remains", "other tenant", "connection"]


@pytest.mark.parametrize("count", [20_000])
def test_no_slice_takes_as_long_as_to_free_all_at_once(stage: Stage, count: int) -> None:
    session = stage.play("initech").session
    frame = create(count)
    stage.shared.turns = Turns(lambda _call: None, monotonic_ns)
    gc.disable()
    try:
        session.receive_from_client(frame)
        assert session.needs == (TURN,)
        remains = session.close()
        assert remains is not None
        longest_s, more = 0.0, True
        stage.shared.turns._is_scheduled = True
        while more:
            stage.shared.turns._until_ns = monotonic_ns() + 1_000_000
            began_s = time.thread_time()
            more = remains.take_slice()
            longest_s = max(longest_s, time.thread_time() - began_s)
    finally:
        gc.enable()

    assert longest_s < 0.008
