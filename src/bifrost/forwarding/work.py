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
from typing import Generic, TypeVar

from greenlet import getcurrent, greenlet

from bifrost.forwarding.clock import monotonic_ns
from bifrost.tenancy.namespace import Namespace
from bifrost.wire.steps import set_pause

Result = TypeVar("Result")


class Work(Generic[Result]):
    """The work on one frame."""

    __slots__ = ("_greenlet", "_namespace", "_until_ns")

    def __init__(self, run: Callable[[], Result], namespace: Namespace) -> None:
        """Prepare the work without starting it.

        Args:
            run: the work; returns its result.
            namespace: whose names the work uses; the unresolved IDs that it noted there are kept apart while it pauses.
        """
        self._greenlet = greenlet(run)
        self._namespace = namespace
        self._until_ns = 0

    def go_on(self, until_ns: int) -> Result | None:
        """Work until `until_ns` of the engine's monotonic clock, or to the end.

        Returns:
            What the work returned; None: it has only paused.
        Raises:
            Exception: what the work raised; the work is over then.
        """
        self._until_ns = until_ns
        set_pause(self._pause)
        try:
            result: Result | None = self._greenlet.switch()
        finally:
            set_pause(None)
        return result if self._greenlet.dead else None

    def cancel(self) -> None:
        """End the work where it pauses, or before it began."""
        if self._greenlet:
            self._greenlet.throw()

    def _pause(self) -> None:
        # Threads that load a configuration loop in the same code; they pause by themselves.
        if monotonic_ns() < self._until_ns or getcurrent() is not self._greenlet:
            return
        # Other sessions of the tenant share the namespace, which notes the IDs that stopped the message at hand.
        namespace, caller = self._namespace, self._greenlet.parent
        assert caller is not None
        kept, namespace.unresolved = namespace.unresolved, set()
        caller.switch()
        namespace.unresolved = kept
