import asyncio
from itertools import count
from typing import Any

import pytest

from bifrost.gateway.clients.idle_sweep import close_idle
from bifrost.gateway.loop import steps
from bifrost.gateway.loop.steps import STEP_S
from bifrost.session.close_reason import CloseReason


class Connection:
    """One that has received `received` bytes, and so many more before each look."""

    def __init__(self, received: int | None, grows_by: int = 0, fails: bool = False) -> None:
        self.received, self.grows_by, self.fails = received, grows_by, fails
        self.ended: tuple[CloseReason, str] | None = None
        self.looks = 0

    @property
    def bytes_received(self) -> int | None:
        self.looks += 1
        assert not self.fails
        if self.received is not None:
            self.received += self.grows_by
        return self.received

    def end(self, reason: CloseReason, detail: str) -> None:
        self.ended = reason, detail


def swept(connections: list[Connection], max_idle_ms: int, seconds: float) -> None:
    async def scenario() -> None:
        sweeping = asyncio.create_task(close_idle(connections, lambda: max_idle_ms))
        await asyncio.sleep(seconds)
        sweeping.cancel()

    asyncio.run(scenario())


def test_who_receives_nothing_for_too_long_is_closed() -> None:
    idle, busy, waiting = Connection(7), Connection(7, grows_by=1), Connection(None)

    swept([idle, busy, waiting], 150, 0.45)

    assert idle.ended is not None
    assert idle.ended[0] == CloseReason.IDLE
    assert idle.ended[1].startswith("nothing happened for ")
    assert (busy.ended, waiting.ended) == (None, None)


def test_the_time_begins_anew_when_something_was_going_on() -> None:
    one = Connection(7)

    async def scenario() -> None:
        sweeping = asyncio.create_task(close_idle([one], lambda: 250))
        for received in (7, None, 7, None):
            one.received = received
            await asyncio.sleep(0.15)
        sweeping.cancel()

    asyncio.run(scenario())

    assert one.looks >= 4
    assert one.ended is None


def test_the_rarer_the_longer_the_time_is() -> None:
    often, rarely = Connection(7), Connection(7)

    swept([often], 1000, 0.25)
    swept([rarely], 600_000, 0.25)

    assert (often.looks, rarely.looks) == (2, 0)


def test_others_have_their_turn_between(monkeypatch: pytest.MonkeyPatch) -> None:
    turns: list[float] = []
    sleep = asyncio.sleep

    async def counted(seconds: float) -> None:
        turns.append(seconds)
        await sleep(seconds)

    ticks = count()
    monkeypatch.setattr("bifrost.gateway.clients.idle_sweep.asyncio.sleep", counted)
    # A look takes a fifth of a step here, whatever the machine.
    now_ns = [0]

    def look_ns() -> int:
        now_ns[0] = int(next(ticks) * STEP_S / 5 * 1e9)
        return now_ns[0]

    monkeypatch.setattr(steps, "monotonic_ns", look_ns)
    monkeypatch.setattr(steps, "turn_until_ns", lambda most_ns, _least_ns: now_ns[0] + most_ns)
    connections = [Connection(7) for _ in range(60)]

    async def scenario() -> None:
        sweeping = asyncio.create_task(close_idle(connections, lambda: 50))
        await sleep(0.35)
        sweeping.cancel()

    asyncio.run(scenario())

    assert all(one.ended for one in connections)
    assert turns.count(0) >= 6


def test_a_mistake_of_ours_is_logged_and_does_not_end_the_looking(logged: list[dict[str, Any]]) -> None:
    wrong = Connection(7, fails=True)

    swept([wrong], 1000, 0.25)

    assert wrong.looks == 2
    assert [entry["event"] for entry in logged] == ["internal_error"] * 2


def test_one_connection_that_fails_keeps_no_other_open() -> None:
    wrong, idle = Connection(7, fails=True), Connection(7)

    swept([wrong, idle], 50, 1.5)

    assert idle.ended
