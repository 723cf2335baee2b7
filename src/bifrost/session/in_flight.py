"""The requests of one connection that have no response yet, in the order in which they came.

Kafka answers a connection's requests in order. The broker keeps the order of its own answers; those that the gateway
gives itself wait here for their turn.
"""

from bifrost.forwarding.lane import Awaited, AwaitedQueue
from bifrost.session.close_reason import CloseReason, SessionEnded

Buffer = bytes | memoryview


class InFlight:
    """A queue of requests that the broker answers and of answers that wait for those before them."""

    __slots__ = ("queue",)

    def __init__(self) -> None:
        """Start empty."""
        self.queue = AwaitedQueue()

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

    def first(self) -> Awaited:
        """Return the request that the broker answers next; it stays at the head."""
        head = self.queue[0]
        assert not isinstance(head, bytes), "an answer never waits at the head"
        return head

    def unexpected(self, frame: Buffer) -> SessionEnded:
        """Return the exception that ends a session because a broker's frame does not answer the oldest request."""
        is_answer = bool(self.queue) and len(frame) >= 4
        detail = (
            "the broker's answers are out of order"
            if is_answer
            else "the broker sent what no request asked for"
        )
        return SessionEnded(CloseReason.BROKER_MISBEHAVED, detail)

    def complete(self) -> list[Buffer]:
        """Remove the request at the head, and return the answers that waited only for it.

        There is none when the connection ended while the work on its answer was paused.
        """
        if self.queue:
            self.queue.popleft()
        ready: list[Buffer] = []
        while self.queue and isinstance(self.queue[0], bytes):
            ready.append(self.queue.popleft())  # type: ignore[arg-type]
        return ready
