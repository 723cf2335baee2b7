"""Framers, in compiled code: see framer.pyx."""

from collections.abc import Callable

from bifrost.wire.errors import FrameTooLarge

class MemoryLimit:
    """Where a framer counts the bytes that it holds; this one has no limit. See `bifrost.forwarding.room`."""

class TakenRoom:
    """Room for an answer that is about to be made; it is given back with this, or with the memory of the answer."""

def take_room(room: MemoryLimit, size: int) -> TakenRoom | None:
    """Take room for an answer of so many bytes; None: there is none, or others wait for it.

    As for answers of brokers nothing is taken for a small one, of up to 32 KiB.
    """

class FrameConsumer:
    """What may take small frames from where they were received; this one takes none. See `bifrost.forwarding`."""

class Framer:
    """Splits the byte stream of one connection into frames; has the shape of asyncio's BufferedProtocol.

    A relay may let the rest of a large frame pass as it comes (rewriting.pyx).

    Args:
        max_frame_bytes: the largest frame accepted, without its 4-byte length.
    """

    max_frame_bytes: int
    """May be changed at any time; holds for the frames whose length is read from then on."""

    def __init__(self, max_frame_bytes: int) -> None: ...
    def enter(self, room: MemoryLimit | None, *, is_answer: bool = False, is_frugal: bool = False) -> None:
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

def spare_bytes() -> int:
    """Return how much memory is kept for frames to come, of all framers, in bytes; at most 10 MiB."""

def release_spares() -> int:
    """Give back to the system what of that memory has not been needed since the last call; return how many bytes.

    With it goes what malloc keeps, where that is glibc's.
    """

def trim() -> None:
    """Give back to the system the whole pages that malloc keeps, where that is glibc's."""

def call_when_leaving(callback: Callable[[], object] | None) -> None:
    """From now on give large blocks back in parts: to unmap 64 MiB at once takes 10 ms.

    Args:
        callback: called when there are parts for `unmap_part`; None: give each block back at once.
    """

def unmap_part() -> bool:
    """Give 4 MiB at most of the blocks that leave back to the system; return whether there are more."""
