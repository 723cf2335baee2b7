"""CreateTopics: the filter answers for topics that the tenant may not create, sends the rest to the broker, and merges
the answers. The policy (`tenancy/policy.py`) says which configs a topic may have, the bounds
(`tenancy/topic_bounds.py`) how many topics, and policies of namespaces narrow both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from bifrost.config.name_template import MAX_TOPIC_NAME_LENGTH
from bifrost.filters.configs.inherited_configs import inherit_created, remember_created, show_inherited
from bifrost.filters.filter import Exchange, Note
from bifrost.filters.steps import FORWARD, Answer, RequestStep, ResponseStep, StateChange, TopicCount
from bifrost.filters.topics.growth import at_brokers, begin_growth, commit_growth
from bifrost.filters.topics.mutation_quota import charge_creation, tell
from bifrost.filters.topics.namespace_policy import refuse_creation, with_forced
from bifrost.tenancy.namespace import Namespace
from bifrost.tenancy.policy import ResourcePolicy
from bifrost.tenancy.topic_bounds import Growth
from bifrost.wire.entity import Entity
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import CreateTopicsRequest, CreateTopicsResponse
from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from bifrost.state.state_outcome import StateOutcome


EMPTY_TOPIC_NAME = "Topic name is invalid: the empty string is not allowed"
"""Topic.validate's words."""

_REFUSED: Note[list[CreateTopicsResponse.CreatableTopicResult]] = Note("refused_topics")
"""Answers for the topics that are not created."""


class TopicCreationFilter:
    """Refuses names outside the allow-list and names that do not fit once they carry the tenant's prefix."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset()

    def on_request(self, exchange: Exchange, request: CreateTopicsRequest) -> RequestStep:
        """Remove the refused topics; answer at once when none is left."""
        namespace, refused, accepted = exchange.scope.namespace, [], []
        growth = begin_growth(exchange)
        if isinstance(growth, TopicCount):
            return growth
        remembered = None if request.validate_only else remember_created(exchange, request.topics)
        if isinstance(remembered, StateChange):
            return remembered
        if remembered is not None:
            return Answer(_not_remembered(request, remembered))
        for topic in in_steps(request.topics):
            refusal = (
                _refusal(namespace, topic.name)
                or _violation(namespace.policy, topic)
                or _refused_in_namespace(namespace, growth, topic)
            )
            if refusal is None and not request.validate_only:
                refusal = _over_quota(exchange, growth, topic)
            if refusal is None and growth is not None:
                refusal = _beyond(exchange, growth, topic)
            if refusal is None:
                new = CreateTopicsRequest.CreatableTopicConfig
                topic.configs = with_forced(namespace, topic.name, topic.configs, new)
                inherit_created(namespace, topic)
                accepted.append(topic)
            else:
                refused.append(refusal)
        if refused and not accepted:
            answer = CreateTopicsResponse(topics=refused)
            tell(exchange, answer)
            return Answer(answer)
        if growth is not None and not request.validate_only:
            commit_growth(exchange, growth)
        request.topics = accepted
        exchange.keep(_REFUSED, refused)
        return FORWARD

    def on_response(self, exchange: Exchange, response: CreateTopicsResponse) -> ResponseStep:
        """Add the answers for the refused topics."""
        for topic in in_steps(response.topics):
            show_inherited(exchange.scope.namespace, topic.name, topic.configs or ())
        refused = exchange.kept(_REFUSED)
        response.topics += refused
        tell(exchange, response)
        return FORWARD


def _refusal(namespace: Namespace, name: str) -> Any:
    """Return the result for a topic that is not created, or None when the broker decides."""
    if not name:
        return _result(name, ErrorCode.INVALID_TOPIC_EXCEPTION, EMPTY_TOPIC_NAME)
    if name in (".", ".."):
        # Illegal by itself (Topic.validate), legal behind a prefix.
        return _result(
            name, ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic name is invalid: '{name}' is not allowed"
        )
    if namespace.hides(name):
        return _result(
            name, ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.TOPIC_AUTHORIZATION_FAILED.message
        )
    length, longest = len(name.encode()), namespace.room_for(name)
    if longest < length <= MAX_TOPIC_NAME_LENGTH:
        text = f"Topic name is invalid: it has {length} characters, and here it may have at most {longest}"
        return _result(name, ErrorCode.INVALID_TOPIC_EXCEPTION, text)
    return None


def _violation(policy: ResourcePolicy, topic: Any) -> Any:
    """Return the result for a topic that the policy does not allow, or None when it does."""
    refusal = policy.refuse_replicas(
        topic.replication_factor, [len(one.broker_ids) for one in in_steps(topic.assignments)]
    )
    for config in in_steps(topic.configs if refusal is None else ()):
        refusal = policy.refuse_topic_config(config.name, config.value)
        if refusal is not None:
            break
    return None if refusal is None else _result(topic.name, refusal.error_code, refusal.message)


def _refused_in_namespace(namespace: Namespace, growth: Growth | None, topic: Any) -> Any:
    """Return the result for a topic that a namespace's policy does not allow, or None when it does."""
    refusal = refuse_creation(namespace, growth, topic)
    return None if refusal is None else _result(topic.name, refusal.error_code, refusal.message)


def _over_quota(exchange: Exchange, growth: Growth | None, topic: Any) -> Any:
    """Return the result for a topic whose partitions are more than the quota leaves, or None when they are not."""
    refusal = charge_creation(exchange, growth, topic)
    return None if refusal is None else _result(topic.name, refusal.error_code, refusal.message)


def _beyond(exchange: Exchange, growth: Growth, topic: Any) -> Any:
    """Return the result for a topic that exceeds the tenant's bounds, or None when it does not."""
    partitions = at_brokers(exchange, topic.name, len(topic.assignments) or topic.num_partitions)
    refusal = growth.add(exchange.scope.namespace.physical_name(topic.name), partitions)
    return None if refusal is None else _result(topic.name, refusal.error_code, refusal.message)


def _not_remembered(request: CreateTopicsRequest, outcome: StateOutcome) -> CreateTopicsResponse:
    """Answer that no topic is created, because what is its own could not be remembered."""
    text = outcome.message or ""
    return CreateTopicsResponse(
        topics=[_result(topic.name, outcome.error_code, text) for topic in in_steps(request.topics)]
    )


def _result(name: str, error_code: ErrorCode, error_message: str) -> Any:
    return CreateTopicsResponse.CreatableTopicResult(
        name=name,
        error_code=error_code,
        error_message=error_message,
        topic_config_error_code=ErrorCode.NONE,
        num_partitions=-1,
        replication_factor=-1,
        configs=[],
    )
