"""What a client may see of the cluster, and the operations that it is told it may do (KIP-430)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from bifrost.filters.acls.denial import deny, go_on, guard_of, needed, put_back, split, take_out
from bifrost.filters.authorized_operations import NOT_REQUESTED
from bifrost.filters.filter import Exchange, ResponseFilter
from bifrost.filters.steps import FORWARD, RequestStep, ResponseStep
from bifrost.tenancy.acls.access import DENIED_CODES
from bifrost.tenancy.acls.acl_binding import CLUSTER_NAME, Operation, ResourceType
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.entity import Entity
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.message import Message
from bifrost.wire.messages import ListConfigResourcesResponse
from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from bifrost.wire.messages import (
        AlterConfigsRequest,
        DescribeConfigsRequest,
        DescribeLogDirsResponse,
        IncrementalAlterConfigsRequest,
    )

_TOPIC, _GROUP, _CLUSTER = ResourceType.TOPIC, ResourceType.GROUP, ResourceType.CLUSTER

_CONFIG_TYPES = {2: _TOPIC, 32: _GROUP, 4: _CLUSTER, 8: _CLUSTER, 16: _CLUSTER}
"""Kafka's ConfigResource.Type codes: topic, group, broker, broker logger, client metrics."""


class ClusterAccessFilter:
    """An API that needs one operation on the cluster."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset()

    def on_request(self, exchange: Exchange, request: Message) -> RequestStep:
        """Refuse the request, or let it pass."""
        if guard_of(exchange).may_cluster(needed(exchange, _CLUSTER)):
            return FORWARD
        return deny(exchange, request, _CLUSTER)

    def on_response(self, exchange: Exchange, response: Message) -> ResponseStep:
        """Leave the answer unchanged."""
        return FORWARD


class ClusterListingAccessFilter:
    """An API that needs one operation on the cluster, and whose answer names topics or groups.

    What is in a namespace that the client may not enter for the operation is left out.
    """

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset()

    def on_request(self, exchange: Exchange, request: Message) -> RequestStep:
        """Refuse the request, or let the broker answer."""
        guard = guard_of(exchange)
        if not guard.may_cluster(needed(exchange, _CLUSTER)):
            return deny(exchange, request, _CLUSTER)
        exchange.wants_response = guard.authority.has_namespaces
        return FORWARD

    def on_response(
        self, exchange: Exchange, response: DescribeLogDirsResponse | ListConfigResourcesResponse
    ) -> ResponseStep:
        """Leave out the others."""
        guard, operation = guard_of(exchange), needed(exchange, _CLUSTER)
        if isinstance(response, ListConfigResourcesResponse):
            response.config_resources, _ = split(
                response.config_resources,
                lambda resource: guard.may_by_cluster(operation, resource.resource_name),
            )
            return FORWARD
        for directory in in_steps(response.results):
            directory.topics, _ = split(
                directory.topics, lambda topic: guard.may_by_cluster(operation, topic.name)
            )
        return FORWARD


class ConfigsAccessFilter:
    """An operation on each resource: a topic, a group, or the cluster for all others.

    Source: ConfigHelper.describeConfigs, ControllerApis.authorizeAlterResource.
    """

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset()

    def on_request(
        self,
        exchange: Exchange,
        request: DescribeConfigsRequest | AlterConfigsRequest | IncrementalAlterConfigsRequest,
    ) -> RequestStep:
        """Take out the denied resources."""
        guard, operation = guard_of(exchange), needed(exchange, _CLUSTER)

        def is_permitted(resource: Any) -> bool:
            kind = _CONFIG_TYPES.get(resource.resource_type)
            if kind is None:
                return True  # The next filter refuses it.
            name = CLUSTER_NAME if kind == _CLUSTER else resource.resource_name
            return guard.may(operation, kind, name)

        permitted, denied = split(request.resources, is_permitted)
        guard.deny(operation, len(denied))
        answer: Message | None = None
        for kind in (_TOPIC, _GROUP, _CLUSTER):
            of_kind = [one for one in in_steps(denied) if _CONFIG_TYPES[one.resource_type] == kind]
            code = DENIED_CODES[kind]
            made = take_out(exchange, request, "resources", permitted, of_kind, code, code.message)
            if made is not None and answer is not None and not permitted:
                for attribute in ("results", "responses"):
                    getattr(answer, attribute, []).extend(getattr(made, attribute, []))
            answer = answer or made
        return go_on(exchange, permitted, answer)

    def on_response(self, exchange: Exchange, response: Message) -> ResponseStep:
        """Add the answers for the denied resources."""
        put_back(exchange, response)
        return FORWARD


class RightsFilter(ResponseFilter):
    """The operations in Metadata, DescribeCluster, DescribeTopicPartitions and descriptions of groups: those that ACLs
    permit, of those that the tenant may do at all."""

    def on_response(self, exchange: Exchange, response: Any) -> ResponseStep:
        """Keep the permitted operations."""
        guard = guard_of(exchange)
        for topic in in_steps(getattr(response, "topics", ())):
            granted = topic.topic_authorized_operations
            if granted != NOT_REQUESTED and topic.error_code == ErrorCode.NONE and topic.name:
                topic.topic_authorized_operations = granted & guard.permitted(_TOPIC, topic.name)
        for group in in_steps(getattr(response, "groups", ())):
            granted = group.authorized_operations
            if granted != NOT_REQUESTED and group.error_code == ErrorCode.NONE:
                group.authorized_operations = granted & guard.permitted(_GROUP, group.group_id)
        granted = getattr(response, "cluster_authorized_operations", NOT_REQUESTED)
        if granted != NOT_REQUESTED and not guard.authority.is_open:
            permitted = guard.permitted(_CLUSTER, CLUSTER_NAME)
            # Without DESCRIBE on the cluster a broker tells nothing. Who may ALTER it may change ACLs.
            told = (granted | Operation.ALTER.bit) & permitted
            response.cluster_authorized_operations = told if permitted & Operation.DESCRIBE.bit else 0
        return FORWARD


NEEDS_CLUSTER = frozenset({ApiKey.DESCRIBE_CLIENT_QUOTAS, ApiKey.ALTER_CLIENT_QUOTAS})
"""The APIs of `ClusterAccessFilter`."""

LISTS_BY_CLUSTER = frozenset({ApiKey.DESCRIBE_LOG_DIRS, ApiKey.LIST_CONFIG_RESOURCES})
"""The APIs of `ClusterListingAccessFilter`."""
