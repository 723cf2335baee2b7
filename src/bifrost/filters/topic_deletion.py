"""DeleteTopics: a permission of its own (`allow_topic_deletion`), off unless the operator gives it."""

from typing import Any

from bifrost.filters.filter import Exchange, RequestFilter
from bifrost.tenancy.namespace import Namespace
from bifrost.tenancy.topic_ids import ZERO_TOPIC_ID
from bifrost.wire.engine import in_steps
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.message import Message
from bifrost.wire.messages import DeleteTopicsResponse


class TopicDeletionFilter(RequestFilter):
    """Answers for the broker when the tenant may not delete: Kafka's own order of checks, authorization first."""

    def on_request(self, exchange: Exchange, request: Any) -> Message | None:
        """Refuse every topic, or let the request go on."""
        namespace = exchange.scope.namespace
        if namespace.allow_topic_deletion:
            return None
        by_name = [_refuse_name(namespace, name) for name in in_steps(request.topic_names)]
        by_state = [
            _refuse_state(namespace, topic.name, topic.topic_id) for topic in in_steps(request.topics)
        ]
        return DeleteTopicsResponse(responses=by_name + by_state)


def _refuse_state(namespace: Namespace, name: str | None, topic_id: bytes) -> Any:
    """Refuse a topic of v6+, which has a name or an ID. The ID's owner is known by now."""
    if topic_id == ZERO_TOPIC_ID:
        return _refuse_name(namespace, name or "")
    topic = namespace.topic_of(topic_id)
    error_code = ErrorCode.UNKNOWN_TOPIC_ID if topic is None else ErrorCode.TOPIC_AUTHORIZATION_FAILED
    return _result(topic, topic_id, error_code)


def _refuse_name(namespace: Namespace, name: str) -> Any:
    if namespace.hides(name):
        return _result(name, ZERO_TOPIC_ID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    return _result(name, ZERO_TOPIC_ID, ErrorCode.TOPIC_AUTHORIZATION_FAILED)


def _result(name: str | None, topic_id: bytes, error_code: ErrorCode) -> Any:
    return DeleteTopicsResponse.DeletableTopicResult(
        name=name, topic_id=topic_id, error_code=error_code, error_message=error_code.message
    )
