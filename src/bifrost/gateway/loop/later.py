"""Calls that the running event loop makes later, and how much of its turn is left."""

import asyncio
from collections.abc import Callable

from bifrost.gateway.loop.loop_turn import turn_of


def later(delay_s: float, call: Callable[[], None]) -> None:
    """Have the loop call this after a time, in seconds."""
    asyncio.get_running_loop().call_later(delay_s, call)


def timer(delay_s: float, call: Callable[[], None]) -> asyncio.TimerHandle:
    """Have the loop call this after a time, in seconds; return what cancels it."""
    return asyncio.get_running_loop().call_later(delay_s, call)


def soon(call: Callable[[], None]) -> None:
    """Have the loop call this in its next turn."""
    asyncio.get_running_loop().call_soon(call)


def turn_until_ns(most_ns: int, least_ns: int) -> int:
    """Return until when a work may go on in the loop's turn: see `LoopTurn.until_ns`."""
    return turn_of(asyncio.get_running_loop()).until_ns(most_ns, least_ns)
