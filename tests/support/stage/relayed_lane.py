"""One lane between two sockets: its frames take the way of production, through framer, relay and forwarding."""

import asyncio
from types import SimpleNamespace
from typing import Any

from bifrost.forwarding.forwarding import Forwarding
from bifrost.forwarding.lane import Awaited, AwaitedQueue, Lane
from bifrost.forwarding.lane_names import LaneNames
from bifrost.forwarding.load import Load
from bifrost.forwarding.traffic import Traffic
from bifrost.gateway.sockets.frame_relay import FrameRelay
from bifrost.journal.usage import Usage
from bifrost.wire.codec import encode_body
from bifrost.wire.framer import Framer
from bifrost.wire.message import Message
from bifrost.wire.program import Passage, Program
from bifrost.wire.programs import compile_layout
from bifrost.wire.rewriting import Names
from support.stage.fake_transport import FakeTransport, framed, receive

LARGE = 262_144
"""Bytes from which on a frame goes on before it is whole, if it can."""

HEAD = 4_096
"""Bytes of it that have to be there first."""

_KEY = b"\0\7\0\1"
_REQUEST_HEAD, _RESPONSE_HEAD = _KEY + b"\0\0\0\5\xff\xff", b"\0\0\0\5"


class RelayedLane(asyncio.BufferedProtocol):
    """A connection whose messages are all of one kind, with headers that have no tagged fields.

    It has the part of ClientConnection as well, and keeps the frames that are not sent on.
    """

    is_reading = True

    def __init__(self, program: Program, names: Names, usage: Usage | None = None) -> None:
        """Let both directions go along `program`, get `names`, and be counted in `usage`."""
        lane = Lane(
            SimpleNamespace(api_key=7, passage=Passage(program, program, False, False)),
            Traffic(),
            Load(),
            LaneNames(names, names, None),
            usage,
        )
        session = self.session = Forwarding()
        session._lanes, session._queue, session._max_in_flight = (
            {int.from_bytes(_KEY, "big"): lane},
            AwaitedQueue(),
            9,
        )
        session._held_requests, session._held_responses = [], []
        session.to_broker, session.to_client = [], []
        self._lane = lane
        self.left: list[bytes | memoryview | None] = []
        """The frames that the engine did not send on; None: what came is no frame."""
        self._broker, self._client = FakeTransport(), FakeTransport()
        self._there, self._back = (
            self._relay(self, self._broker),
            self._relay(SimpleNamespace(), self._client),
        )

    def _relay(self, protocol: Any, to: Any) -> FrameRelay:
        return FrameRelay(Framer(1 << 24), self.session, self, protocol, to)

    def request(self, message: Message, version: int) -> "RelayedFrame":
        """Begin to send a request."""
        return RelayedFrame(self._there, self._broker, _REQUEST_HEAD + body(message, version))

    def response(self, message: Message, version: int) -> "RelayedFrame":
        """Begin to answer a request, which is awaited."""
        self.session._queue.append(Awaited(int.from_bytes(_RESPONSE_HEAD, "big"), self._lane, None))
        return RelayedFrame(self._back, self._client, _RESPONSE_HEAD + body(message, version))

    def client_frames(self, frames: list[bytes | memoryview]) -> None:
        """Keep requests that are left to the session."""
        self.left += frames or [None]

    def broker_frames(self, frames: list[bytes | memoryview], _framer: Framer) -> None:
        """Keep answers likewise."""
        self.left += frames or [None]

    def flush(self) -> None:
        """Have nothing to write."""

    def update_reading(self) -> None:
        """Be read always."""


class RelayedFrame:
    """A frame on its way."""

    def __init__(self, relay: FrameRelay, to: FakeTransport, frame: bytes) -> None:
        self._relay, self._to = relay, to
        self.bytes = framed(frame)
        self._received = 0

    def announce(self, length: int) -> None:
        """Say that the frame has this length, whatever it has."""
        self.bytes = length.to_bytes(4, "big") + self.bytes[4:]

    def receive(self, end: int | None = None) -> None:
        """Let more of the frame come, as far as `end` bytes of it are there without its length; None: all of it."""
        until = len(self.bytes) if end is None else 4 + end
        receive(self._relay, self.bytes[self._received : until])
        self._received = until

    @property
    def sent(self) -> bytes:
        """What was sent on of it so far."""
        return bytes(self._to.written)


def body(message: Message, version: int) -> bytes:
    """Encode the body of a message."""
    return encode_body(compile_layout(type(message).__name__, version), message)
