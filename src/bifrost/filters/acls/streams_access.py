"""StreamsGroupHeartbeat (KIP-1071): the group, the topics of its topology, and those that the broker would create.

A broker creates missing internal topics of a topology with the rights of the member that sends a heartbeat, and tells
one without CREATE in the status of its answer. At the broker the gateway has rights of its own, so such a topology does
not go there. A heartbeat without a topology is not judged by topics.

Source: KafkaApis.handleStreamsGroupHeartbeat.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from bifrost.filters.acls.denial import deny, guard_of, refuse
from bifrost.filters.filter import Exchange, RequestFilter
from bifrost.filters.groups.group_heartbeat import internal_topics
from bifrost.filters.steps import FORWARD, RequestStep, TopicCount
from bifrost.filters.topics.growth import begin_growth
from bifrost.tenancy.acls.acl_binding import Operation, ResourceType
from bifrost.tenancy.acls.guard import Guard
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from bifrost.wire.messages import StreamsGroupHeartbeatRequest

_GROUP, _TOPIC = ResourceType.GROUP, ResourceType.TOPIC
_NO_TOPIC = ErrorCode.TOPIC_AUTHORIZATION_FAILED


class StreamsHeartbeatAccessFilter(RequestFilter):
    """READ on the group, DESCRIBE on each topic of the topology, CREATE on each internal topic that is missing."""

    def on_request(self, exchange: Exchange, request: StreamsGroupHeartbeatRequest) -> RequestStep:
        """Refuse the heartbeat, or let it pass."""
        guard = guard_of(exchange)
        if not guard.may(Operation.READ, _GROUP, request.group_id):
            return deny(exchange, request, _GROUP)
        if request.topology is None:
            return FORWARD
        subtopologies = request.topology.subtopologies
        if any(not guard.may(Operation.DESCRIBE, _TOPIC, name) for name in topology_topics(subtopologies)):
            return deny(exchange, request, _TOPIC)
        has_regex = any(one.source_topic_regex for one in in_steps(subtopologies))
        if has_regex and not guard.may_all(Operation.DESCRIBE, _TOPIC):
            guard.deny(Operation.DESCRIBE)
            text = "A pattern needs the right to describe all topics of the tenant"
            return refuse(exchange, request, _NO_TOPIC, text)
        return self._create(exchange, guard, request)

    def _create(self, exchange: Exchange, guard: Guard, request: StreamsGroupHeartbeatRequest) -> RequestStep:
        assert request.topology is not None
        names = (
            topic.name
            for subtopology in in_steps(request.topology.subtopologies)
            for topic in internal_topics(subtopology)
        )
        uncreatable = [
            name
            for name in names
            if not guard.may_by_cluster(Operation.CREATE, name)
            and not guard.may(Operation.CREATE, _TOPIC, name)
        ]
        if not uncreatable:
            return FORWARD
        growth = begin_growth(exchange)
        if isinstance(growth, TopicCount):
            return growth
        namespace = guard.namespace
        missing = [
            name for name in uncreatable if growth is None or not growth.has(namespace.physical_name(name))
        ]
        if not missing:
            return FORWARD
        guard.deny(Operation.CREATE, len(missing))
        text = f"Unauthorized to CREATE on topics {', '.join(missing[:MAX_QUOTED])}."
        return refuse(exchange, request, _NO_TOPIC, text)


MAX_QUOTED = 10
"""Names of topics that an error has."""


def topology_topics(subtopologies: Any) -> Iterator[str]:
    """Yield the topics of a topology, in a request or in a description."""
    for subtopology in in_steps(subtopologies or ()):
        yield from subtopology.source_topics
        yield from subtopology.repartition_sink_topics
        for topic in internal_topics(subtopology):
            yield topic.name
