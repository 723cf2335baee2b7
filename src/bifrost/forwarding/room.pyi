"""Rooms for frames that are held: see room.pyx."""

from collections.abc import Callable

from bifrost.wire.framer import MemoryLimit

LARGE_BYTES: int
"""Frames above this leave a part of the process's room to all others, in bytes."""

class Room(MemoryLimit):
    """Bytes of frames that are held, and the most that may be: see room.pyx.

    Args:
        whole: the room of the process, in which all of it counts as well.
        most: in bytes.
        for_small: how much of it frames of more than 1 MiB leave to others.
    """

    most: int
    for_small: int
    waiting: int
    """How many connections wait for room here; while any does, a further one with a large frame waits too."""
    on_room: Callable[[], object] | None
    """Called when room was given back and a connection waits."""

    def __init__(self, whole: Room | None = None, most: int = ..., for_small: int = 0) -> None: ...
    @property
    def whole(self) -> Room | None:
        """The room of the process."""

    @property
    def used(self) -> int:
        """Bytes held."""

    @property
    def blocks(self) -> int:
        """Of these, bytes of large frames, counted by their whole size."""

    @property
    def answers(self) -> int:
        """Of these, bytes of responses."""

    @property
    def is_full(self) -> bool:
        """Whether no connection may begin another frame, here or in the process."""
