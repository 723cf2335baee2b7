"""JoinGroup: a member of the classic protocol does not join a group that has members of the newer one (KIP-848).

The coordinator would assign it physical partitions, which it would take for virtual ones, and nothing in an assignment
tells these from those of a leader. So it is answered INCONSISTENT_GROUP_PROTOCOL, as by a coordinator whose groups may
not have members of both. The group is asked for before; where it has become one of the newer protocol since then, the
answer shows it: only in such a group a member that has joined is told of no leader.

Source: GroupMetadataManager.classicGroupJoinToConsumerGroup, GroupMetadataManager.prepareAssignment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from bifrost.filters.error_response import error_response
from bifrost.filters.filter import Note
from bifrost.filters.groups.consumer_protocol import CONSUMER
from bifrost.filters.steps import FORWARD, Answer, AtBroker, RequestStep, ResponseStep
from bifrost.filters.virtual.groups.group_states import newer_group, read_members
from bifrost.wire.error_codes import ErrorCode

if TYPE_CHECKING:
    from bifrost.filters.filter import Exchange
    from bifrost.wire.entity import Entity
    from bifrost.wire.messages import JoinGroupRequest, JoinGroupResponse

_JOIN = "join"
_REFUSED = ErrorCode.INCONSISTENT_GROUP_PROTOCOL
_IS_OF_CONSUMERS: Note[bool] = Note("consumer_joins")


class JoinedMembersFilter:
    """Keeps members of the classic protocol out of groups of the newer one."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset()

    def on_request(self, exchange: Exchange, request: JoinGroupRequest) -> RequestStep:
        """Ask whether the group has members of the newer protocol."""
        if request.protocol_type != CONSUMER:
            return FORWARD  # A group of the newer protocol takes no other.
        asked = newer_group(exchange, request.group_id)
        if asked is None:
            return FORWARD
        exchange.keep(_IS_OF_CONSUMERS, True)
        met = exchange.met.get(AtBroker)
        if not isinstance(met, AtBroker):
            return AtBroker((asked,), plan=_JOIN)
        members = read_members(met.answers[0])
        error = _REFUSED if members.has_any else members.error_code
        if not error:
            return FORWARD
        answer = error_response(request, exchange.api_version, error)
        assert answer is not None, "the answer to a join has a place for an error"
        return Answer(answer)

    def on_response(self, exchange: Exchange, response: JoinGroupResponse) -> ResponseStep:
        """Refuse a member that has joined a group of the newer protocol all the same."""
        if exchange.find(_IS_OF_CONSUMERS) and not response.error_code and not response.leader:
            response.error_code = int(_REFUSED)
            response.generation_id, response.member_id = -1, ""
            response.members = []
        return FORWARD
