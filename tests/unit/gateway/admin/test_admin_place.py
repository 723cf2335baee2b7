"""Where the operator's port is while the configuration changes; with sockets in tests/kafka."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from bifrost.config.model import Config
from bifrost.gateway.admin.admin_place import AdminPlace
from bifrost.gateway.errors import StartError
from unit.gateway.test_gateway import CONFIG

TAKEN = 1


class Port:
    """Stands for an Admin: it is open or not."""

    def __init__(self, port: int) -> None:
        self.port, self.is_open = port, False
        self.replaced: Any = None

    async def open(self, replaces: Port | None = None) -> None:
        if self.port == TAKEN:
            raise StartError("admin: port 1 on 127.0.0.1 is in use")
        self.is_open, self.replaced = True, replaces

    def close(self) -> None:
        self.is_open = False


def config(port: int | None) -> Config:
    admin = {} if port is None else {"admin": {"port": port}}
    return Config.model_validate({**CONFIG, "proxy": {**CONFIG["proxy"], **admin}})


def played(first: int | None, scenario: Callable[[AdminPlace], Awaitable[None]]) -> list[Port]:
    """Play a scenario; return all ports that were made."""
    made: list[Port] = []

    def build(config: Config) -> Any:
        if config.proxy.admin is None:
            return None
        made.append(Port(config.proxy.admin.port))
        return made[-1]

    async def run() -> None:
        place = AdminPlace(config(first), build)
        await place.open()
        await scenario(place)

    asyncio.run(run())
    return made


def states(ports: list[Port]) -> list[tuple[int, bool]]:
    return [(one.port, one.is_open) for one in ports]


def test_the_new_port_is_open_before_the_old_one_closes() -> None:
    async def scenario(place: AdminPlace) -> None:
        move = await place.prepare(config(9405))
        before = place.admin
        assert isinstance(before, Port)
        assert (before.port, before.is_open) == (9404, True)
        move.take_effect()

    old, new = played(9404, scenario)

    assert states([old, new]) == [(9404, False), (9405, True)]
    assert new.replaced is old


def test_a_port_that_is_taken_changes_nothing() -> None:
    async def scenario(place: AdminPlace) -> None:
        with pytest.raises(StartError, match="is in use"):
            await place.prepare(config(TAKEN))

    assert states(played(9404, scenario)) == [(9404, True), (TAKEN, False)]


def test_a_move_that_is_abandoned_closes_the_new_port() -> None:
    async def scenario(place: AdminPlace) -> None:
        (await place.prepare(config(9405))).abandon()
        with pytest.raises(ZeroDivisionError):
            async with place.moved(config(9406)):
                raise ZeroDivisionError

    assert states(played(9404, scenario)) == [(9404, True), (9405, False), (9406, False)]


def test_a_port_that_stays_is_left_alone() -> None:
    async def scenario(place: AdminPlace) -> None:
        async with place.moved(config(9404)):
            pass
        (await place.prepare(config(9404))).abandon()

    assert states(played(9404, scenario)) == [(9404, True)]


def test_a_port_goes_and_comes() -> None:
    async def scenario(place: AdminPlace) -> None:
        async with place.moved(config(None)):
            pass
        assert place.admin is None
        async with place.moved(config(9404)):
            pass

    assert states(played(9404, scenario)) == [(9404, False), (9404, True)]


def test_it_closes_with_the_gateway() -> None:
    async def scenario(place: AdminPlace) -> None:
        async with place.moved(config(9405)):
            pass
        place.close()

    assert states(played(None, scenario)) == [(9405, False)]
