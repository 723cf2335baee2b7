"""Long work in steps: see steps.pyx."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol, TypeVar

_T = TypeVar("_T")

def set_pause(pause: Callable[[], None] | None) -> None:
    """Make the loops over frames and `in_steps` call `pause` regularly; None: they never pause.

    It may switch to another greenlet and come back.
    """

class Begun(Protocol):
    """A call in another thread."""

    def wait(self) -> bool:
        """Wait a little; return whether the call has ended."""

    def end(self) -> None:
        """Wait until it has ended."""

    def result(self) -> Any:
        """Return what the call has returned, or raise what it has raised."""

def set_aside(begin: Callable[[Callable[[], Any]], Begun] | None) -> None:
    """Let `begin` call long functions of libraries in other threads, for work that may pause; None: call them here."""

def set_pause_steps(steps: int = 64) -> None:
    """Call the function given to `set_pause` after so many rounds of a loop."""

def in_steps(items: Iterable[_T], rounds: int = 4) -> Iterator[_T]:
    """Yield items, with pauses between them: for loops in Python over the many items of a message.

    An item stands for so many `rounds`, of which 64 are some 100 us; one whose code takes longer than some microseconds
    stands for more.
    """

def let_go(items: list[Any] | dict[Any, Any]) -> None:
    """Empty a list or a dict that nothing uses any more, with pauses.

    CPython frees an object with all that only it holds, which takes some 0.3 ms for a thousand small objects.
    """
