"""What tools/fuzz_relay.py compares: a relayed connection, and a model of it that treats each frame alone."""

import asyncio
import random
import socket
from collections.abc import Callable, Iterable
from typing import Any

from bifrost.forwarding.forwarding import Forwarding
from bifrost.forwarding.lane import Awaited, AwaitedQueue, Lane, Reason
from bifrost.gateway.sockets.frame_relay import FrameRelay
from bifrost.wire.errors import MalformedFrame, WireError
from bifrost.wire.framer import Framer
from frame_mutations import pick

WITHOUT_END = 1 << 60
"""Rounds of work: what the model makes of a frame does not depend on the frames that came with it."""
LARGE = 262_144
"""Bytes from which on a frame goes on before it is whole (STREAM in framer.pyx)."""
MAX_FRAME = 1 << 20
_RECEIVED = bytearray(65_536)
_DECODED = object()
"""The exchange of a request that the session decoded: then it decodes the answer, too."""


class Session(Forwarding):
    """A session that treats what the engine leaves to it by its content alone."""

    def __init__(self, lanes: dict[int, Lane], most: int) -> None:
        self._lanes, self._queue, self._max_in_flight = lanes, AwaitedQueue(), most
        self._held_requests, self._held_responses = [], []
        self.to_broker, self.to_client = [], []
        self.hot_steps = WITHOUT_END

    def judge_request_fields(self, _plan: Any, fields: tuple[int, ...]) -> Reason:
        """Judge a request by the numbers in it alone."""
        return self.judge_response_fields(fields)

    def judge_response_fields(self, fields: tuple[int, ...]) -> Reason:
        """Judge a response likewise."""
        return Reason.NEW_SESSION if sum(fields) % 2 else Reason.PASSES

    def receive_from_client(self, frame: bytes | memoryview) -> None:
        """Treat a request, or hold it while too many await their answers."""
        if self._held_requests or len(self._queue) >= self._max_in_flight:
            self._held_requests.append(frame)
        else:
            self._request(frame)

    def _request(self, frame: bytes | memoryview) -> None:
        if self.forward_request(frame) == Reason.PASSES:
            return
        if len(frame) < 10:
            raise MalformedFrame("no header", 0)
        lane = self._lanes.get(int.from_bytes(frame[:4], "big"))
        if lane is not None and frame[-1] % 2:
            self.to_broker.append(framed(b"decoded", frame))
            lane.traffic.receive(len(frame) + 4)
            self._queue.append(Awaited(int.from_bytes(frame[4:8], "big", signed=True), lane, _DECODED))
        else:
            (self._queue if self._queue else self.to_client).append(framed(b"own", frame[4:8]))

    def receive_from_broker(self, frame: bytes | memoryview) -> None:
        """Treat an answer, and what was held because of it."""
        if not self._held_responses and self.forward_response(frame) != Reason.PASSES:
            if (
                not self._queue
                or int.from_bytes(frame[:4], "big", signed=True) != self._queue[0].correlation_id
            ):
                raise MalformedFrame("no such answer is awaited", 0)
            self.to_client.append(framed(b"decoded", frame))
            self._queue.popleft().finish(len(frame))
            while self._queue and isinstance(self._queue[0], bytes):
                self.to_client.append(self._queue.popleft())
        self.go_on()

    def go_on(self) -> None:
        """Treat the held requests as far as may be now."""
        while self._held_requests and len(self._queue) < self._max_in_flight:
            self._request(self._held_requests.pop(0))

    def awaited(self) -> list[object]:
        """Return the correlation IDs of what is awaited, the own answers among them, and what is held."""
        queue = [one.correlation_id if isinstance(one, Awaited) else one for one in self._queue]
        return [*queue, None, *map(bytes, self._held_requests)]

    def leave(self) -> None:
        """Await nothing more."""
        for one in self._queue:
            if isinstance(one, Awaited):
                one.abandon()


def framed(*parts: bytes | memoryview) -> bytes:
    """Give a frame as it goes over a socket."""
    frame = b"".join(parts)
    return len(frame).to_bytes(4, "big") + frame


