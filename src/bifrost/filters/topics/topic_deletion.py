"""DeleteTopics: a permission of its own (`allow_topic_deletion`), off unless the operator gives it.

One item represents all items that the broker refuses alike (stand_ins.py): IDs that are not the tenant's, IDs named
several times, items with a name and an ID, items with neither (ControllerApis.deleteTopics). The order of answers means
nothing: Kafka shuffles them.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, ClassVar

from bifrost.filters.filter import Exchange, Note
from bifrost.filters.steps import FORWARD, Answer, RequestStep, ResponseStep, TopicCount
from bifrost.filters.topics.growth import begin_growth
from bifrost.filters.topics.mutation_quota import charge_deletion, tell
from bifrost.filters.topics.stand_ins import StandIns
from bifrost.tenancy.namespace import Namespace
from bifrost.tenancy.topic_ids import ZERO_TOPIC_ID
from bifrost.wire.entity import Entity
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import DeleteTopicsResponse
from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from bifrost.wire.messages import DeleteTopicsRequest


_StandIns = StandIns[tuple[str | None, bytes]]

_STAND_INS: Note[_StandIns] = Note("stand_ins")
_REFUSED: Note[list[DeleteTopicsResponse.DeletableTopicResult]] = Note("refused_topics")
"""Answers for the topics that are not deleted."""


class TopicDeletionFilter:
    """Answers for the broker when the tenant may not delete: Kafka's own order of checks, authorization first."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset()

    def on_request(self, exchange: Exchange, request: DeleteTopicsRequest) -> RequestStep:
        """Refuse every topic, or pass the request on."""
        namespace = exchange.scope.namespace
        if namespace.allow_topic_deletion:
            refused = _charged(exchange, request)
            if isinstance(refused, TopicCount):
                return refused
            if refused and not (request.topics or request.topic_names):
                answer = DeleteTopicsResponse(responses=refused)
                tell(exchange, answer)
                return Answer(answer)
            exchange.keep(_REFUSED, refused)
            stand_ins: _StandIns = StandIns()
            exchange.keep(_STAND_INS, stand_ins)
            request.topics = _sent(namespace, request.topics, stand_ins)
            return FORWARD
        by_name = [_refuse_name(namespace, name) for name in in_steps(request.topic_names)]
        by_state = [
            _refuse_state(namespace, topic.name, topic.topic_id) for topic in in_steps(request.topics)
        ]
        return Answer(DeleteTopicsResponse(responses=by_name + by_state))

    def on_response(self, exchange: Exchange, response: DeleteTopicsResponse) -> ResponseStep:
        """Add answers for the represented items, and note the deleted topics."""
        _note_deleted(exchange.scope.namespace, response.responses)
        stand_ins = exchange.find(_STAND_INS)
        if stand_ins is not None:
            response.responses = stand_ins.answer_all(
                response.responses, lambda one: (one.name, one.topic_id), _copy
            )
        refused = exchange.find(_REFUSED)
        if refused:
            response.responses += refused
        tell(exchange, response)
        return FORWARD


def _charged(exchange: Exchange, request: DeleteTopicsRequest) -> list[Any] | TopicCount:
    """Charge the topics to the quota of partitions; remove those that it refuses, and return their answers."""
    if exchange.mutations is None:
        return []
    growth, namespace, refused = begin_growth(exchange), exchange.scope.namespace, []
    if isinstance(growth, TopicCount):
        return growth

    def is_left(name: str | None, topic_id: bytes) -> bool:
        known = namespace.topic_of(topic_id) if name is None and topic_id != ZERO_TOPIC_ID else name
        refusal = None if not known else charge_deletion(exchange, growth, known)
        if refusal is not None:
            refused.append(_result(name, topic_id, refusal.error_code))
        return refusal is None

    request.topic_names = [name for name in in_steps(request.topic_names) if is_left(name, ZERO_TOPIC_ID)]
    request.topics = [one for one in in_steps(request.topics) if is_left(one.name, one.topic_id)]
    return refused


def _note_deleted(namespace: Namespace, responses: list[Any]) -> None:
    if namespace.bounds is None:
        return
    for one in in_steps(responses):
        if one.error_code == ErrorCode.NONE and one.name is not None:
            namespace.bounds.note_deleted(namespace.physical_name(one.name))


def _sent(namespace: Namespace, topics: list[Any], stand_ins: _StandIns) -> list[Any]:
    """Return the items of v6+ that go to the broker."""
    times = Counter(topic.topic_id for topic in in_steps(topics) if topic.name is None)
    left: Counter[bytes] = Counter()
    sent = []
    for topic in in_steps(topics):
        name, topic_id = topic.name, topic.topic_id
        if name is not None:
            is_sent = topic_id == ZERO_TOPIC_ID or stand_ins.is_sent("name and ID", (name, topic_id))
        elif topic_id == ZERO_TOPIC_ID:
            is_sent = stand_ins.is_sent("neither", (name, topic_id))
        elif times[topic_id] == 1:
            is_sent = namespace.owns_id(topic_id) or stand_ins.is_sent("absent", (name, topic_id))
        elif topic_id in left:
            # Kafka answers once for an ID that is named several times, so two of the one that is sent will do.
            is_sent, left[topic_id] = left[topic_id] > 0, 0
        else:
            is_sent = stand_ins.is_sent("repeated", (name, topic_id))
            left[topic_id] = int(is_sent)
        sent += [topic] * is_sent
    return sent


def _copy(answer: Any, key: tuple[str | None, bytes]) -> Any:
    return DeleteTopicsResponse.DeletableTopicResult(
        name=key[0], topic_id=key[1], error_code=answer.error_code, error_message=answer.error_message
    )


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
