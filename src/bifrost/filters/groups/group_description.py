"""ConsumerGroupDescribe, ShareGroupDescribe, StreamsGroupDescribe: replaces the members' addresses.

The broker saw every member at the gateway's address; the tenant gets the host by which it knows the gateway. The
namespace translates everything else in these answers. What the gateway has added to a member's names for its pattern
(moved_subscriptions.py) is taken out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from bifrost.filters.filter import Exchange, ResponseFilter
from bifrost.filters.steps import FORWARD, ResponseStep
from bifrost.wire.entity import Entity
from bifrost.wire.messages import ConsumerGroupDescribeResponse
from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from bifrost.wire.messages import ShareGroupDescribeResponse, StreamsGroupDescribeResponse

    _Described = ConsumerGroupDescribeResponse | ShareGroupDescribeResponse | StreamsGroupDescribeResponse

    _Group = (
        ConsumerGroupDescribeResponse.DescribedGroup
        | ShareGroupDescribeResponse.DescribedGroup
        | StreamsGroupDescribeResponse.DescribedGroup
    )

    _Member = (
        ConsumerGroupDescribeResponse.Member
        | ShareGroupDescribeResponse.Member
        | StreamsGroupDescribeResponse.Member
    )


class GroupDescriptionFilter(ResponseFilter):
    """Replaces the members' addresses."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset({Entity.CLIENT_HOST})

    def on_response(self, exchange: Exchange, response: _Described) -> ResponseStep:
        """Show the listener's host, in the form a broker uses."""
        groups: Sequence[_Group] = response.groups
        scope = exchange.scope
        subscriptions = scope.namespace.users.subscriptions
        for group in in_steps(groups):
            members: Sequence[_Member] = group.members
            for member in in_steps(members):
                member.client_host = f"/{scope.gateway_host}"
                if subscriptions is not None and isinstance(member, ConsumerGroupDescribeResponse.Member):
                    regex = member.subscribed_topic_regex or ""
                    added = set(subscriptions.topics_for(regex, scope.namespace.names))
                    named = member.subscribed_topic_names
                    member.subscribed_topic_names = [one for one in named if one not in added]
        return FORWARD
