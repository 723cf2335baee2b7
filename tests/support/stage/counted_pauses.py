"""Counts how often code could have paused, so that a test sees that no part of its work is one long step."""

from collections.abc import Iterator
from contextlib import contextmanager

from bifrost.wire.steps import set_pause


class Pauses:
    """How often."""

    count = 0

    def note(self) -> None:
        """Count one."""
        self.count += 1


@contextmanager
def counted_pauses() -> Iterator[Pauses]:
    """Count the pauses until the end of the block; nothing is done in them."""
    pauses = Pauses()
    set_pause(pauses.note)
    try:
        yield pauses
    finally:
        set_pause(None)
