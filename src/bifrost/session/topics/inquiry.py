"""Requests that a session sends to its broker for itself before it sends a client's request on.

They go over the client's own broker connection, so the broker tells what the client would see. Meanwhile the client's
request and all requests after it are held. An inquiry is the exchange of its requests, so the answers come back to it.
"""

from collections.abc import Sequence

from bifrost.forwarding.lane import Awaited, Lane
from bifrost.session.in_flight import Buffer, InFlight
from bifrost.session.topics.asked_items import items_cost_ns
from bifrost.tenancy.namespace import Namespace
from bifrost.wire import headers
from bifrost.wire.codec import encode
from bifrost.wire.message import Message
from bifrost.wire.programs import compile_layout
from bifrost.wire.schema import request_schema

_FLEXIBLE_HEADER = 2
"""Request header version from which a header ends in tagged fields (KIP-482)."""


class Inquiry:
    """The inquiries of one kind of one session; there is one at a time."""

    __slots__ = ("_client_id", "_correlation_id", "_in_flight", "_lane", "_namespace", "is_under_way")

    def __init__(self, namespace: Namespace, in_flight: InFlight) -> None:
        """Begin without a request.

        Args:
            namespace: of the tenant.
            in_flight: the session's requests that await answers.
        """
        self._namespace, self._in_flight = namespace, in_flight
        self.is_under_way = False
        """Whether an answer is awaited: then the client's request is held, and all after it."""
        self._lane: Lane | None = None
        self._correlation_id = 0
        self._client_id: bytes | None = None

    def receive(self, frame: Buffer, awaited: Awaited) -> list[Buffer]:
        """Handle an answer; return the frames of further requests.

        Raises:
            WireError: the answer could not be read.
        """
        raise NotImplementedError

    def _begin(self, lane: Lane, frame: Buffer) -> None:
        """Use the correlation ID and client ID of the client's request in `frame`."""
        header = headers.read_request_header(frame)
        start, length = headers.REQUEST_PREFIX.size, header.client_id_length
        self._lane, self._correlation_id = lane, header.correlation_id
        prefix = lane.client_id_prefix
        self._client_id = bytes(frame[start : start + length]) if length >= 0 else None
        if prefix is not None:
            self._client_id = prefix + (self._client_id or b"")

    def _ask(self, message: Message, version: int) -> list[Buffer]:
        """Return the frame of a request with physical names, including its length, and await its answer."""
        return self._ask_all([(message, version)])

    def _ask_all(self, requests: Sequence[tuple[Message, int]]) -> list[Buffer]:
        """Return the frames of several, each given with its version, and await the answers."""
        for message, _ in requests:
            self._charge(message)
        # `encode` may pause; before it is done no other code may see that an answer is awaited.
        frames: list[Buffer] = [self._frame(message, version) for message, version in requests]
        assert self._lane is not None
        self.is_under_way = True
        for _ in frames:
            self._in_flight.await_broker(Awaited(self._correlation_id, self._lane, self))
        return frames

    def _charge(self, message: Message) -> None:
        """Charge what a request names, or its page, to the tenant's time at the brokers.

        The rest of its price is charged when its answer is awaited, or when it is sent.
        """
        assert self._lane is not None
        self._lane.load.broker_left_ns -= items_cost_ns(message)

    def _frame(self, message: Message, version: int) -> bytes:
        """Return the frame of a request."""
        api_key = message.SCHEMA.api_key
        assert api_key is not None
        length = -1 if self._client_id is None else len(self._client_id)
        head = headers.REQUEST_PREFIX.pack(api_key, version, self._correlation_id, length)
        head += self._client_id or b""
        if request_schema(api_key).request_header_version(version) >= _FLEXIBLE_HEADER:
            head += b"\0"
        return encode(compile_layout(message.SCHEMA.name, version), message, head)

    def _answered(self, awaited: Awaited) -> None:
        """End the inquiry when its answer is read. The read may have paused; the client's request is held until now."""
        self._in_flight.complete()
        awaited.abandon()
        self.is_under_way = False
