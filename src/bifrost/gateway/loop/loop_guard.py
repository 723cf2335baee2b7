"""Keeps exceptions out of the event loop: what escapes is logged, counted and ends no more than what it concerns.

uvloop never polls a listening socket again once a protocol factory has raised: libuv has accepted the connection,
nobody takes it, and libuv waits for that (`uv__server_io`). So all that a factory does here is to make a `Threshold`;
whatever may fail happens behind it.

    accepted ──▶ Threshold.connection_made ──▶ the connection's own protocol
                     │ an exception: the connection is closed
                     └ a probe of the gateway's own: it has seen what it wanted, and is closed

Whoever catches an exception that should never have come gives it to `report`. It is counted where the event loop's own
are (`InternalErrors`, its exception handler), so nothing has to be passed around.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any, cast

import structlog

log = structlog.get_logger()

FIRST_RETRY_S, LAST_RETRY_S = 0.5, 30.0
"""Pause before a background task that failed is begun again: short at first, as the fault may have been momentary."""

_ESCAPED = "event_loop"
"""The place of what nobody caught before the event loop did."""


def report(place: str, error: BaseException, **fields: Any) -> None:
    """Have an exception logged with its trace and counted.

    Args:
        place: what failed, a label of the metric: one of a few words, chosen by the code alone.
        error: what was caught.
        fields: for the log.
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
        """Handle what escapes on this loop from now on."""
        loop.set_exception_handler(self)

    def __call__(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Log and count what escaped; the connection that it concerns is closed, if the loop names it."""
        error, detail = context.get("exception"), context.get("message")
        if error is None:  # What a loop only warns of, as of a task that was never awaited.
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
    """Do work that must not end by an exception: it is begun again after a pause, which grows up to a bound.

    Args:
        place: as for `report`.
        work: when it returns, that is the end.
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


class Threshold(asyncio.BufferedProtocol):
    """What a new connection is until its own protocol is made."""

    __slots__ = ("_is_probe", "_make")

    def __init__(
        self,
        make: Callable[[], asyncio.BaseProtocol],
        is_probe: Callable[[Any], bool] = lambda _address: False,
    ) -> None:
        """Await a connection.

        Args:
            make: makes its protocol.
            is_probe: whether a connection from this address is the gateway's own, which only looks whether it is
                accepted.
        """
        self._make, self._is_probe = make, is_probe

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Give the connection its protocol, or close it."""
        accepted = cast(asyncio.Transport, transport)
        try:
            if self._is_probe(accepted.get_extra_info("peername")):
                accepted.abort()
                return
            protocol = self._make()
            accepted.set_protocol(protocol)
            protocol.connection_made(accepted)
        except Exception as error:
            report("accept", error, peer=peer_of(accepted))
            accepted.abort()

    def get_buffer(self, sizehint: int) -> bytearray:
        """Have room for nothing: it is not read."""
        return bytearray(1)

    def buffer_updated(self, nbytes: int) -> None:
        """Throw away what came; the connection is closed."""


def peer_of(transport: asyncio.Transport) -> str:
    """Return the address of a connection's other side, as the log has it."""
    address = transport.get_extra_info("peername")
    return f"{address[0]}:{address[1]}" if address else "?"
