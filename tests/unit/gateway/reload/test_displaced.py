from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

from bifrost.gateway.reload.displaced import Displaced
from bifrost.session.close_reason import CloseReason


def test_every_change_is_followed_by_a_look_at_all_connections() -> None:
    lost: set[str] = set()
    ends: list[str] = []

    def connection(name: str) -> Any:
        return SimpleNamespace(
            lost_place=lambda: (CloseReason.CREDENTIAL_REMOVED, "gone") if name in lost else None,
            end=lambda *_: ends.append(name),
        )

    open_ones = tuple(connection(name) for name in ("one", "other"))
    gateway: Any = SimpleNamespace(connections=lambda: open_ones)

    async def change() -> None:
        displaced = Displaced(gateway, "test")
        for name in ("one", "other"):
            lost.clear()
            lost.add(name)
            displaced.look()
            displaced.look()
            for _ in range(5):
                await asyncio.sleep(0)

    asyncio.run(change())

    assert ends == ["one", "other"]
