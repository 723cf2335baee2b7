"""Fetch: READ on each topic, also of a fetch session that goes on (KIP-227).

A session has permitted topics only (left_out/fetches.py). A topic that is revoked while the broker has its fetch is
taken out of the answer, and the session ends (`IdentifiedSession`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from bifrost.filters.acls.denial import DENIED_ITEMS, guard_of, put_back, split_topics, topic_name
from bifrost.filters.filter import Exchange
from bifrost.filters.left_out.fetches import leave_out
from bifrost.filters.steps import FORWARD, RequestStep, ResponseStep
from bifrost.tenancy.acls.acl_binding import Operation, ResourceType
from bifrost.wire.entity import Entity
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import FetchResponse
from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from bifrost.wire.messages import FetchRequest

_DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED


class FetchAccessFilter:
    """Takes denied topics out of requests and answers."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset()

    def on_request(self, exchange: Exchange, request: FetchRequest) -> RequestStep:
        """Let the broker read the permitted topics only."""
        guard = guard_of(exchange)
        permitted, denied = split_topics(guard, request.topics, Operation.READ)
        guard.deny(Operation.READ, len(denied))
        return leave_out(DENIED_ITEMS, exchange, request, permitted, denied, _DENIED)

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
