"""Long calls of libraries that let other threads run meanwhile, such as the unpacking of 16 MiB: in threads.

The work that needs the result waits in its own slices (forwarding/turns.py), a little at a time, and between them the
loop serves other connections. So its tenant is charged for the time, as if the call were made in steps.
"""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from bifrost.wire.steps import set_aside

THREADS = 4
"""Each tenant has one such call at a time (`Turns`): so many tenants do not wait for each other's."""

WAIT_S = 0.0002
"""How long the loop waits at a time: a part of a slice. While it waits it holds no lock of Python's, and the thread has
the processor where there is only one."""


class CallAside:
    """A call in another thread."""

    __slots__ = ("_future",)

    def __init__(self, future: Future[Any]) -> None:
        """Wait for the result of a call that has begun."""
        self._future = future

    def wait(self) -> bool:
        """Wait for WAIT_S; return whether the call has ended."""
        try:
            self._future.exception(WAIT_S)
        except TimeoutError:
            return False
        return True

    def end(self) -> None:
        """Wait until it has ended: nothing else keeps the memory that it uses."""
        self._future.exception()

    def result(self) -> Any:
        """Return what the call has returned, or raise what it has raised."""
        return self._future.result()


class Aside:
    """The threads; there is none before the first call."""

    def __init__(self) -> None:
        """Start nothing yet."""
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="aside")

    def begin(self, call: Callable[[], Any]) -> CallAside:
        """Begin a call in a thread."""
        return CallAside(self._threads.submit(call))


_ASIDE = Aside()


def use_threads() -> None:
    """Make work that may pause do such calls in threads, from now on."""
    set_aside(_ASIDE.begin)
