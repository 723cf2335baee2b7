import asyncio
from collections import Counter
from typing import Any

import pytest

from bifrost.gateway.loop import steps
from bifrost.gateway.loop.loop_guard import InternalErrors
from bifrost.gateway.loop.steps import STEP_S
from bifrost.gateway.loop.sweep import visit


def test_every_connection_is_looked_at_once() -> None:
    seen: list[int] = []

    asyncio.run(visit(range(3_000), seen.append, "test"))

    assert seen == list(range(3_000))


def test_others_have_their_turn_when_the_time_of_a_part_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    seen_by_others: list[int] = []
    # Three looks take a little longer than one part may.
    monkeypatch.setattr(steps, "monotonic_ns", lambda: int(len(seen) * STEP_S / 2.5 * 1e9))
    monkeypatch.setattr(steps, "turn_until_ns", lambda most_ns, _least_ns: steps.monotonic_ns() + most_ns)

    async def other() -> None:
        while True:
            seen_by_others.append(len(seen))
            await asyncio.sleep(0)

    async def scenario() -> None:
        others = asyncio.create_task(other())
        await visit(range(7), seen.append, "test")
        others.cancel()

    asyncio.run(scenario())

    assert seen_by_others == [3, 6]


def test_a_connection_may_end_while_it_is_looked_at() -> None:
    connections = {1, 2, 3}

    asyncio.run(visit(connections, connections.remove, "test"))

    assert not connections


def test_a_look_that_fails_is_counted_and_logged_and_the_others_go_on(logged: list[dict[str, Any]]) -> None:
    seen: list[int] = []
    errors = InternalErrors(Counter())

    def look(connection: int) -> None:
        if connection == 1:
            raise ValueError("a bug")
        seen.append(connection)

    async def scenario() -> None:
        errors.install(asyncio.get_running_loop())
        await visit([0, 1, 2], look, "idle_sweep")

    asyncio.run(scenario())

    assert seen == [0, 2]
    assert errors.counts == {"idle_sweep": 1}
    assert [(entry["event"], entry["place"]) for entry in logged] == [("internal_error", "idle_sweep")]
