"""What can happen to the bytes of one direction of a connection, and where a frame has its middle. No I/O."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    """What a network does to the bytes of one direction; several at once where that makes sense."""

    latency_s: float = 0.0
    """How much later bytes arrive; others follow meanwhile, as over a long line."""
    bytes_per_s: int | None = None
    """How many bytes of each connection arrive in a second; None: all."""
    cut_at_frame: int | None = None
    """The number of the first frame of a connection that is cut in its middle: both sides are closed there."""
    is_reset: bool = False
    """Whether the cut is a reset (RST) instead of an end (FIN)."""
    is_silent: bool = False
    """Whether a connection that is used meanwhile never gets a byte again, and is not closed either."""


NO_FAULT = Fault()


class FrameCount:
    """Counts the frames of Kafka's protocol in one direction: 4 bytes of length, then so many."""

    def __init__(self) -> None:
        self.begun = 0
        """Frames whose length is known, the unfinished one among them."""
        self._head = b""
        self._left = self._to_middle = 0

    def pass_over(self, data: bytes, cut_at_frame: int | None = None) -> int | None:
        """Count the frames of the next bytes.

        Args:
            data: the bytes that follow those of the last call.
            cut_at_frame: the number of a frame, from 1 on.
        Returns:
            Where in `data` the first frame from that number on has its middle; None: not in these bytes.
        """
        position = 0
        while position < len(data):
            if self._left == 0:
                taken = data[position : position + 4 - len(self._head)]
                position += len(taken)
                self._head += taken
                if len(self._head) == 4:
                    self._left = int.from_bytes(self._head, "big")
                    self._to_middle = self._left // 2
                    self._head = b""
                    self.begun += 1
                continue
            step = min(self._left, len(data) - position)
            if cut_at_frame is not None and self.begun >= cut_at_frame and 0 <= self._to_middle <= step:
                return position + self._to_middle
            position += step
            self._left -= step
            self._to_middle -= step
        return None
