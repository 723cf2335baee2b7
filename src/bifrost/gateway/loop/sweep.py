"""A look at every connection, in parts: between two of them the event loop serves the connections."""

import asyncio
from collections.abc import Callable, Collection
from typing import TypeVar

from bifrost.gateway.loop.loop_guard import report

AT_ONCE = 500
"""Connections looked at before the event loop serves others: half a millisecond's work."""

_Connection = TypeVar("_Connection")


async def visit(
    connections: Collection[_Connection], look: Callable[[_Connection], object], place: str
) -> None:
    """Look at every connection once.

    Args:
        connections: those that are open; they come and go meanwhile.
        look: called with each connection. An exception in it is reported, and the other connections are looked at.
        place: the place of such an exception for `report`.
    """
    for number, connection in enumerate(tuple(connections), 1):
        try:
            look(connection)
        except Exception as error:
            report(place, error)
        if number % AT_ONCE == 0:
            await asyncio.sleep(0)
