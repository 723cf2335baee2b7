"""One piece of work of a session, done in slices.

A request may name a hundred thousand things. The code that handles it (decode, filters, names, encode) is ordinary code
with loops. The engine's loops, and Python's through `in_steps`, count their rounds and call back now and then. When the
slice is used up, that call switches to the caller of `go_on`, and the next slice continues from there:

    go_on ──▶ run ... loop ... time is up ──▶ go_on returns None
    go_on ──▶ ............ loop ... done  ──▶ go_on returns what `run` returned

greenlet does the switch and keeps the stack of the work. So no loop had to be rewritten, and compiled code pauses like
Python code. Work pauses nowhere but in these loops.
"""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from greenlet import GreenletExit, getcurrent, greenlet

from bifrost.forwarding.clock import monotonic_ns
from bifrost.tenancy.namespace import Namespace
from bifrost.wire.steps import set_pause

Result = TypeVar("Result")

MAX_IDLE = 4
"""Greenlets that are kept for the next work: a new one, with a stack of its own, costs as much as a small message. More
than one is used only while work pauses."""
_PAUSED = object()
_idle: list[greenlet] = []


class Work(Generic[Result]):
    """The work on one frame."""

    __slots__ = ("_greenlet", "_namespace", "_run", "_until_ns")

    def __init__(self, run: Callable[[], Result], namespace: Namespace | None = None) -> None:
        """Prepare the work without starting it.

        Args:
            run: the work; returns its result.
            namespace: whose names the work uses; the unresolved IDs that it noted there are kept apart while it pauses.
                None: it uses no names.
        """
        self._run: Callable[[], Result] | None = run
        self._greenlet: greenlet | None = None
        """What does the work, once it has begun and until it is over."""
        self._namespace = namespace
        self._until_ns = 0

    def go_on(self, until_ns: int) -> Result | None:
        """Work until `until_ns` of the engine's monotonic clock, or to the end.

        Returns:
            What the work returned; None: it has only paused.
        Raises:
            Exception: what the work raised; the work is over then.
        """
        begins, self._run = () if self._run is None else (self._run,), None
        if begins:
            self._greenlet = _take_idle()
        runner = self._greenlet
        assert runner is not None, "work that is over does not go on"
        self._until_ns = until_ns
        set_pause(self._pause)
        try:
            ended: Any = runner.switch(*begins)
        finally:
            set_pause(None)
        if ended is _PAUSED:
            return None
        self._greenlet = None
        if len(_idle) < MAX_IDLE:
            _idle.append(runner)
        error, result = ended.pop(), ended.pop()  # It keeps none of the two while it waits.
        if error is not None:
            try:
                raise error
            finally:
                del error  # Its traceback leads here.
        found: Result = result
        return found

    def cancel(self) -> None:
        """End the work where it pauses, or before it began."""
        self._run = None
        if self._greenlet is not None:
            self._greenlet.throw()
            self._greenlet = None

    def _pause(self) -> None:
        # Threads that load a configuration loop in the same code; they pause by themselves.
        if monotonic_ns() < self._until_ns or getcurrent() is not self._greenlet:
            return
        namespace, caller = self._namespace, self._greenlet.parent
        assert caller is not None
        if namespace is None:
            caller.switch(_PAUSED)
            return
        # Other sessions of the tenant share the namespace, which notes the IDs that stopped the message at hand.
        kept, namespace.unresolved = namespace.unresolved, set()
        caller.switch(_PAUSED)
        namespace.unresolved = kept


def _take_idle() -> greenlet:
    """Return a greenlet that waits for work of this caller."""
    caller = getcurrent()
    while _idle:
        found = _idle.pop()
        if found.parent is caller:
            return found
    made = greenlet(_work_for_ever)
    made.switch()
    return made


def _work_for_ever() -> None:
    """Do one piece of work after the other for the caller, and tell it what each has returned or raised."""
    caller = getcurrent().parent
    assert caller is not None
    ended: list[Any] = []
    while True:
        run: Callable[[], Any] = caller.switch(ended)
        try:
            ended = [run(), None]
        except GreenletExit:
            raise  # It was cancelled.
        except BaseException as error:  # The caller raises it.
            ended = [None, error]
        del run
