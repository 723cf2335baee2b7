"""The hot path of a session: see forwarding.pyx."""

from collections import deque
from collections.abc import Callable
from typing import Any

from bifrost.forwarding.lane import Lane
from bifrost.forwarding.load import Load
from bifrost.wire.framer import FrameConsumer

class Forwarding(FrameConsumer):
    """The compiled part of a session: it forwards the frames that need no decision.

    The session fills in its own objects; it decides about every frame for which the answer here is False.
    """

    _lanes: dict[int, Lane]
    """By API key << 16 | API version."""
    _queue: deque[Any]
    """What the broker will answer, each an Awaited, and own answers behind it."""
    _authentication: Any
    """The object that gets frames first; None: the client need not authenticate now."""
    _admits_request: Callable[[Any, tuple[int, ...]], bool]
    _admits_response: Callable[[tuple[int, ...]], bool]
    _held_requests: deque[bytes | memoryview]
    _held_responses: deque[bytes | memoryview]
    to_client: list[bytes | memoryview]
    to_broker: list[bytes | memoryview]
    _load: Load | None
    """The tenant's load, to which its time is charged; None while the tenant is not known."""
    _max_in_flight: int
    """Requests that may await their answers; from then on the session holds what comes."""

    @property
    def is_passing(self) -> bool:
        """Whether a large request is being forwarded whose rest has not arrived: then the client has to be read."""

    @property
    def awaits_broker(self) -> bool:
        """Whether an answer is awaited, and no rest of a request has still to arrive."""

    def forward_request(self, frame: bytes | memoryview) -> bool:
        """Rewrite a request into `to_broker`, and note what is awaited.

        Returns:
            False, and nothing has changed, when the session has to look at it.

        Raises:
            MalformedFrame: it does not parse.
        """

    def forward_response(self, frame: bytes | memoryview) -> bool:
        """Rewrite the response to what is first awaited into `to_client`, with the own answers that waited for it."""
