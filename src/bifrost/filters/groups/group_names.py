"""Groups whose names the policies of namespaces do not allow: no member joins them, and no offset is committed.

A member of a group that had such a name before stays until it joins again. The engine has no name for such a group
(`Namespace`), so every request about it is decoded.
"""

from __future__ import annotations

from bifrost.filters.error_response import error_response
from bifrost.filters.filter import Exchange, RequestFilter
from bifrost.filters.steps import FORWARD, Answer, RequestStep
from bifrost.wire import messages
from bifrost.wire.steps import in_steps

_Request = (
    messages.JoinGroupRequest
    | messages.ConsumerGroupHeartbeatRequest
    | messages.ShareGroupHeartbeatRequest
    | messages.StreamsGroupHeartbeatRequest
    | messages.OffsetCommitRequest
    | messages.TxnOffsetCommitRequest
)

_JOINS = 0
"""The epoch with which a member of the newer protocols joins (KIP-848)."""


class GroupNameFilter(RequestFilter):
    """Refuses requests by which a group could come to be: joins of members, and commits of offsets."""

    def on_request(self, exchange: Exchange, request: _Request) -> RequestStep:
        """Answer when the group may not have its name."""
        rules = exchange.scope.namespace.rules
        if rules is None or getattr(request, "member_epoch", _JOINS) != _JOINS:
            return FORWARD
        refusal = rules.refuse_group(request.group_id)
        if refusal is None:
            return FORWARD
        code, text = refusal.error_code, refusal.message
        answer = error_response(request, exchange.api_version, code, message=text, each=in_steps)
        return FORWARD if answer is None else Answer(answer)  # None: it commits no offset.
