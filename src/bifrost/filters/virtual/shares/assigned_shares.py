"""ShareGroupHeartbeat (KIP-932): a member has virtual partitions, the coordinator assigns physical ones.

A member does not say what it has, so its heartbeats go on as they are. A coordinator may assign a physical partition to
several members: each of them has all of its virtual partitions then, and each record is given to one of them.

Source: GroupMetadataManager.shareGroupHeartbeat, SimpleAssignor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bifrost.filters.filter import ResponseFilter
from bifrost.filters.virtual.groups.assigned_partitions import show_assignment

if TYPE_CHECKING:
    from bifrost.filters.filter import Exchange
    from bifrost.filters.steps import ResponseStep
    from bifrost.wire.messages import ShareGroupHeartbeatResponse


class AssignedSharesFilter(ResponseFilter):
    """Shows members of share groups virtual partitions."""

    def on_response(self, exchange: Exchange, response: ShareGroupHeartbeatResponse) -> ResponseStep:
        """Show the member all virtual partitions of those that the coordinator assigns to it."""
        return show_assignment(exchange, response)
