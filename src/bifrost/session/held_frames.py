"""Frames of one direction that a session cannot send on yet, in the order in which they came.

The session works on the first frame until it is decided. Until then the frame stays in the queue, because the work may
pause (`Work`), and because a message that needs something first is worked on again from its beginning.
"""

from collections.abc import Callable
from functools import partial

from bifrost.filters.steps import NOTHING_MET, Need, RequestStep, ResponseStep, TopicIds
from bifrost.forwarding.clock import monotonic_ns
from bifrost.forwarding.work import Work
from bifrost.session.close_reason import CloseReason, SessionEnded
from bifrost.session.in_flight import Buffer
from bifrost.session.needs import TURN, Owed
from bifrost.tenancy.namespace import Namespace

MAX_TRIES = 3
"""Most times a message is tried again after a look-up. Usually it takes one; two if it names many unknown IDs of which
few are not the tenant's; more only if IDs are forgotten in between, because the tenant asks for very many at once."""

Step = RequestStep | ResponseStep


class HeldFrames:
    """The frames of one direction, the work on the first of them, and what that needs."""

    __slots__ = ("_came_ns", "_tries", "_work", "frames", "met", "need")

    def __init__(self) -> None:
        """Hold nothing."""
        self.frames: list[Buffer] = []
        """The engine reads this too (`Forwarding`), so it is always the same object. It is rarely long, and most often
        empty: an empty deque takes 624 bytes of a connection, a list 56."""
        self._came_ns: list[int] = []
        """When each frame came."""
        self.need: Need | None = None
        """What the first frame waits for; then `meet`."""
        self.met = NOTHING_MET
        """The needs that were met for the first frame, by their kinds; each as it was met."""
        self._work: Work[Step] | None = None
        """The work on the first frame, while it has paused."""
        self._tries = 0

    def hold(self, frame: Buffer) -> None:
        """Hold a frame that has just come, behind the others."""
        self.frames.append(frame)
        self._came_ns.append(monotonic_ns())

    def put_back(self, frame: Buffer) -> None:
        """Hold a frame before the others."""
        self.frames.insert(0, frame)
        self._came_ns.insert(0, monotonic_ns())

    def take(self) -> Buffer:
        """Remove the first frame, undecided."""
        if self._came_ns:
            self._came_ns.pop(0)
        return self.frames.pop(0)

    @property
    def came_ns(self) -> int:
        """When the first frame came, by `monotonic_ns`; of one that was dropped meanwhile: now."""
        return self._came_ns[0] if self._came_ns else monotonic_ns()

    @property
    def is_undecided(self) -> bool:
        """Whether no work on the first frame has begun, and it has waited for nothing but a quota."""
        return self._work is None and not self._tries and (not self.met or self.met.keys() == {Owed})

    def pass_first(self) -> None:
        """Remove the first frame: the engine has sent it on."""
        self.take()
        self.met = NOTHING_MET

    def decide(self, run: Callable[[Buffer], Step], namespace: Namespace, until_ns: int) -> Step:
        """Work on the first frame until `until_ns`, or to the end; a frame that is decided is removed.

        Args:
            run: works on a frame, and decides about it. It is not used if the work on this frame has paused: that work
                goes on.
            namespace: whose names the work uses.
            until_ns: a time of the engine's monotonic clock.
        Returns:
            What was decided; a Need: the frame is still here.
        Raises:
            SessionEnded: the message was tried too often.
            Exception: what `run` raised; the frame is still here.
        """
        work = self._work or Work(partial(run, self.frames[0]), namespace)
        self._work = None
        step = work.go_on(until_ns)
        if step is None:
            self._work, step = work, TURN
        if isinstance(step, Need):
            self.need = step
            if isinstance(step, TopicIds):
                self._count_try()
            return step
        self.take()
        self.met, self._tries = NOTHING_MET, 0
        return step

    def _count_try(self) -> None:
        self._tries += 1
        if self._tries > 1 + MAX_TRIES:  # the first one comes before any look-up
            detail = f"one message still names unknown topic IDs after {MAX_TRIES} look-ups"
            raise SessionEnded(CloseReason.TOO_MANY_TOPIC_IDS, detail)

    def meet(self, need: Need) -> None:
        """Note that a need is met, if the first frame waits for it."""
        if self.need == need:
            self.need = None
            self.met = {**self.met, type(need): need}

    def use(self, kind: type[Need]) -> bool:
        """Whether a need of this kind was met for the first frame; then it is used up."""
        is_met = kind in self.met
        if is_met:
            self.met = {one: need for one, need in self.met.items() if one is not kind}
        return is_met

    def drop(self) -> Work[Step] | None:
        """Remove all frames; return the paused work, which the caller must cancel or work off."""
        work, self._work = self._work, None
        self.frames.clear()
        self._came_ns.clear()
        self.need, self.met, self._tries = None, NOTHING_MET, 0
        return work