class Transport:
    """A transport over one end of a socket pair, whose other end is read here; without one as with TLS."""

    def __init__(self, ends: tuple[socket.socket, socket.socket] | None) -> None:
        self._ends, self._written, self._waiting = ends, bytearray(), bytearray()

    def get_extra_info(self, name: str) -> object:
        """Return the socket, or what says that it may not be written to directly."""
        if name == "sslcontext":
            return None if self._ends else _DECODED
        return self._ends and self._ends[0]

    def get_write_buffer_size(self) -> int:
        """Return how much the socket did not take."""
        return len(self._waiting)

    def is_closing(self) -> bool:
        """Be open."""
        return False

    def writelines(self, segments: Iterable[bytes | memoryview]) -> None:
        """Keep what comes for later."""
        for segment in segments:
            self._waiting += segment

    def forget(self) -> None:
        """Begin anew, all that was written being read."""
        self._written.clear()

    def drain(self) -> bytes:
        """Read what was written; return all that was since the beginning."""
        while self._ends:
            try:
                size = self._ends[1].recv_into(_RECEIVED)
            except BlockingIOError:
                break
            self._written += memoryview(_RECEIVED)[:size]
        self._written += self._waiting
        self._waiting.clear()
        return bytes(self._written)


class Relayed(asyncio.BufferedProtocol):
    """A connection that is relayed: it has the part of ClientConnection."""

    is_reading = True

    def __init__(self, rng: random.Random, session: Session, transports: tuple[Transport, Transport]) -> None:
        self.session, (self.broker, self.client) = session, transports
        self.framers = Framer(MAX_FRAME), Framer(MAX_FRAME)
        for framer in self.framers:
            framer.enter(None, is_frugal=pick(rng, 3) == 0)
        self.error: WireError | None = None
        there, broker, client, other = self, self.broker, self.client, asyncio.BufferedProtocol()
        make: Any = FrameRelay
        self.relays = (
            make(self.framers[0], session, there, there, broker),
            make(self.framers[1], session, there, other, client),
        )

    def client_frames(self, frames: list[bytes | memoryview]) -> None:
        """Treat requests, and the error behind them."""
        self._treat(self.session.receive_from_client, frames, self.framers[0])

    def broker_frames(self, frames: list[bytes | memoryview], framer: Framer) -> None:
        """Treat answers likewise."""
        self._treat(self.session.receive_from_broker, frames, framer)

    def _treat(self, treat: Callable[[Any], None], frames: list[bytes | memoryview], framer: Framer) -> None:
        try:
            for frame in frames:
                treat(frame)
            if framer.failed is not None:
                raise framer.failed
        except WireError as error:
            self.error = error
        self.flush()

    def flush(self) -> None:
        """Go on with what was held, and write all there is."""
        try:
            if self.error is None:
                self.session.go_on()
        except WireError as error:
            self.error = error
        for out, to in ((self.session.to_broker, self.broker), (self.session.to_client, self.client)):
            to.writelines(out)
            out.clear()

    def update_reading(self) -> None:
        """Be read always."""


class Model:
    """What the same bytes should come to: each frame alone, without framer and relay."""

    def __init__(self, session: Session) -> None:
        self.session, self.buffers, self.error = session, (bytearray(), bytearray()), False
        self.taken = [0, 0]

    def receive(self, side: int, data: bytes) -> None:
        """Treat the frames that are whole now, as far as the first that is none."""
        buffer = self.buffers[side]
        buffer += data
        treat = self.session.receive_from_broker if side else self.session.receive_from_client
        while len(buffer) >= 4 and not self.error:
            size = int.from_bytes(buffer[:4], "big", signed=True)
            if not 0 < size <= MAX_FRAME:
                self.error = True
            elif len(buffer) >= 4 + size:
                frame = bytes(buffer[4 : 4 + size])
                del buffer[: 4 + size]
                self.taken[side] += 1
                try:
                    treat(frame)
                except WireError:
                    self.error = True
            else:
                break

    def written(self) -> tuple[bytes, bytes]:
        """Return what went to the broker and to the client so far."""
        return b"".join(self.session.to_broker), b"".join(self.session.to_client)

    def is_within(self, side: int) -> bool:
        """Whether a large frame is under way, of which the beginning may have gone on."""
        return int.from_bytes(self.buffers[side][:4], "big", signed=True) >= LARGE
