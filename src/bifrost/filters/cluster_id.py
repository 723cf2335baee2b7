"""Gives every tenant a cluster ID of its own; no tenant sees the physical cluster's."""

from typing import Any, ClassVar

from bifrost.filters.filter import Exchange, RequestFilter, ResponseFilter
from bifrost.wire.entity import Entity
from bifrost.wire.message import Message


class ResponseClusterIdFilter(ResponseFilter):
    """Metadata and DescribeCluster: gives the tenant's own cluster ID in place of the physical one."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset({Entity.CLUSTER_ID})

    def on_response(self, exchange: Exchange, response: Any) -> None:
        """Replace the ID, if the broker gave one."""
        if response.cluster_id:
            response.cluster_id = exchange.scope.namespace.virtual_cluster_id(response.cluster_id)


class RequestClusterIdFilter(RequestFilter):
    """Fetch v12+: only brokers send a cluster ID there, and check it; a client could only send the virtual one."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset({Entity.CLUSTER_ID})

    def on_request(self, exchange: Exchange, request: Any) -> Message | None:
        """Remove the cluster ID."""
        request.cluster_id = None
        return None
