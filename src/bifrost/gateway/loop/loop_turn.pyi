"""Divides one turn of the event loop among all work that can wait for the next one: see loop_turn.pyx."""

import asyncio

class LoopTurn:
    """The turn that an event loop is in."""

    def until_ns(self, most_ns: int, least_ns: int) -> int:
        """Return until when one kind of work may go on in this turn, by the engine's monotonic clock.

        Args:
            most_ns: time that it may take where others have left as much, in nanoseconds.
            least_ns: time that it may take in any case.
        """

def turn_of(loop: asyncio.AbstractEventLoop) -> LoopTurn:
    """Return the turn of an event loop, the same for all that ask."""
