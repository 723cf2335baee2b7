import asyncio
from typing import Any

import pytest

from bifrost.gateway.idle_sweep import AT_ONCE, close_idle
from bifrost.session.close_reason import CloseReason


class Connection:
    """One that was idle for so long."""

    def __init__(self, idle_ms: int, fails: bool = False) -> None:
        self.idle, self.fails = idle_ms, fails
        self.ended: tuple[CloseReason, str] | None = None
        self.looks = 0

    def idle_ms(self, now_ms: int) -> int:
        assert now_ms > 0
        self.looks += 1
        assert not self.fails
        return self.idle

    def end(self, reason: CloseReason, detail: str) -> None:
        self.ended = reason, detail


def swept(connections: list[Connection], max_idle_ms: int, seconds: float) -> None:
    async def scenario() -> None:
        sweeping = asyncio.create_task(close_idle(connections, lambda: max_idle_ms))
        await asyncio.sleep(seconds)
        sweeping.cancel()

    asyncio.run(scenario())


def test_who_was_idle_for_too_long_is_closed() -> None:
    idle, busy = Connection(1000), Connection(999)

    swept([idle, busy], 1000, 0.15)

    assert idle.ended == (CloseReason.IDLE, "nothing happened for 1000 ms")
    assert busy.ended is None


def test_the_rarer_the_longer_the_time_is() -> None:
    often, rarely = Connection(0), Connection(0)

    swept([often], 1000, 0.25)
    swept([rarely], 600_000, 0.25)

    assert (often.looks, rarely.looks) == (2, 0)


def test_others_have_their_turn_between(monkeypatch: pytest.MonkeyPatch) -> None:
    turns: list[float] = []
    sleep = asyncio.sleep

    async def counted(seconds: float) -> None:
        turns.append(seconds)
        await sleep(seconds)

    monkeypatch.setattr("bifrost.gateway.idle_sweep.asyncio.sleep", counted)
    connections = [Connection(1000) for _ in range(3 * AT_ONCE)]

    async def scenario() -> None:
        sweeping = asyncio.create_task(close_idle(connections, lambda: 1000))
        await sleep(0.15)
        sweeping.cancel()

    asyncio.run(scenario())

    assert all(one.ended for one in connections)
    assert turns.count(0) == 3


def test_a_mistake_of_ours_is_logged_and_does_not_end_the_looking(logged: list[dict[str, Any]]) -> None:
    wrong = Connection(0, fails=True)

    swept([wrong], 1000, 0.25)

    assert wrong.looks == 2
    assert [entry["event"] for entry in logged] == ["internal_error"] * 2
