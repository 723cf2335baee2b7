"""Turns of tenants whose look-ups wait: one after the other, as their budgets allow, until none waits."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import wraps

from bifrost.forwarding.look_up_turns import TENANT_BURST
from bifrost.gateway.errors import BrokerError
from bifrost.gateway.loop.look_up_line import LookUpLine


class Scene:
    """Tenants with a number of turns to have."""

    def __init__(self) -> None:
        self.now_ms = 1_000
        self.left: dict[str, int] = {}
        self.had: list[str] = []
        self.cost = 1.0
        self.failure: Exception | None = None
        self.failed: list[str] = []
        self.line = LookUpLine("look_ups", self.have_turn, self.fail, lambda: self.now_ms)

    def come(self, tenant: str, turns: int = 1) -> bool:
        self.left[tenant] = turns
        return self.line.enter(tenant)

    async def have_turn(self, tenant: str) -> None:
        await asyncio.sleep(0)
        if self.failure is not None:
            raise self.failure
        self.had.append(tenant)
        self.line.charge(tenant, self.cost)
        self.left[tenant] -= 1
        if self.left[tenant]:
            self.line.enter(tenant)

    def fail(self, error: BrokerError) -> None:
        self.failed.append(str(error))


def played(play: Callable[[], Awaitable[None]]) -> Callable[[], None]:
    """Run a test in an event loop of its own."""

    @wraps(play)
    def test() -> None:
        async def run() -> None:
            await play()

        asyncio.run(run())

    return test


async def turns(count: int = 30) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


@played
async def test_tenants_have_turns_one_after_the_other() -> None:
    scene = Scene()
    assert scene.come("acme", 3)
    assert scene.come("globex", 2)

    await turns()

    assert scene.had == ["acme", "globex", "acme", "globex", "acme"]
    assert scene.line._task is None
    assert scene.come("acme")
    await turns()
    assert scene.had[5:] == ["acme"]


@played
async def test_a_spent_budget_keeps_its_tenant_waiting_alone() -> None:
    scene = Scene()
    scene.cost = TENANT_BURST + 1.0
    scene.come("acme")
    await turns()

    scene.cost = 1.0
    assert not scene.come("acme")
    await turns()
    assert scene.had == ["acme"]
    scene.come("globex")
    await turns()
    assert scene.had == ["acme", "globex"]

    scene.now_ms += 1_000
    scene.come("initech")  # Each tenant that comes lets the line look at the time again.
    await turns()
    assert scene.had == ["acme", "globex", "acme", "initech"]


@played
async def test_what_a_turn_raises_fails_all_that_wait_and_the_next_may_succeed() -> None:
    scene = Scene()
    scene.failure = BrokerError("no broker answers")
    scene.come("acme")
    scene.come("globex")
    await turns()
    assert (scene.had, scene.failed) == ([], ["no broker answers"])

    scene.failure = None
    scene.come("globex")
    await turns()
    assert scene.had == ["globex"]

    scene.failure = ValueError("an error of the gateway's own")
    scene.come("acme")
    await turns()
    assert scene.failed[-1] == "look-ups have stopped"
