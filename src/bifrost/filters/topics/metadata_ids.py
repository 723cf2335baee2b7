"""Metadata by topic ID (KIP-516): a request with many foreign IDs costs the broker no more than one with a single one.

Versions 10 and 11 have the field and do not allow it: the gateway answers as KafkaApis.handleTopicMetadataRequest does
(InvalidRequestException, then MetadataRequest.getErrorResponse), because otherwise it would send masks that come back
under the names of the tenant's topics. From 12 on a request that has any ID is about IDs only, and names in it are
ignored. One with an item that has neither name nor ID makes the broker fail (UNKNOWN_SERVER_ERROR), and its answer,
without names, costs it as much as one about unknown IDs. Verified on Kafka 3.9.1 and 4.3.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from bifrost.filters.error_response import error_response
from bifrost.filters.filter import Exchange, Note
from bifrost.filters.steps import FORWARD, Answer, RequestStep, ResponseStep
from bifrost.filters.topics.stand_ins import StandIns
from bifrost.tenancy.topic_ids import ZERO_TOPIC_ID
from bifrost.wire.entity import Entity
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import MetadataResponse
from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from bifrost.wire.messages import MetadataRequest


BY_ID = 12
"""Metadata version from which a request may name topics by their IDs."""

_STAND_INS: Note[StandIns[bytes]] = Note("stand_ins")


class MetadataIdsFilter:
    """Sends the tenant's own IDs and one that is not, and answers for the others."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset()

    def on_request(self, exchange: Exchange, request: MetadataRequest) -> RequestStep:
        """Remove the IDs that are represented by another one."""
        topics = request.topics
        if topics is None:
            return FORWARD
        has_ids = any(topic.topic_id != ZERO_TOPIC_ID for topic in in_steps(topics))
        is_nameless = any(topic.name is None for topic in in_steps(topics))
        if exchange.api_version < BY_ID:
            is_valid = not (has_ids or is_nameless)
            return FORWARD if is_valid else _failed(exchange, request, ErrorCode.INVALID_REQUEST)
        if not has_ids:
            return _failed(exchange, request, ErrorCode.UNKNOWN_SERVER_ERROR) if is_nameless else FORWARD
        stand_ins: StandIns[bytes] = StandIns()
        namespace = exchange.scope.namespace
        by_id = {one.topic_id: one for one in in_steps(topics) if one.topic_id != ZERO_TOPIC_ID}
        request.topics = [
            topic
            for topic_id, topic in in_steps(by_id.items())
            if namespace.owns_id(topic_id) or stand_ins.is_sent("absent", topic_id)
        ]
        for topic in in_steps(request.topics):
            topic.name = None
        exchange.keep(_STAND_INS, stand_ins)
        return FORWARD

    def on_response(self, exchange: Exchange, response: MetadataResponse) -> ResponseStep:
        """Add answers for the removed IDs."""
        stand_ins = exchange.find(_STAND_INS)
        if stand_ins is not None:
            response.topics = stand_ins.answer_all(response.topics, lambda topic: topic.topic_id, _copy)
        return FORWARD


def _copy(answer: Any, topic_id: bytes) -> Any:
    return MetadataResponse.MetadataResponseTopic(
        error_code=answer.error_code,
        name=answer.name,
        topic_id=topic_id,
        is_internal=answer.is_internal,
        partitions=[],
        topic_authorized_operations=answer.topic_authorized_operations,
    )


def _failed(exchange: Exchange, request: MetadataRequest, error_code: ErrorCode) -> Answer:
    """Answer as MetadataRequest.getErrorResponse."""
    answer = error_response(request, exchange.api_version, error_code, each=in_steps)
    assert answer is not None, "a request without topics is not refused"
    return Answer(answer)
