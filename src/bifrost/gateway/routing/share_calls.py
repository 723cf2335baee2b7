"""A request of a member of a share group (KIP-932) at a single address while it is under way, and its parts."""

from collections import deque
from typing import TYPE_CHECKING

from bifrost.gateway.routing.request import way_of
from bifrost.routes.shares import share_parts
from bifrost.routes.shares.share_answers import ShareAnswers
from bifrost.routes.shares.share_parts import Batches, Result
from bifrost.routes.shares.share_session import INITIAL_EPOCH, Key, ShareSession
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.message import Message
from bifrost.wire.messages import ShareAcknowledgeRequest, ShareFetchRequest

if TYPE_CHECKING:
    from bifrost.gateway.routing.request import Request
    from bifrost.gateway.routing.router import Turn

RECORD_LIMIT = 1
"""ShareAcquireMode.RECORD_LIMIT (KIP-1206): no more records than asked for, so one broker is asked after the other."""


class Member:
    """A member, what it was told, and what brokers have for it."""

    __slots__ = ("answers", "code", "key", "session")

    def __init__(self, key: tuple[str, str]) -> None:
        """Begin its session.

        Args:
            key: the group, and the member's ID.
        """
        self.key = key
        self.session, self.answers = ShareSession(), ShareAnswers()
        self.code = 0
        """The error of a whole answer of a broker that the client was not told yet."""


class ShareCall:
    """A ShareFetch or ShareAcknowledge that the client awaits."""

    __slots__ = (
        "acknowledging",
        "due_s",
        "fetch",
        "is_asked",
        "is_begun",
        "is_due",
        "is_final",
        "is_polled",
        "lock_ms",
        "member",
        "message",
        "named",
        "refusals",
        "reopened",
        "request",
        "results",
        "steps",
        "throttle_ms",
        "turn",
    )

    def __init__(self, turn: "Turn", request: "Request") -> None:
        """Take a request.

        Raises:
            MalformedFrame: it does not parse.
        """
        message = request.decoded()
        assert isinstance(message, ShareFetchRequest | ShareAcknowledgeRequest)
        self.turn, self.request, self.message = turn, request, message
        self.fetch = message if isinstance(message, ShareFetchRequest) else None
        self.named: dict[Key, Batches] = share_parts.named(message)
        """The partitions that it names, with its acknowledgements."""
        self.member: Member | None = None
        self.results: dict[Key, Result] = {}
        """Of its acknowledgements."""
        self.refusals: list[int] = []
        """Errors of whole answers to them."""
        self.acknowledging = 0
        """Brokers that have not answered them."""
        self.is_begun = self.is_final = self.is_polled = self.is_due = False
        self.is_asked = False
        """Whether each broker has had a poll since it came."""
        self.due_s = 0.0
        self.lock_ms = self.throttle_ms = 0
        self.reopened: set[int] = set()
        """Brokers at which a session was begun in place of one that they did not know."""
        self.steps: deque[tuple[int, int]] = deque()
        """The brokers that are asked one after the other, and how long, in milliseconds."""

    @property
    def is_fetching(self) -> bool:
        """Whether brokers are asked for records: not if it only renews locks (KIP-1222)."""
        return self.fetch is not None and not self.is_final and not self.fetch.is_renew_ack

    @property
    def is_one_by_one(self) -> bool:
        """Whether one broker is asked after the other."""
        return self.fetch is not None and self.fetch.share_acquire_mode == RECORD_LIMIT

    def refusal(self) -> ErrorCode:
        """Return what is wrong with it whatever the session is, or NONE.

        Source: SharePartitionManager.newContext and acknowledgeSessionUpdate; KIP-1222: a request that renews locks
        asks for no records.
        """
        fetch = self.fetch
        limits = (
            () if fetch is None else (fetch.max_wait_ms, fetch.min_bytes, fetch.max_bytes, fetch.max_records)
        )
        if self.message.is_renew_ack and any(limits):
            return ErrorCode.INVALID_REQUEST
        if self.message.share_session_epoch != INITIAL_EPOCH:
            return ErrorCode.NONE
        if fetch is None:
            return ErrorCode.INVALID_SHARE_SESSION_EPOCH
        return ErrorCode.INVALID_REQUEST if any(self.named.values()) else ErrorCode.NONE


def part_of(request: "Request", api_key: ApiKey, message: Message) -> "Request":
    """Return a request to a broker in place of a client's, under the same header but for its API."""
    whole = request.whole
    head = api_key.to_bytes(2, "big") + bytes(whole[6 : request.body])
    way = way_of(api_key, request.api_version)
    made = request._replace(api_key=api_key, way=way, segments=[bytes(4) + head], body=4 + len(head))
    return made._replace(segments=made.encoded(message))
