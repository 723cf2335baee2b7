"""Requests by partition, but for Fetch, as far as Python code decides about them: `split_request.pyx` is the rest."""

from typing import TYPE_CHECKING

from bifrost.gateway.routing.request import read_request
from bifrost.routes.split import Split
from bifrost.routes.split_request import SplitRequest
from bifrost.routes.straight import StraightRequest
from bifrost.wire.api_keys import ApiKey

if TYPE_CHECKING:
    from bifrost.gateway.routing.request import Request


def split_of(request: "Request") -> Split:
    """Take a request apart.

    Raises:
        MalformedFrame: the request does not parse.
    """
    shapes = request.shapes
    return Split(shapes.request, shapes.template, request.segments, request.body)


def split_request(request: "Request", split: Split) -> SplitRequest:
    """Return a request that was taken apart, so that its parts can be sent."""
    is_produce, by_id = request.api_key == ApiKey.PRODUCE, request.shapes.is_by_id
    return SplitRequest(split, request.response_head, is_produce=is_produce, is_by_id=by_id)


def taken_apart(straight: StraightRequest) -> SplitRequest:
    """Return a request that one broker has got whole, to take an answer that cannot be passed on as it is, or none."""
    request = read_request(straight.segments)
    split = split_of(request)
    split.place(straight.node, straight.is_sure)
    return split_request(request, split)
