"""Framers and rooms for their frames, in compiled code: see engine_framer.pxi, engine_room.pxi."""

from collections.abc import Callable

from bifrost.wire.errors import FrameTooLarge

LARGE_BYTES: int
"""Frames above this leave a part of the process's room to all others, in bytes."""

class Room:
    """Bytes of frames that are held, and the most that may be: see engine_room.pxi.

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

class Framer:
    """Splits the byte stream of one connection into frames; has the shape of asyncio's BufferedProtocol.

    A leg may let the rest of a large frame pass as it comes (engine_stream.pxi).

    Args:
        max_frame_bytes: the largest frame accepted, without its 4-byte length.
    """

    max_frame_bytes: int
    """May be changed at any time; holds for the frames whose length is read from then on."""

    def __init__(self, max_frame_bytes: int) -> None: ...
    def enter(self, room: Room | None, *, is_answer: bool = False, is_frugal: bool = False) -> None:
        """Count what is held in `room` from now on.

        Args:
            room: the tenant's, or that of all who have not authenticated.
            is_answer: the frames are responses, of which one may always go on.
            is_frugal: receive at most 4 KiB at once, and hold no more memory than frames need.
        """

    def leave(self) -> None:
        """Stop counting: the connection is over."""

    def see(self) -> bool:
        """Return whether the frame under way has room; else it `is_blocked`, and nothing more may be received."""

    def retry(self) -> bool:
        """Return whether there is room now; called when it is the connection's turn."""

    @property
    def is_blocked(self) -> bool:
        """Whether nothing may be received until `retry` finds room."""

    @property
    def held_in(self) -> Room | None:
        """The room in which its bytes are counted."""

    @property
    def wanted(self) -> int:
        """Bytes of room that it waits for."""

    @property
    def unfinished(self) -> int | None:
        """Which frame is unfinished, by where in the stream it began; None: there is none that may be received."""

    @property
    def failed(self) -> FrameTooLarge | None:
        """The error after which no further frame can be found, None before."""

    @property
    def first_bytes(self) -> bytes:
        """The first 16 bytes ever received, to tell TLS and HTTP by."""

    @property
    def buffered(self) -> int:
        """Bytes held of an unfinished frame, its length included."""

    @property
    def received(self) -> int:
        """Bytes received in all, lengths included, up to the first that is no frame."""

    def get_buffer(self, sizehint: int = -1) -> memoryview:
        """Return writable memory to receive into, never empty; the hint is ignored.

        Hold it until `buffer_updated`: memory that is not held and into which nothing was received may go to the next
        framer that asks.
        """

    def buffer_updated(self, size: int) -> list[bytes | memoryview]:
        """Take note that `size` bytes were received into the last buffer; return the frames whole now.

        A frame is a `bytes` of its own or a read-only memoryview, which stays valid as long as it is held. One of
        less than 8 KiB holds 64 KiB: copy what is to be kept.

        Raises:
            FrameTooLarge: a length is negative, zero or above the limit. The frames before it are returned
                first, and the next call raises, whatever its size. `failed` tells at once.
            ValueError: `size` is more than the buffer had.
        """
