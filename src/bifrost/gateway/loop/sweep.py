"""A look at every connection, in parts: between two of them the event loop serves the connections.

A look takes a microsecond, or some 40 where it ends the connection. A client can have a thousand connections end in
one look at all of them, so the parts are bounded by time and not by their number.
"""

from collections.abc import Callable, Collection
from typing import TypeVar

from bifrost.gateway.loop.loop_guard import report
from bifrost.gateway.loop.steps import Breaks

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
    breaks = Breaks()
    for connection in tuple(connections):
        try:
            look(connection)
        except Exception as error:
            report(place, error)
        await breaks.take()
