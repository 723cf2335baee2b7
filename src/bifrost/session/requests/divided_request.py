"""A client's request that goes to its broker in several: the parts before the last, and their answers.

All of them are under way at once, in their order, over the connection that the client's request would have taken. The
client gets one answer, at the place of the last part; filters join it with those that came before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bifrost.filters import namespace as translation
from bifrost.filters.steps import Forward
from bifrost.forwarding.lane import Awaited, Lane
from bifrost.wire import headers
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.codec import decode, encode

if TYPE_CHECKING:
    from bifrost.filters.filter import Exchange
    from bifrost.filters.steps import ResponseStep
    from bifrost.session.in_flight import Buffer, InFlight
    from bifrost.tenancy.namespace import Namespace


class Part:
    """What is awaited for one part of a request; the exchange of the whole takes its answer."""

    __slots__ = ("exchange",)

    def __init__(self, exchange: Exchange) -> None:
        """Await a part of the request of this exchange."""
        self.exchange = exchange

    def receive(self, frame: Buffer, awaited: Awaited, namespace: Namespace) -> ResponseStep:
        """Keep the answer for the filters; a Need: decide anew when it is met.

        Raises:
            WireError: it could not be read.
        """
        way = awaited.lane.plan.response
        offset, _ = headers.response_body_offset(frame, way.is_flexible_header)
        answer: Any = decode(way.layout, frame, offset)
        is_acknowledgement = awaited.lane.plan.api_key == ApiKey.PRODUCE
        step = translation.to_virtual(namespace, answer, way.version, knows_former=is_acknowledgement)
        if isinstance(step, Forward):
            self.exchange.part_answers = (*self.exchange.part_answers, answer)
        return step


def part_frames(lane: Lane, exchange: Exchange, namespace: Namespace, head: bytes) -> list[Buffer]:
    """Return the frames of the parts of a request with physical names; `head` is the header of each."""
    way = lane.plan.request
    frames: list[Buffer] = []
    for part in exchange.parts:
        translation.to_physical(namespace, part, way.version)
        frames.append(encode(way.layout, part, head))
    return frames


def await_parts(in_flight: InFlight, lane: Lane, exchange: Exchange | None, correlation_id: int) -> None:
    """Await the answers to all parts but the last, which is awaited as the client's request is."""
    if exchange is None:
        return
    for _ in exchange.parts:
        in_flight.await_broker(Awaited(correlation_id, lane, Part(exchange)))
    exchange.parts = ()
