"""The requests of one connection that have no response yet, in the order in which they came.

Kafka answers a connection's requests in order. The broker keeps the order of its own answers; those that the gateway
gives itself wait here for their turn.
"""

from collections import deque

from bifrost.forwarding.lane import Awaited
from bifrost.session.close_reason import CloseReason, SessionEnded

Buffer = bytes | memoryview


class InFlight:
    """A queue of requests that the broker answers and of answers that wait for those before them."""

    __slots__ = ("queue",)

    def __init__(self) -> None:
        """Start empty."""
        self.queue: deque[Awaited | bytes] = deque()

    def __len__(self) -> int:
        return len(self.queue)

    def await_broker(self, awaited: Awaited) -> None:
        """Note a request that was sent to the broker."""
        self.queue.append(awaited)

    def answer(self, response: bytes) -> list[Buffer]:
        """Queue the gateway's own answer; return it instead if no request is before it."""
        if self.queue:
            self.queue.append(response)
            return []
        return [response]

    def abandon(self) -> None:
        """Await no more answers; the requests here are never answered."""
        while self.queue:
            one = self.queue.popleft()
            if not isinstance(one, bytes):
                one.abandon()

    def answered_by(self, frame: Buffer) -> Awaited:
        """Return the request that a broker's frame answers; it stays at the head.

        Raises:
            SessionEnded: the frame is not the answer to the oldest request.
        """
        if not self.queue or len(frame) < 4:
            raise SessionEnded(CloseReason.BROKER_MISBEHAVED, "the broker sent what no request asked for")
        head = self.queue[0]
        assert not isinstance(head, bytes), "an answer never waits at the head"
        if int.from_bytes(frame[:4], "big", signed=True) != head.correlation_id:
            raise SessionEnded(CloseReason.BROKER_MISBEHAVED, "the broker's answers are out of order")
        return head

    def complete(self) -> list[Buffer]:
        """Remove the request at the head, and return the answers that waited only for it."""
        self.queue.popleft()
        ready: list[Buffer] = []
        while self.queue and isinstance(self.queue[0], bytes):
            ready.append(self.queue.popleft())  # type: ignore[arg-type]
        return ready
