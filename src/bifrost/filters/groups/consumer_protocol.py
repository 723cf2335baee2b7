"""The consumer protocol inside JoinGroup, SyncGroup and DescribeGroups: subscriptions and assignments name topics too.

The broker parses them: to decide which committed offsets may expire (ClassicGroup.isSubscribedToTopic), to assign
partitions to a classic member of a KIP-848 group, and to upgrade a group to one (ConsumerGroup.fromClassicGroup).
consumer_payload.py reads a payload and encodes it again; this module refuses those that cannot be read.

Other protocol types (`connect`, `sr`) are their members' own: the broker stores the bytes and never looks into them,
and only members of the tenant's own group and its own admins get them back. When a request names its type, the broker
checks it (SyncGroup v5, KIP-559: INCONSISTENT_GROUP_PROTOCOL if the group has another type). Before v5 the type is
known from the join, which the broker accepted. A payload from which a broker could read an assignment is refused even
then: a member's ID may be used again, in a group of another type and by way of another worker.

On the way back a payload of a consumer group that cannot be read was left by a member before the group's payloads were
checked; an empty one stands in for it.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, ClassVar

from bifrost.filters import namespace as translation
from bifrost.filters.filter import Exchange, Note, ResponseFilter
from bifrost.filters.groups.consumer_payload import (
    ASSIGNMENT,
    EMPTY,
    SUBSCRIPTION,
    MalformedPayload,
    is_assignment_to_a_broker,
    translate,
)
from bifrost.filters.steps import FORWARD, Answer, RequestStep, ResponseStep
from bifrost.tenancy.namespace import Namespace
from bifrost.wire.entity import Entity
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.message import Message
from bifrost.wire.messages import JoinGroupResponse, SyncGroupResponse
from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from bifrost.wire.messages import DescribeGroupsResponse, JoinGroupRequest, SyncGroupRequest


CONSUMER = "consumer"

_NULLABLE_PROTOCOL_NAME = 7
"""JoinGroup version from which "no protocol" is null, not empty."""

_MALFORMED = ErrorCode.UNKNOWN_SERVER_ERROR
"""What Kafka 4.3.1 answers to a classic member of a KIP-848 group when it cannot parse its payload: the coordinator
throws an IllegalStateException, "Malformed embedded consumer protocol" (GroupMetadataManager.deserializeSubscription
and prepareAssignment). In a classic group it accepts some, and never answers to others (a negative count)."""

_JOINED: Note[tuple[str, str]] = Note("join")
"""The group's ID and its protocol type."""

_IS_OF_CONSUMERS: Note[bool] = Note("is_of_consumers")


class JoinGroupFilter:
    """Translates the members' subscriptions in the request and, for the leader, in the response."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset({Entity.SUBSCRIPTION})

    def on_request(self, exchange: Exchange, request: JoinGroupRequest) -> RequestStep:
        """Translate the subscription of every protocol the member offers, or refuse one that cannot be read."""
        if not request.group_id:
            # Prefixed it would be a group like any other; GroupCoordinator refuses the empty one.
            return Answer(_not_joined(exchange, request, ErrorCode.INVALID_GROUP_ID))
        exchange.keep(_JOINED, (request.group_id, request.protocol_type))
        if request.protocol_type != CONSUMER:
            return FORWARD
        namespace = exchange.scope.namespace
        try:
            for protocol in in_steps(request.protocols):
                protocol.metadata = translate(
                    protocol.metadata,
                    SUBSCRIPTION,
                    translation.to_physical,
                    namespace,
                    assignor=protocol.name,
                )
        except MalformedPayload:
            return Answer(_not_joined(exchange, request, _MALFORMED))
        return FORWARD

    def on_response(self, exchange: Exchange, response: JoinGroupResponse) -> ResponseStep:
        """Translate the members' subscriptions that the leader receives."""
        namespace = exchange.scope.namespace
        group_id, protocol_type = exchange.kept(_JOINED)
        if protocol_type != CONSUMER:
            if response.error_code == ErrorCode.NONE:
                namespace.members_of_other_protocols.put(_member(group_id, response.member_id), True)
            return FORWARD
        for member in in_steps(response.members):
            member.metadata = _readable(member.metadata, SUBSCRIPTION, namespace, response.protocol_name)
        return FORWARD


