"""Requests by partition, but for Fetch, as far as Python code decides about them: `split_request.pyx` is the rest."""

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from bifrost.gateway.routing.request import read_request
from bifrost.routes.split import Split
from bifrost.routes.split_request import MANY_ITEMS, SplitRequest
from bifrost.routes.straight import StraightRequest
from bifrost.wire.api_keys import ApiKey

if TYPE_CHECKING:
    from bifrost.gateway.routing.request import Request
    from bifrost.gateway.routing.router import Router

Buffer = bytes | memoryview


def split_of(request: "Request") -> Split:
    """Take a request apart; of one with very many topics and partitions the first ones, `Split.go_on` takes the others.

    Raises:
        MalformedFrame: the request does not parse.
    """
    shapes = request.shapes
    return Split(shapes.request, shapes.template, request.segments, request.body, MANY_ITEMS)


def split_request(request: "Request", split: Split) -> SplitRequest:
    """Return a request that was taken apart, so that its parts can be sent."""
    shapes = request.shapes
    return SplitRequest(
        split,
        request.response_head,
        is_produce=request.api_key == ApiKey.PRODUCE,
        is_by_id=shapes.is_by_id,
        has_timeout_behind=shapes.has_timeout_behind,
    )


def take_unusual(
    router: "Router", straight: StraightRequest, frame: Buffer | None, may_be_done: bool
) -> None:
    """Take the answer to a request that one broker has got whole, if it cannot be passed on as it is, or is lost.

    Args:
        router: of the client that has sent the request.
        straight: the request; it has its answer afterwards, or, if it names very many partitions, some turns later.
        frame: the answer; None: it is lost.
        may_be_done: whether a broker may have done what was asked for, although the answer is lost.
    """
    request = read_request(straight.segments)
    whole = split_request(request, split_of(request))
    if whole.split.is_open:
        router.start(_take_slowly(router, straight, whole, frame, may_be_done))
    else:
        _take(straight, whole, frame, may_be_done)
        straight.answer = router.join(whole)


async def _take_slowly(
    router: "Router", straight: StraightRequest, whole: SplitRequest, frame: Buffer | None, may_be_done: bool
) -> None:
    """Take an answer about very many partitions, in turns with the requests of others."""
    await router.in_turns(partial(whole.split.go_on, MANY_ITEMS))
    _take(straight, whole, frame, may_be_done)
    await asyncio.sleep(0)
    straight.answer = router.join(whole)
    router.loop.call_soon(router.deliver)


def _take(straight: StraightRequest, whole: SplitRequest, frame: Buffer | None, may_be_done: bool) -> None:
    whole.split.place(straight.node, straight.is_sure)
    whole.take(straight.node, frame, may_be_done)
