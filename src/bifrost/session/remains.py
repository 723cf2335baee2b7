"""What is left of a connection that ended while large work for it had paused.

To cancel such work would free all objects that it has made at once, a hundred thousand in 10 to 20 ms, and a client
chooses when it closes its connection. So the work goes on to its end, in its tenant's turns, and its result is dropped.
"""

from collections.abc import Callable, Iterable
from typing import Any

from bifrost.forwarding.work import Work
from bifrost.session.close_reason import SessionEnded
from bifrost.wire.errors import WireError


class Remains:
    """The remaining work of one ended connection; it has turns like a connection (`Turns`)."""

    def __init__(
        self, works: Iterable[Work[Any]], until_ns: Callable[[], int], clean_up: Callable[[], None]
    ) -> None:
        """Do nothing yet.

        Args:
            works: the paused work.
            until_ns: returns the time at which the slice ends.
            clean_up: drops the frames that the work made.
        """
        self._works, self._until_ns, self._clean_up = list(works), until_ns, clean_up

    def take_slice(self) -> bool:
        """Work for a slice; return whether more is left."""
        work = self._works.pop()
        try:
            if work.go_on(self._until_ns()) is None:
                self._works.append(work)
                return True
        except (SessionEnded, WireError):
            pass  # The error would have ended the connection, which has ended.
        finally:
            self._clean_up()
        return bool(self._works)