class SyncGroupFilter:
    """Translates assignments: from the leader for all members, and to each member its own."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset({Entity.ASSIGNMENT})

    def on_request(self, exchange: Exchange, request: SyncGroupRequest) -> RequestStep:
        """Translate the assignments the leader made, or refuse one that cannot be read."""
        namespace = exchange.scope.namespace
        is_of_consumers = _is_of_consumers(namespace, request)
        exchange.keep(_IS_OF_CONSUMERS, is_of_consumers)
        for assignment in in_steps(request.assignments):
            if is_of_consumers:
                try:
                    assignment.assignment = translate(
                        assignment.assignment, ASSIGNMENT, translation.to_physical, namespace
                    )
                except MalformedPayload:
                    return Answer(SyncGroupResponse(error_code=_MALFORMED))
            elif request.protocol_type is None and is_assignment_to_a_broker(assignment.assignment):
                return Answer(SyncGroupResponse(error_code=_MALFORMED))
        return FORWARD

    def on_response(self, exchange: Exchange, response: SyncGroupResponse) -> ResponseStep:
        """Translate the member's own assignment."""
        if exchange.kept(_IS_OF_CONSUMERS):
            response.assignment = _readable(response.assignment, ASSIGNMENT, exchange.scope.namespace)
        return FORWARD


class DescribeGroupsFilter(ResponseFilter):
    """Translates subscriptions and assignments for an admin, and replaces the members' addresses."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset(
        {Entity.SUBSCRIPTION, Entity.ASSIGNMENT, Entity.CLIENT_HOST}
    )

    def on_response(self, exchange: Exchange, response: DescribeGroupsResponse) -> ResponseStep:
        """Translate the payloads; the broker saw every member at the gateway's address, which is not shown."""
        namespace = exchange.scope.namespace
        for group in in_steps(response.groups):
            for member in in_steps(group.members):
                member.client_host = f"/{exchange.scope.gateway_host}"
                if group.protocol_type != CONSUMER:
                    continue
                member.member_metadata = _readable(
                    member.member_metadata, SUBSCRIPTION, namespace, group.protocol_data
                )
                member.member_assignment = _readable(member.member_assignment, ASSIGNMENT, namespace)
        return FORWARD


def _not_joined(exchange: Exchange, request: JoinGroupRequest, error_code: ErrorCode) -> Message:
    return JoinGroupResponse(
        error_code=error_code,
        protocol_name=None if exchange.api_version >= _NULLABLE_PROTOCOL_NAME else "",
        member_id=request.member_id,
    )


def _is_of_consumers(namespace: Namespace, request: SyncGroupRequest) -> bool:
    """Whether a SyncGroup request is about a consumer group, or has to be treated as if it were."""
    if request.protocol_type is not None:
        return request.protocol_type == CONSUMER
    joined = namespace.members_of_other_protocols.get(_member(request.group_id, request.member_id))
    return joined is None


def _member(group_id: str, member_id: str) -> bytes:
    """Return a key of a few bytes: a client chooses how long its group's ID is."""
    key = group_id.encode()
    return hashlib.blake2b(len(key).to_bytes(4, "big") + key + member_id.encode(), digest_size=16).digest()


def _readable(payload: bytes, schema: str, namespace: Namespace, assignor: str | None = None) -> bytes:
    """Return a broker's payload in virtual names, or the empty one when it cannot be read."""
    try:
        return translate(payload, schema, translation.to_virtual, namespace, assignor=assignor)
    except MalformedPayload:
        return EMPTY
