"""Every tenant sees a cluster ID of its own; the physical cluster's stays behind the gateway."""

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
    """Fetch v12+: only brokers give a cluster ID there, and it is checked; a client's could only be the virtual one."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset({Entity.CLUSTER_ID})

    def on_request(self, exchange: Exchange, request: Any) -> Message | None:
        """Leave it out."""
        request.cluster_id = None
        return None
