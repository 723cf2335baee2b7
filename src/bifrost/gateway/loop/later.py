"""Calls that the running event loop makes later."""

import asyncio
from collections.abc import Callable


def later(delay_s: float, call: Callable[[], None]) -> None:
    """Have the loop call this after a time, in seconds."""
    asyncio.get_running_loop().call_later(delay_s, call)


def soon(call: Callable[[], None]) -> None:
    """Have the loop call this in its next turn."""
    asyncio.get_running_loop().call_soon(call)
