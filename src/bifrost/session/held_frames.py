"""Frames of one direction that a session cannot send on yet, in the order in which they came.

The session works on the first frame until it is done. Until then the frame stays in the queue, because the work may
pause (`Work`), and because a message that first needs an answer of the broker is worked on again from its beginning.
"""

from collections import deque
from collections.abc import Callable
from functools import partial

from bifrost.forwarding.work import Work
from bifrost.session.in_flight import Buffer
from bifrost.tenancy.namespace import Namespace


class HeldFrames:
    """The frames of one direction, and the work on the first of them."""

    __slots__ = ("_work", "frames")

    def __init__(self) -> None:
        """Hold nothing."""
        self.frames: deque[Buffer] = deque()
        """The engine reads this queue too (`Forwarding`), so it is always the same object."""
        self._work: Work | None = None
        """The work on the first frame, while it has paused."""

    def go_on(self, run: Callable[[Buffer], bool], namespace: Namespace, until_ns: int) -> bool | None:
        """Work on the first frame until `until_ns`, or to the end; a frame that is done is removed.

        Args:
            run: works on a frame; returns False when it needs the frame again later. It is not used if the work on
                this frame has paused: that work goes on.
            namespace: whose names the work uses.
            until_ns: a time of the engine's monotonic clock.
        Returns:
            What `run` returned; None: the work has only paused.
        Raises:
            Exception: what `run` raised; the frame is still there.
        """
        work = self._work or Work(partial(run, self.frames[0]), namespace)
        self._work = None
        is_done = work.go_on(until_ns)
        if is_done is None:
            self._work = work
        elif is_done:
            self.frames.popleft()
        return is_done

    def drop(self) -> Work | None:
        """Remove all frames; return the paused work, which the caller must cancel or work off."""
        work, self._work = self._work, None
        self.frames.clear()
        return work
