"""ConsumerGroupDescribe, ShareGroupDescribe, StreamsGroupDescribe: replaces the members' addresses.

The broker saw every member at the gateway's address; the tenant gets the host by which it knows the gateway. The
namespace translates everything else in these answers.
"""

from typing import Any, ClassVar

from bifrost.filters.filter import Exchange, ResponseFilter
from bifrost.wire.engine import in_steps
from bifrost.wire.entity import Entity


class GroupDescriptionFilter(ResponseFilter):
    """Replaces the members' addresses."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset({Entity.CLIENT_HOST})

    def on_response(self, exchange: Exchange, response: Any) -> None:
        """Show the listener's host, in the form a broker uses."""
        for group in in_steps(response.groups):
            for member in in_steps(group.members):
                member.client_host = f"/{exchange.scope.gateway_host}"
