"""Turns in which nothing is done at once: whatever can pause does so, as often as it can."""

from collections.abc import Iterator
from contextlib import contextmanager

from bifrost.forwarding.clock import monotonic_ns
from bifrost.forwarding.turns import Turns
from bifrost.wire.steps import set_pause_steps


class HastyTurns(Turns):
    """Gives slices that are over when the work first looks at the clock."""

    def __init__(self) -> None:
        """Let the caller give the turns."""
        super().__init__(lambda _call: None, monotonic_ns)
        self.given = 0

    def until_ns(self) -> int:
        """Return a time that has come before anything is done."""
        self.given += 1
        return monotonic_ns() + 1_000


@contextmanager
def pausing_everywhere() -> Iterator[None]:
    """Let the engine look at the clock in every round of a loop."""
    set_pause_steps(0)
    try:
        yield
    finally:
        set_pause_steps()
