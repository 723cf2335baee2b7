"""Gives every tenant a cluster ID of its own; no tenant sees the physical cluster's."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from bifrost.filters.filter import Exchange, RequestFilter, ResponseFilter
from bifrost.filters.steps import FORWARD, RequestStep, ResponseStep
from bifrost.wire.entity import Entity

if TYPE_CHECKING:
    from bifrost.wire.messages import DescribeClusterResponse, FetchRequest, MetadataResponse


class ResponseClusterIdFilter(ResponseFilter):
    """Metadata and DescribeCluster: gives the tenant's own cluster ID in place of the physical one."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset({Entity.CLUSTER_ID})

    def on_response(
        self, exchange: Exchange, response: MetadataResponse | DescribeClusterResponse
    ) -> ResponseStep:
        """Replace the ID, if the broker gave one."""
        if response.cluster_id:
            response.cluster_id = exchange.scope.namespace.virtual_cluster_id(response.cluster_id)
        return FORWARD


class RequestClusterIdFilter(RequestFilter):
    """Fetch v12+: only brokers send a cluster ID there, and check it; a client could only send the virtual one."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset({Entity.CLUSTER_ID})

    def on_request(self, exchange: Exchange, request: FetchRequest) -> RequestStep:
        """Remove the cluster ID."""
        request.cluster_id = None
        return FORWARD
