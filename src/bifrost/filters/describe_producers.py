"""DescribeProducers: a name outside the tenant's allow-list is a topic that does not exist.

The broker checks the form of names here, so such a name goes there as a legal one that no topic has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bifrost.filters.filter import Exchange, RequestFilter
from bifrost.filters.steps import FORWARD, RequestStep
from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from bifrost.wire.messages import DescribeProducersRequest


class DescribeProducersFilter(RequestFilter):
    """Asks for an absent topic in place of a hidden one."""

    def on_request(self, exchange: Exchange, request: DescribeProducersRequest) -> RequestStep:
        """Replace the names."""
        namespace = exchange.scope.namespace
        for topic in in_steps(request.topics):
            if namespace.hides(topic.name):
                topic.name = namespace.absent_topic(topic.name)
        return FORWARD
