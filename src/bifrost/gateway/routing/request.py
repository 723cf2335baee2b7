"""A request as the session sends it to the broker, and what is the same for all of its API and version.

Every request of a single address is read here, so what the schema says is looked up once.
"""

import struct
from functools import cache
from typing import NamedTuple

from bifrost.routes.route_kinds import RouteKind, route_kind
from bifrost.routes.shapes import Shapes, shapes_of
from bifrost.routes.split_request import ANSWER_TIMEOUT_S
from bifrost.wire import headers
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.codec import decode, encode, release
from bifrost.wire.message import Message
from bifrost.wire.program import Program
from bifrost.wire.programs import compile_layout, compile_program
from bifrost.wire.schema import request_schema, response_schema

Buffer = bytes | memoryview

REBALANCE_TIMEOUT_S = 1800.0
"""The same for what a broker answers when all members of a group have come: Kafka's default of
`group.max.session.timeout.ms`, beyond which no group waits."""

_SLOW = frozenset({ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP})
_HEAD = struct.Struct(">ihhih")
"""The length of the frame, and its header up to the length of the client ID."""


class Way(NamedTuple):
    """What is the same for all requests of an API and version."""

    kind: RouteKind | None
    is_flexible: bool
    """Of the request's body."""
    header_tags: int
    """Bytes of the tagged fields in the request's header: there are none, but for their count."""
    response_tags: bytes
    """Those in the response's header."""
    timeout_s: float
    shapes: Shapes | None
    """Of requests that are taken apart by leader."""
    codes: Program
    """Finds the error codes in an answer."""


@cache
def way_of(api_key: int, version: int) -> Way:
    """Return what is known of an API and version that the session sends on.

    Raises:
        AssertionError: it is not routed.
    """
    kind = route_kind(api_key)
    if kind in (None, RouteKind.OWN):
        raise AssertionError(f"API {api_key} is not routed, and was sent on")
    request, response = request_schema(api_key), response_schema(api_key)
    is_split = kind in (RouteKind.LEADERS, RouteKind.FETCH)
    return Way(
        kind,
        request.is_flexible(version),
        1 if request.request_header_version(version) >= 2 else 0,
        b"\0" if response.response_header_version(version) >= 1 else b"",
        REBALANCE_TIMEOUT_S if api_key in _SLOW else ANSWER_TIMEOUT_S,
        shapes_of(ApiKey(api_key), version) if is_split else None,
        compile_program(response.name, version, {}),
    )


class Request(NamedTuple):
    """A request as the session sends it to the broker."""

    api_key: int
    api_version: int
    body: int
    """Where the body begins, from the frame's beginning."""
    segments: list[Buffer]
    response_head: bytes
    """The header of its answer."""
    way: Way

    @property
    def whole(self) -> Buffer:
        """The frame in one piece, with its length."""
        return self.segments[0] if len(self.segments) == 1 else b"".join(self.segments)

    @property
    def shapes(self) -> Shapes:
        """How it is taken apart by leader."""
        assert self.way.shapes is not None, "only requests by leader are taken apart"
        return self.way.shapes

    def decoded(self) -> Message:
        """Return the request as a message."""
        layout = compile_layout(request_schema(self.api_key).name, self.api_version)
        message = decode(layout, self.whole, self.body)
        assert isinstance(message, Message)
        return message

    def encoded(self, message: Message) -> list[Buffer]:
        """Return the frame of a changed request under the same header."""
        layout = compile_layout(request_schema(self.api_key).name, self.api_version)
        return [encode(layout, message, bytes(self.whole[4 : self.body]))]

    def read(self, frame: Buffer) -> Message:
        """Return a broker's answer as a message.

        Raises:
            WireError: it cannot be read.
        """
        start, _ = headers.response_body_offset(frame, bool(self.way.response_tags))
        message = decode(compile_layout(response_schema(self.api_key).name, self.api_version), frame, start)
        assert isinstance(message, Message)
        return message

    def answered_by(self, message: Message) -> bytes:
        """Return the frame of an answer, without its length; nothing else may use the message."""
        layout = compile_layout(response_schema(self.api_key).name, self.api_version)
        frame = encode(layout, message, self.response_head)[4:]
        release(layout, message)
        return frame


def read_request(segments: list[Buffer]) -> Request:
    """Return the request that a session has written.

    Args:
        segments: its whole frame, with its length.
    """
    first = segments[0]
    if len(first) < _HEAD.size or len(first) < _HEAD.size + max(_HEAD.unpack_from(first)[4], 0) + 1:
        first = b"".join(segments)
        segments = [first]
    _, api_key, version, correlation_id, client_id_length = _HEAD.unpack_from(first)
    way = way_of(api_key, version)
    body = _HEAD.size + max(client_id_length, 0)
    if way.header_tags:
        assert first[body] == 0, "the session removes tagged fields from headers"
        body += way.header_tags
    return Request(
        api_key,
        version,
        body,
        segments,
        correlation_id.to_bytes(4, "big", signed=True) + way.response_tags,
        way,
    )
