"""Keeps exceptions out of the event loop: they are logged and counted, and end only the connection or task concerned.

Connections are accepted by code of the gateway's own (`accepted_socket.py`), which no exception leaves: an event loop's
server would never poll its listening socket again once a protocol factory has raised (uvloop: libuv has accepted the
connection, no code takes it, and libuv waits for that, `uv__server_io`).

Code that catches an unexpected exception gives it to `report`. It is counted with those that the event loop catches
(`InternalErrors`, its exception handler), so no counter has to be passed around.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import structlog

log = structlog.get_logger()

FIRST_RETRY_S, LAST_RETRY_S = 0.5, 30.0
"""Pause before a failed background task is started again: short at first, as the fault may have been momentary."""

_ESCAPED = "event_loop"
"""The place of exceptions that only the event loop caught."""


def report(place: str, error: BaseException, **fields: Any) -> None:
    """Log an exception with its trace, and count it.

    Args:
        place: what failed, a label of the metric: one of a few words, chosen by the code alone.
        error: the exception.
        fields: fields for the log.
    """
    log.error("internal_error", place=place, exc_info=error, **fields)
    handler = asyncio.get_running_loop().get_exception_handler()
    if isinstance(handler, InternalErrors):
        handler.counts[place] += 1


class InternalErrors:
    """The event loop's exception handler: logs and counts."""

    def __init__(self, counts: "Counter[str]") -> None:
        """Count in `counts`, by place."""
        self.counts = counts

    def install(self, loop: asyncio.AbstractEventLoop) -> None:
        """Handle the uncaught exceptions of this loop from now on."""
        loop.set_exception_handler(self)

    def __call__(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Log and count an uncaught exception; close the connection that it concerns, if the loop names it."""
        error, detail = context.get("exception"), context.get("message")
        if error is None:  # A mere warning, such as of a task that was never awaited.
            log.warning("event_loop", detail=detail)
            return
        self.counts[_ESCAPED] += 1
        log.error("internal_error", place=_ESCAPED, detail=detail, exc_info=error)
        transport = context.get("transport")
        if transport is not None:
            transport.abort()


Work = Callable[[], Awaitable[None]]
"""What a background task does."""


async def keep(place: str, work: Work) -> None:
    """Run a task that must not end by an exception: start it again after a pause, which grows up to a bound.

    Args:
        place: as for `report`.
        work: the task; `keep` returns when it returns.
    """
    loop, retry_s = asyncio.get_running_loop(), FIRST_RETRY_S
    while True:
        began = loop.time()
        try:
            await work()
        except Exception as error:
            retry_s = FIRST_RETRY_S if loop.time() - began > LAST_RETRY_S else retry_s
            report(place, error, retry_in_s=retry_s)
            await asyncio.sleep(retry_s)
            retry_s = min(retry_s * 2, LAST_RETRY_S)
        else:
            return


def peer_of(transport: asyncio.Transport) -> str:
    """Return the address of a connection's other side for the log."""
    return address_text(transport.get_extra_info("peername"))


def address_text(address: Any) -> str:
    """Return a socket's address for the log; `?` where there is none."""
    return f"{address[0]}:{address[1]}" if address else "?"
