"""Fetch: READ on each topic, also of a fetch session that goes on (KIP-227).

A broker answers for a denied topic in every answer of a session. Here a session has permitted topics only: a request
that names a denied one ends the session, and each answer until the client stops naming it is a full one. A topic that
is revoked while the broker has its fetch is taken out of the answer, and the session ends (`IdentifiedSession`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from bifrost.filters.acls.denial import guard_of, put_back, split_topics, take_out, topic_name
from bifrost.filters.fetch import FINAL_EPOCH, session_not_found
from bifrost.filters.filter import Exchange
from bifrost.filters.steps import FORWARD, Answer, RequestStep, ResponseStep
from bifrost.tenancy.acls.acl_binding import Operation, ResourceType
from bifrost.wire.entity import Entity
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import FetchResponse
from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from bifrost.wire.messages import FetchRequest

_DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
_SESSIONS_SINCE = 7


class FetchAccessFilter:
    """Takes denied topics out of requests and answers."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset()

    def on_request(self, exchange: Exchange, request: FetchRequest) -> RequestStep:
        """Let the broker read the permitted topics only."""
        guard = guard_of(exchange)
        permitted, denied = split_topics(guard, request.topics, Operation.READ)
        if not denied:
            return FORWARD
        guard.deny(Operation.READ, len(denied))
        if request.session_epoch > 0:
            return Answer(session_not_found())
        answer = take_out(exchange, request, "topics", permitted, denied, _DENIED)
        assert answer is not None
        if not permitted:
            return Answer(answer)
        if exchange.api_version >= _SESSIONS_SINCE:
            request.session_epoch = FINAL_EPOCH
        return FORWARD

    def on_response(self, exchange: Exchange, response: FetchResponse) -> ResponseStep:
        """Take out what was revoked meanwhile, and add the answers for the denied topics."""
        guard = guard_of(exchange)
        for topic in in_steps(response.responses):
            name = topic_name(guard, topic)
            if name and not guard.may(Operation.READ, ResourceType.TOPIC, name):
                guard.deny(Operation.READ)
                topic.partitions = [_refused(one.partition_index) for one in in_steps(topic.partitions)]
        put_back(exchange, response)
        return FORWARD


def _refused(partition_index: int) -> Any:
    return FetchResponse.PartitionData(
        partition_index=partition_index, error_code=_DENIED, high_watermark=-1, records=b""
    )
