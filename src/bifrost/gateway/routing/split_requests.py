"""Requests by partition, but for Fetch: each leader gets its part at once, and the last answer completes them.

A part whose broker is not reached, or does not answer in time, has Kafka's retriable error for its partitions, and the
others have what their brokers said.
"""

from functools import cache
from typing import TYPE_CHECKING

from bifrost.gateway.routing.request import ANSWER_TIMEOUT_S, read_request
from bifrost.routes.split import Split
from bifrost.routes.straight import StraightRequest
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.program import Peek, peek
from bifrost.wire.programs import compile_peek

if TYPE_CHECKING:
    from bifrost.gateway.routing.request import Request
    from bifrost.gateway.routing.router import Router, Turn

Buffer = bytes | memoryview

MANY_ITEMS = 1_000
"""So many partitions take part of a millisecond to take apart, or to put together."""

LATE_S = 5.0
"""How much later than a Produce asks for its answer may come: the broker itself gives up at the request's timeout, and
tells so."""

MAX_PRODUCE_TIMEOUT_S = 600.0
"""Bounds the timeout that a request can ask for."""

NO_TIMEOUT = -1
"""What a straight request has that asks for no timeout: it is no Produce."""


def split_of(request: "Request") -> Split:
    """Take a request apart.

    Raises:
        MalformedFrame: the request does not parse.
    """
    shapes = request.shapes
    return Split(shapes.request, shapes.template, request.segments, request.body)


class SplitRequest:
    """One such request under way."""

    __slots__ = ("_left", "_request", "_router", "_split", "_turn")

    def __init__(self, router: "Router", request: "Request", split: Split) -> None:
        """Take a request that was taken apart."""
        self._router, self._request, self._split = router, request, split
        self._turn: Turn | None = None
        self._left = 0

    def send(self) -> None:
        """Send its parts."""
        router, request, nodes = self._router, self._request, self._split.nodes()
        if not nodes and not self._split.has_absent:
            nodes = [router.home]
        timeout_s, is_answered = request.way.timeout_s, True
        if request.api_key == ApiKey.PRODUCE:
            acks, timeout_ms = peek(_produce_fields(request.api_version), self._split.before, 0)
            is_answered = acks != 0
            timeout_s = _produce_timeout_s(timeout_ms)
        if is_answered:
            self._turn, self._left = router.turn(), len(nodes)
            if not nodes:
                self._answer()
        for node_id in nodes:
            part = self._split.part(node_id)
            link = router.link(node_id)
            if not is_answered:
                link.send(part, None, timeout_s)
                continue

            def answered(frame: Buffer | None, may_be_done: bool, node_id: int = node_id) -> None:
                self._note(node_id, frame, may_be_done=may_be_done)

            link.send(part, answered, timeout_s)
        if not is_answered and self._split.has_absent:
            # As KafkaApis does: otherwise the client would not learn that records are lost.
            router.end("a record without an answer is for a partition that does not exist")

    def _note(self, node_id: int, frame: Buffer | None, *, may_be_done: bool) -> None:
        _take(self._request, self._split, node_id, frame, may_be_done=may_be_done)
        self._left -= 1
        if not self._left:
            self._answer()

    def _answer(self) -> None:
        router, split = self._router, self._split
        assert self._turn is not None
        router.answer(self._turn, _merged(router, self._request, split), items=split.partitions)


def straight_timeout_s(straight: StraightRequest) -> float:
    """Return how long the answer to a request may take that one broker gets."""
    timeout_ms = straight.timeout_ms
    return ANSWER_TIMEOUT_S if timeout_ms == NO_TIMEOUT else _produce_timeout_s(timeout_ms)


def straight_answer(
    router: "Router", straight: StraightRequest, frame: Buffer | None, *, may_be_done: bool
) -> Buffer:
    """Return the answer to such a request when the broker's cannot be passed on as it is, or there is none.

    Raises:
        WireError: the broker's answer cannot be read.
    """
    request = read_request(straight.segments)
    split = split_of(request)
    split.place(straight.node, straight.is_sure)
    _take(request, split, straight.node, frame, may_be_done=may_be_done)
    return _merged(router, request, split)


def _take(request: "Request", split: Split, node_id: int, frame: Buffer | None, *, may_be_done: bool) -> None:
    """Take the answer of a broker; None: it is lost."""
    if frame is not None:
        split.take(node_id, frame, len(request.response_head))
    elif may_be_done and request.api_key == ApiKey.PRODUCE:
        # The records may be stored: only a client with idempotence may be sure that they are there once.
        split.fail(node_id, ErrorCode.REQUEST_TIMED_OUT)
    else:
        split.fail(node_id, ErrorCode.NOT_LEADER_OR_FOLLOWER)


def _merged(router: "Router", request: "Request", split: Split) -> Buffer:
    """Return the client's answer, and forget the leaders that brokers deny to be."""
    if split.has_error:
        router.cluster.routes.forget_leaders(split.stale(), by_id=request.shapes.is_by_id)
    return split.merged(request.response_head)


def _produce_timeout_s(timeout_ms: int) -> float:
    return min(max(timeout_ms / 1000, 0.0), MAX_PRODUCE_TIMEOUT_S) + LATE_S


@cache
def _produce_fields(version: int) -> Peek:
    return compile_peek("ProduceRequest", version, ("Acks", "TimeoutMs"))
