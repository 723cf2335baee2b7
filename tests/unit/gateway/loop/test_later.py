"""The running event loop calls later what it is given."""

import asyncio

from bifrost.gateway.loop.later import later, soon


def test_what_is_due_soon_is_called_first_and_nothing_at_once() -> None:
    called: list[str] = []

    async def play() -> list[str]:
        later(0.01, lambda: called.append("later"))
        soon(lambda: called.append("soon"))
        at_once = list(called)
        await asyncio.sleep(0.1)
        return at_once

    assert asyncio.run(play()) == []
    assert called == ["soon", "later"]
