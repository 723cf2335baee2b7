"""The operations a tenant may do, where a client asks for them (KIP-430).

The broker answers for the gateway's own principal, which may do anything; a tenant may do less. The operations listed
here must be those that succeed: tests/kafka/tenancy/test_authorized_operations.py does each of them.
"""

from bifrost.filters.filter import Exchange, ResponseFilter
from bifrost.filters.steps import FORWARD, ResponseStep
from bifrost.wire.message import Message
from bifrost.wire.steps import in_steps

# Bits of Kafka's AclOperation codes.
_READ, _WRITE, _CREATE, _DELETE, _ALTER, _DESCRIBE = (1 << code for code in range(3, 9))
_DESCRIBE_CONFIGS, _ALTER_CONFIGS, _IDEMPOTENT_WRITE = 1 << 10, 1 << 11, 1 << 12

NOT_REQUESTED = -(2**31)
"""Kafka's value for "the client did not ask"."""

_TOPIC_OPERATIONS = _READ | _WRITE | _CREATE | _ALTER | _DESCRIBE | _DESCRIBE_CONFIGS | _ALTER_CONFIGS
_GROUP_OPERATIONS = _READ | _DELETE | _DESCRIBE | _DESCRIBE_CONFIGS | _ALTER_CONFIGS
_CLUSTER_OPERATIONS = _DESCRIBE | _DESCRIBE_CONFIGS | _IDEMPOTENT_WRITE


class AuthorizedOperationsFilter(ResponseFilter):
    """Metadata v8+, DescribeCluster, DescribeTopicPartitions and the descriptions of groups: keeps the operations that
    the tenant may do."""

    def on_response(self, exchange: Exchange, response: Message) -> ResponseStep:
        """Intersect what the broker allows the gateway with what the gateway allows the tenant."""
        namespace = exchange.scope.namespace
        for topic in in_steps(getattr(response, "topics", ())):
            allowed = _TOPIC_OPERATIONS
            if namespace.allow_topic_deletion:
                allowed |= _DELETE
            topic.topic_authorized_operations = _intersect(topic.topic_authorized_operations, allowed)
        for group in in_steps(getattr(response, "groups", ())):
            group.authorized_operations = _intersect(group.authorized_operations, _GROUP_OPERATIONS)
        if hasattr(response, "cluster_authorized_operations"):
            # CREATE on the cluster permits any topic; on a topic, only that one.
            allowed = _CLUSTER_OPERATIONS | (_CREATE if namespace.names.is_dynamic else 0)
            response.cluster_authorized_operations = _intersect(
                response.cluster_authorized_operations, allowed
            )
        return FORWARD


def _intersect(granted: int, allowed: int) -> int:
    return granted if granted == NOT_REQUESTED else granted & allowed
