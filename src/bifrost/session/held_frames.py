"""Frames of one direction that a session holds: those it cannot send on yet, in the order in which they came.

The first of them is worked on until it is done. It stays at its place until then, because the work may pause (`Work`),
and because a message that needs an answer of the broker first is worked on again from its beginning.
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
        """The engine looks at it too (`Forwarding`): it is always the same object."""
        self._work: Work | None = None
        """The work on the first frame, while it has paused."""

    def go_on(self, run: Callable[[Buffer], bool], namespace: Namespace, until_ns: int) -> bool | None:
        """Work on the first frame until `until_ns`, or to the end; a frame that is done is removed.

        Args:
            run: works on a frame; returns False when the frame has to be given to it again later. It is not used if
                the work on this frame has paused: that work goes on.
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
        """Remove all frames; return the work that has paused, which is to be cancelled or worked off."""
        work, self._work = self._work, None
        self.frames.clear()
        return work
