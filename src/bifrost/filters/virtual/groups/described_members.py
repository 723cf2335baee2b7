"""ConsumerGroupDescribe: members have virtual partitions, all of each physical one that they are assigned.

Source: ConsumerGroupDescribeResponse, KIP-848.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bifrost.filters.filter import ResponseFilter
from bifrost.filters.steps import FORWARD, ResponseStep
from bifrost.filters.virtual.division import virtual_topics
from bifrost.filters.virtual.groups.assigned_partitions import show_all
from bifrost.filters.virtual.shown_partitions import LIMIT, MAX_SHOWN
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from bifrost.filters.filter import Exchange
    from bifrost.filters.virtual.virtual_topics import VirtualTopics
    from bifrost.wire.messages import ConsumerGroupDescribeResponse

TOO_MANY = f"The members of the groups have more than {MAX_SHOWN} virtual partitions: ask for fewer groups."


class DescribedMembersFilter(ResponseFilter):
    """Shows what members have, and what they shall have."""

    def on_response(self, exchange: Exchange, response: ConsumerGroupDescribeResponse) -> ResponseStep:
        """Show virtual partitions; a group for which the answer has no room left is answered with an error."""
        virtual, room = virtual_topics(exchange), MAX_SHOWN
        for group in in_steps(response.groups):
            left = _show(virtual, group, room)
            if left is None:
                virtual.hit(LIMIT)
                group.error_code, group.error_message = int(ErrorCode.INVALID_REQUEST), TOO_MANY
                group.members = []
            else:
                room = left
        return FORWARD


def _show(
    virtual: VirtualTopics, group: ConsumerGroupDescribeResponse.DescribedGroup, room: int
) -> int | None:
    for member in in_steps(group.members):
        for assignment in (member.assignment, member.target_assignment):
            left = show_all(virtual, assignment.topic_partitions, room)
            if left is None:
                return None
            room = left
    return room
