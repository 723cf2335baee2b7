"""CreatePartitions: the brokers place new partitions, unless the policy lets the tenant assign them.

Their number is bounded (tenancy/topic_bounds.py).
"""

from typing import Any, ClassVar

from bifrost.filters.filter import Exchange
from bifrost.wire.engine import in_steps
from bifrost.wire.entity import Entity
from bifrost.wire.message import Message
from bifrost.wire.messages import CreatePartitionsResponse


class PartitionCreationFilter:
    """Refuses assignments that the policy does not allow; the rest goes to the broker, and one answer comes back."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset()

    def on_request(self, exchange: Exchange, request: Any) -> Message | None:
        """Remove the refused topics; answer at once when none is left."""
        namespace, refused, accepted = exchange.scope.namespace, [], []
        growth = None if namespace.bounds is None else namespace.bounds.grow()
        for topic in in_steps(request.topics):
            assigned = [len(one.broker_ids) for one in in_steps(topic.assignments or ())]
            refusal = namespace.policy.refuse_replicas(-1, assigned)
            physical = namespace.physical_name(topic.name)
            # The broker refuses a topic that does not exist.
            if refusal is None and growth is not None and growth.has(physical):
                refusal = growth.add(physical, topic.count)
            if refusal is None:
                accepted.append(topic)
            else:
                refused.append(
                    CreatePartitionsResponse.CreatePartitionsTopicResult(
                        name=topic.name, error_code=refusal.error_code, error_message=refusal.message
                    )
                )
        if refused and not accepted:
            return CreatePartitionsResponse(results=refused)
        if growth is not None and not request.validate_only:
            growth.commit()
        request.topics = accepted
        exchange.notes["partition_creation"] = refused
        return None

    def on_response(self, exchange: Exchange, response: Any) -> None:
        """Add the answers for the refused topics."""
        response.results.extend(exchange.notes["partition_creation"])
