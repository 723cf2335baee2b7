"""CreatePartitions: the brokers place new partitions, unless the policy lets the tenant assign them.

Their number is bounded (tenancy/topic_bounds.py), and policies of namespaces bound that of each topic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from bifrost.filters.filter import Exchange, Note
from bifrost.filters.steps import FORWARD, Answer, RequestStep, ResponseStep, TopicCount
from bifrost.filters.topics.growth import at_brokers, begin_growth, commit_growth
from bifrost.filters.topics.mutation_quota import charge_growth, tell
from bifrost.wire.entity import Entity
from bifrost.wire.messages import CreatePartitionsResponse
from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from bifrost.wire.messages import CreatePartitionsRequest


_REFUSED: Note[list[CreatePartitionsResponse.CreatePartitionsTopicResult]] = Note("refused_topics")
"""Answers for the topics that get no partitions."""


class PartitionCreationFilter:
    """Refuses assignments that the policy does not allow; the rest goes to the broker, and one answer comes back."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset()

    def on_request(self, exchange: Exchange, request: CreatePartitionsRequest) -> RequestStep:
        """Remove the refused topics; answer at once when none is left."""
        namespace, refused, accepted = exchange.scope.namespace, [], []
        growth = begin_growth(exchange)
        if isinstance(growth, TopicCount):
            return growth
        for topic in in_steps(request.topics):
            assigned = [len(one.broker_ids) for one in in_steps(topic.assignments or ())]
            refusal = namespace.policy.refuse_replicas(-1, assigned)
            if refusal is None and namespace.rules is not None:
                refusal = namespace.rules.refuse_partitions(topic.name, topic.count, is_new=False)
            physical = namespace.physical_name(topic.name)
            if refusal is None and not request.validate_only:
                refusal = charge_growth(exchange, growth, topic)
            # The broker refuses a topic that does not exist.
            if refusal is None and growth is not None and growth.has(physical):
                refusal = growth.add(physical, at_brokers(exchange, topic.name, topic.count))
            if refusal is None:
                accepted.append(topic)
            else:
                refused.append(
                    CreatePartitionsResponse.CreatePartitionsTopicResult(
                        name=topic.name, error_code=refusal.error_code, error_message=refusal.message
                    )
                )
        if refused and not accepted:
            answer = CreatePartitionsResponse(results=refused)
            tell(exchange, answer)
            return Answer(answer)
        if growth is not None and not request.validate_only:
            commit_growth(exchange, growth)
        request.topics = accepted
        exchange.keep(_REFUSED, refused)
        return FORWARD

    def on_response(self, exchange: Exchange, response: CreatePartitionsResponse) -> ResponseStep:
        """Add the answers for the refused topics."""
        refused = exchange.kept(_REFUSED)
        response.results += refused
        tell(exchange, response)
        return FORWARD
