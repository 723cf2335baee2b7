"""ConsumerGroupDescribe, ShareGroupDescribe: members have all virtual partitions of each physical one that is assigned.

Source: ConsumerGroupDescribeResponse, KIP-848; ShareGroupDescribeResponse, KIP-932.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bifrost.filters.filter import ResponseFilter
from bifrost.filters.steps import FORWARD, ResponseStep
from bifrost.filters.virtual.division import virtual_topics
from bifrost.filters.virtual.groups.assigned_partitions import show_all
from bifrost.filters.virtual.shown_partitions import LIMIT, MAX_SHOWN
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bifrost.filters.filter import Exchange
    from bifrost.filters.virtual.virtual_topics import VirtualTopics
    from bifrost.wire.messages import ConsumerGroupDescribeResponse, ShareGroupDescribeResponse

TOO_MANY = f"The members of the groups have more than {MAX_SHOWN} virtual partitions: ask for fewer groups."


class DescribedMembersFilter(ResponseFilter):
    """Shows what members have, and what they shall have."""

    def on_response(self, exchange: Exchange, response: ConsumerGroupDescribeResponse) -> ResponseStep:
        """Show virtual partitions; a group for which the answer has no room left is answered with an error."""
        _show_groups(exchange, response, lambda member: (member.assignment, member.target_assignment))
        return FORWARD


class DescribedSharersFilter(ResponseFilter):
    """Shows what members of share groups have (KIP-932)."""

    def on_response(self, exchange: Exchange, response: ShareGroupDescribeResponse) -> ResponseStep:
        """Show virtual partitions likewise."""
        _show_groups(exchange, response, lambda member: (member.assignment,))
        return FORWARD


def _show_groups(exchange: Exchange, response: Any, assignments_of: Callable[[Any], Iterable[Any]]) -> None:
    virtual, room = virtual_topics(exchange), MAX_SHOWN
    for group in in_steps(response.groups):
        assignments = (one for member in in_steps(group.members) for one in assignments_of(member))
        left = _show(virtual, assignments, room)
        if left is None:
            virtual.hit(LIMIT)
            group.error_code, group.error_message = int(ErrorCode.INVALID_REQUEST), TOO_MANY
            group.members = []
        else:
            room = left


def _show(virtual: VirtualTopics, assignments: Iterable[Any], room: int) -> int | None:
    for assignment in assignments:
        left = show_all(virtual, assignment.topic_partitions, room)
        if left is None:
            return None
        room = left
    return room
