"""The hot path of a session: see forwarding.pyx."""

from typing import Any

from bifrost.forwarding.gateway_time import GatewayTime
from bifrost.forwarding.lane import Awaited, AwaitedQueue, Lane, Reason
from bifrost.forwarding.load import Load
from bifrost.forwarding.quotas.quota import Quota
from bifrost.forwarding.traffic import Traffic
from bifrost.wire.framer import FrameConsumer

class Forwarding(FrameConsumer):
    """The compiled part of a session: it forwards the frames that need no decision.

    The session fills in its own objects. It treats every frame that does not pass here, by the reason why.
    """

    _lanes: dict[int, Lane]
    """By API key << 16 | API version."""
    _queue: AwaitedQueue
    """What the broker will answer, each an Awaited, and own answers behind it."""
    _authentication: Any
    """The object that gets frames first; None: the client need not authenticate now."""
    _held_requests: list[bytes | memoryview]
    _held_responses: list[bytes | memoryview]
    to_client: list[bytes | memoryview]
    to_broker: list[bytes | memoryview]
    _load: Load | None
    """The tenant's load, to which its time is charged; None while the tenant is not known."""
    _gateway_time: GatewayTime | None
    """Counts how long the tenant's messages are kept; None while the tenant is not known."""
    _quota: Quota | None
    """What the client's messages are charged to; None: it has no quota, or has sent no request yet."""
    _producer: object | None
    """In whose name ways may write batches (`OwnProducer`); None: they may not."""
    _max_in_flight: int
    """Requests that may await their answers; from then on the session holds what comes."""
    reads_both: bool
    """Whether both sides are read; the connection that reads them says so."""
    needs_whole: bool
    """Whether no request may be sent on before it is whole: a router takes it apart."""
    hot_steps: int
    """Rounds of work here for all frames that come together (`HOT_STEPS`); what takes more is treated in slices."""

    @property
    def is_passing(self) -> bool:
        """Whether a large request is being forwarded whose rest has not arrived: then the client has to be read."""

    @property
    def awaits_broker(self) -> bool:
        """Whether an answer is awaited, and no rest of a request has still to arrive."""

    def judge_request_fields(self, plan: Any, fields: tuple[int, ...]) -> Reason:
        """Return the reason why a request with these peeked fields, which are not as usual, is not sent on, or PASSES.

        The session has this method, and the next, not the compiled part.
        """

    def judge_response_fields(self, fields: tuple[int, ...]) -> Reason:
        """Return likewise the reason for a response."""

    def use_fetch_session(self, session_id: int, memory: bytearray | memoryview, mark: int) -> None:
        """Let messages that name this fetch session, the connection's own, pass without asking.

        Args:
            session_id: by which clients name it.
            memory: 8 writable bytes that hold `mark` as long as the session is its namespace's, in every process.
            mark: an unsigned number of 8 bytes.
        Raises:
            ValueError: the memory is too small.
        """

    def remember_answer(self, request: bytes, answer: bytes, traffic: Traffic) -> None:
        """Give the same answer, under its new correlation ID, whenever the same request comes again.

        Args:
            request: a frame without its length, which the gateway has answered itself, and not with an error.
            answer: a whole frame, for any correlation ID.
            traffic: where both are counted.
        Raises:
            ValueError: one of them has no correlation ID.
        """

    def charge_request(self, lane: Lane, size: int) -> None:
        """Charge the client's quota for a request of so many bytes that the session has just sent on."""

    def charge_work(self, began_ns: int) -> None:
        """Charge it for the time since then, in nanoseconds, unless that belongs to a turn, which is charged whole."""

    def charge_own(self, lane: Lane, size: int) -> int:
        """Charge it for a request of so many bytes that the gateway answers, those of a Produce as any.

        Returns:
            How long the answer to a Produce tells the client to wait, in milliseconds.
        """

    def charge_response(self, awaited: Awaited, size: int) -> None:
        """Charge it for a broker's answer of so many bytes that the session has handled."""

    def throttle_ms(self, awaited: Awaited, size: int) -> int:
        """Return how long a broker's answer tells the client to wait, in milliseconds; it is counted as told.

        Args:
            awaited: the request.
            size: bytes of the answer, which are not charged yet.
        """

    def forward_request(self, frame: bytes | memoryview) -> Reason:
        """Rewrite a request into `to_broker`, and note what is awaited.

        Returns:
            PASSES; any other reason: nothing has changed, and the session has to look at it.

        Raises:
            MalformedFrame: it does not parse.
        """

    def forward_held(self, frame: bytes | memoryview, came_ns: int, has_turn: bool) -> Reason:
        """Do the same for the first held request, although it is held.

        Args:
            frame: the request, without its length.
            came_ns: when it came, by the engine's monotonic clock, in nanoseconds.
            has_turn: whether its client waits for a quota no longer, if others do.
        """

    def forward_response(self, frame: bytes | memoryview) -> Reason:
        """Rewrite the response to what is first awaited into `to_client`, with the own answers that waited for it."""

    def judge_request(self, lane: Lane, frame: bytes | memoryview, start: int = 0) -> Reason:
        """Say whether a request may be sent on, rewritten in place, or why not; nothing is changed.

        What comes first (HELD) does not matter here, nor whether its names are known.

        Args:
            lane: the request's.
            frame: without its length.
            start: where its body begins, if it has room and its header was read: then only its body matters. Else 0.
        Raises:
            MalformedFrame: it ends before the fields that matter.
        """

    def judge_response(self, frame: bytes | memoryview, start: int = 0, is_claimed: bool = False) -> Reason:
        """Say likewise of a response.

        Args:
            frame: without its length.
            start: where its body begins, if its header and what was kept with the request were looked at; else 0.
            is_claimed: whether the fetch session that it names was looked at as well.
        """
