"""ListGroups and DeleteGroups: offset groups are not shown, and are deleted with their consumer group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from bifrost.filters.filter import Exchange, Note, ResponseFilter
from bifrost.filters.steps import FORWARD, AtBroker, RequestStep, ResponseStep
from bifrost.filters.virtual.division import virtual_topics
from bifrost.filters.virtual.offset_owners import OWNER_ROUNDS, are_too_many, owner_of
from bifrost.tenancy.names import VirtualGroup
from bifrost.tenancy.virtual_partitions.offset_groups import is_offset_group
from bifrost.tenancy.virtual_partitions.partition_map import PartitionGroup
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import DeleteGroupsRequest, DeleteGroupsResponse
from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from bifrost.wire.entity import Entity
    from bifrost.wire.messages import ListGroupsResponse

_DELETED: Note[list[Any]] = Note("deleted_groups")
_OWN, _OFFSET_GROUPS = "own", "offset groups"


class ListedGroupsFilter(ResponseFilter):
    """Leaves offset groups out of the list."""

    def on_response(self, exchange: Exchange, response: ListGroupsResponse) -> ResponseStep:
        """Leave them out."""
        names = exchange.scope.namespace.names
        response.groups = [
            one
            for one in in_steps(response.groups)
            if not is_offset_group(
                one.group_id, names.physical_group(VirtualGroup(one.group_id.encode())).decode()
            )
        ]
        return FORWARD


class DeletedGroupsFilter:
    """Deletes the groups first, and then the offset groups of those that are gone."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset()

    def on_request(self, exchange: Exchange, request: DeleteGroupsRequest) -> RequestStep:
        """Delete them by requests of the gateway's own; nothing is left in the client's."""
        met, version = exchange.met.get(AtBroker), exchange.api_version
        groups = virtual_topics(exchange).rules.groups
        if not request.groups_names:
            return FORWARD
        if are_too_many(exchange, in_steps(request.groups_names)):
            exchange.keep(_DELETED, _results(request, ErrorCode.INVALID_REQUEST))
        elif not isinstance(met, AtBroker):
            own = DeleteGroupsRequest(groups_names=list(request.groups_names))
            return AtBroker(((own, version),), plan=(_OWN, []), groups=len(own.groups_names))
        elif met.plan[0] == _OWN:
            results = met.answers[0].results
            gone = [
                one.group_id
                for one in in_steps(results)
                if one.error_code in (ErrorCode.NONE, ErrorCode.GROUP_ID_NOT_FOUND)
            ]
            if gone:
                others = [
                    owner_of(exchange, group_id, PartitionGroup(number))
                    for group_id in in_steps(gone)
                    for number in in_steps(range(1, groups), OWNER_ROUNDS)
                ]
                own = DeleteGroupsRequest(groups_names=others)
                return AtBroker(((own, version),), plan=(_OFFSET_GROUPS, results), groups=len(others))
            exchange.keep(_DELETED, results)
        else:
            exchange.keep(_DELETED, met.plan[1])
        request.groups_names = []
        exchange.wants_response = True
        return FORWARD

    def on_response(self, exchange: Exchange, response: DeleteGroupsResponse) -> ResponseStep:
        """Add the answers."""
        deleted = exchange.find(_DELETED)
        if deleted is not None:
            response.results.extend(deleted)
        return FORWARD


def _results(request: DeleteGroupsRequest, error_code: ErrorCode) -> list[Any]:
    new = DeleteGroupsResponse.DeletableGroupResult
    return [new(group_id=name, error_code=int(error_code)) for name in in_steps(request.groups_names)]
