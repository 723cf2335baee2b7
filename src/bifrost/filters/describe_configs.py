"""DescribeConfigs: a resource name means a topic, a group or a broker, as its type says.

A tenant reads the configs of its own topics and groups. A broker's would tell addresses and other people's affairs, and
are refused as Kafka refuses who may not DESCRIBE_CONFIGS on the cluster.
"""

from typing import Any

from bifrost.filters.filter import Exchange
from bifrost.wire.entities import Entity
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.message import Message
from bifrost.wire.messages import DescribeConfigsResponse

# Kafka's ConfigResource.Type codes.
_TOPIC, _GROUP = 2, 32
_CLUSTER_TYPES = frozenset({4, 8, 16})
"""BROKER, BROKER_LOGGER, CLIENT_METRICS."""

_ENTITIES = {_TOPIC: Entity.TOPIC_NAME, _GROUP: Entity.GROUP_ID}


class DescribeConfigsFilter:
    """Translates resource names by their type, and refuses the types that belong to the cluster."""

    def on_request(self, exchange: Exchange, request: Any) -> Message | None:
        """Keep back what is refused; answer at once when nothing is left."""
        refused, accepted = [], []
        for resource in request.resources:
            entity = _ENTITIES.get(resource.resource_type)
            if entity is None:
                refused.append(_refusal(resource))
                continue
            name = exchange.scope.namespace.physical(entity, resource.resource_name.encode())
            assert name is not None
            resource.resource_name = name.decode()
            accepted.append(resource)
        if refused and not accepted:
            return DescribeConfigsResponse(results=refused)
        request.resources = accepted
        exchange.notes["describe_configs"] = refused
        return None

    def on_response(self, exchange: Exchange, response: Any) -> None:
        """Name the resources as the tenant does, and add what was kept back."""
        namespace = exchange.scope.namespace
        for result in response.results:
            name = namespace.virtual(_ENTITIES[result.resource_type], result.resource_name.encode())
            assert name is not None, "the broker answers what it was asked"
            result.resource_name = name.decode()
            invalid = result.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
            if invalid and result.resource_type == _TOPIC and namespace.hides(result.resource_name):
                # The broker checks the form of the name that stands for "does not exist" (see metadata.py).
                result.error_code, result.error_message = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, None
        response.results.extend(exchange.notes["describe_configs"])


def _refusal(resource: Any) -> Any:
    known = resource.resource_type in _CLUSTER_TYPES
    error_code = ErrorCode.CLUSTER_AUTHORIZATION_FAILED if known else ErrorCode.INVALID_REQUEST
    return DescribeConfigsResponse.DescribeConfigsResult(
        error_code=error_code,
        error_message=error_code.message,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )
