"""What a session asks its broker for itself before it sends a client's request on.

It goes over the connection that stands for the client's, so the broker tells what the client would see. The request is
held meanwhile, and all behind it. An inquiry stands as the exchange of what it asks: its answer comes back to it.
"""

from bifrost.session.in_flight import Buffer, InFlight
from bifrost.tenancy.namespace import Namespace
from bifrost.wire import headers
from bifrost.wire.engine import Awaited, Lane, encode
from bifrost.wire.message import Message
from bifrost.wire.programs import compile_layout
from bifrost.wire.schema import request_schema

_FLEXIBLE_HEADER = 2
"""Request header version from which a header ends in tagged fields (KIP-482)."""


class Inquiry:
    """The inquiries of one kind of one session; there is one at a time."""

    __slots__ = ("_client_id", "_correlation_id", "_in_flight", "_lane", "_namespace", "is_under_way")

    def __init__(self, namespace: Namespace, in_flight: InFlight) -> None:
        """Ask nothing yet.

        Args:
            namespace: of the tenant.
            in_flight: what the session awaits of its broker.
        """
        self._namespace, self._in_flight = namespace, in_flight
        self.is_under_way = False
        """Whether an answer is awaited: then the request is held, and all behind it."""
        self._lane: Lane | None = None
        self._correlation_id = 0
        self._client_id: bytes | None = None

    def receive(self, frame: Buffer, awaited: Awaited) -> list[Buffer]:
        """Take an answer; return what asks for more.

        Raises:
            WireError: it could not be read.
        """
        raise NotImplementedError

    def _begin(self, lane: Lane, frame: Buffer) -> None:
        """Ask in the name of the client, as its request in `frame` does."""
        header = headers.read_request_header(frame)
        start, length = headers.REQUEST_PREFIX.size, header.client_id_length
        self._lane, self._correlation_id = lane, header.correlation_id
        prefix = self._namespace.names.client_id_prefix
        self._client_id = bytes(frame[start : start + length]) if length >= 0 else None
        if prefix is not None:
            self._client_id = prefix + (self._client_id or b"")

    def _ask(self, message: Message, version: int) -> list[Buffer]:
        """Return the frame of a request with physical names, with its length, and await its answer."""
        assert self._lane is not None
        api_key = message.SCHEMA.api_key
        assert api_key is not None
        length = -1 if self._client_id is None else len(self._client_id)
        head = headers.REQUEST_PREFIX.pack(api_key, version, self._correlation_id, length)
        head += self._client_id or b""
        if request_schema(api_key).request_header_version(version) >= _FLEXIBLE_HEADER:
            head += b"\0"
        # That may pause, and whoever looks meanwhile must not see an answer awaited to what was not sent.
        frame = encode(compile_layout(message.SCHEMA.name, version), message, head)
        self.is_under_way = True
        self._in_flight.await_broker(Awaited(self._correlation_id, self._lane, self))
        return [frame]

    def _answered(self, awaited: Awaited) -> None:
        """Await the answer no longer: it was read, which may have paused, and the request is held until now."""
        self._in_flight.complete()
        awaited.abandon()
        self.is_under_way = False
