"""What a filter asks the broker of the connection before the client's request goes on (`AtBroker`)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bifrost.filters import namespace as translation
from bifrost.filters.steps import Forward
from bifrost.forwarding.broker_costs import GROUP_NS
from bifrost.forwarding.lane import Awaited, Lane
from bifrost.session.close_reason import CloseReason, SessionEnded
from bifrost.session.in_flight import Buffer, InFlight
from bifrost.session.topics.inquiry import Inquiry
from bifrost.wire.codec import decode
from bifrost.wire.headers import response_body_offset
from bifrost.wire.programs import compile_layout
from bifrost.wire.schema import response_schema

if TYPE_CHECKING:
    from bifrost.filters.steps import AtBroker
    from bifrost.tenancy.namespace import Namespace
    from bifrost.wire.message import Message

MAX_REQUESTS = 1024
"""Most requests of one need: each of 512 groups of partitions has one, and each of at most two kinds."""


class AskedBroker(Inquiry):
    """The requests of one session's filters; those of one need are under way at a time."""

    __slots__ = ("_answers", "_need", "met")

    def __init__(self, namespace: Namespace, in_flight: InFlight) -> None:
        """Begin without requests."""
        super().__init__(namespace, in_flight)
        self._need: AtBroker | None = None
        self._answers: list[Any] = []
        self.met: AtBroker | None = None
        """The last need that was met for the request at hand."""

    def begin(self, need: AtBroker, lane: Lane, frame: Buffer) -> list[Buffer]:
        """Return the frames of the requests, which a filter asks for the client's request in `frame`.

        The groups that they name are charged here, and each request when it is sent.
        """
        assert 0 < len(need.requests) <= MAX_REQUESTS, (
            "a filter asks for some requests, and not without bound"
        )
        self._begin(lane, frame)
        self._need, self._answers = need, []
        for message, version in need.requests:
            translation.to_physical(self._namespace, message, version)
        lane.load.broker_left_ns -= need.groups * GROUP_NS
        return self._ask_all(need.requests)

    def forget(self) -> None:
        """Forget what was answered: the request at hand is done."""
        self.met = None

    def receive(self, frame: Buffer, awaited: Awaited) -> list[Buffer]:
        """Take an answer of the broker.

        Raises:
            WireError: it could not be read.
            SessionEnded: it is about what is not the tenant's.
        """
        assert self._need is not None
        message, version = self._need.requests[len(self._answers)]
        answer = self._read(message, version, frame)
        self._in_flight.complete()
        awaited.abandon()
        self._answers.append(answer)
        if len(self._answers) == len(self._need.requests):
            self.met = replace(self._need, answers=tuple(self._answers))
            self._need, self._answers, self.is_under_way = None, [], False
        return []

    def _read(self, message: Message, version: int, frame: Buffer) -> Any:
        api_key = message.SCHEMA.api_key
        assert api_key is not None
        schema = response_schema(api_key)
        offset, _ = response_body_offset(frame, schema.response_header_version(version) >= 1)
        answer = decode(compile_layout(schema.name, version), frame, offset)
        step = translation.to_virtual(self._namespace, answer, version)
        if not isinstance(step, Forward):
            # Filters ask by name, so there is no topic ID to look up.
            self._namespace.take_unresolved()
            detail = f"{schema.name} v{version} to a request of the gateway's own is about something else"
            raise SessionEnded(CloseReason.BROKER_MISBEHAVED, detail)
        return answer
