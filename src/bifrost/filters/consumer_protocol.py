"""The consumer protocol inside JoinGroup, SyncGroup and DescribeGroups: subscriptions and assignments name topics too.

The broker parses them to decide which committed offsets may expire (GroupMetadata.isSubscribedToTopic), so left in
virtual names the offsets of idle partitions would be lost. Other protocol types (`connect`) are the clients' own
and stay as they are, and so does `user_data`, which only members of the same group read.

    payload := version int16, ConsumerProtocolSubscription | ConsumerProtocolAssignment at min(version, 3), rest

A payload that does not parse is left alone: to the broker it is opaque bytes, and on the way back it can only hold
what a member of the tenant's own group put there.
"""

from collections.abc import Callable
from typing import Any, ClassVar

from bifrost.filters import namespace as translation
from bifrost.filters.filter import Exchange
from bifrost.tenancy.namespace import Namespace
from bifrost.wire import engine
from bifrost.wire.engine import in_steps
from bifrost.wire.entity import Entity
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.errors import MalformedFrame
from bifrost.wire.message import Message
from bifrost.wire.messages import JoinGroupResponse
from bifrost.wire.programs import compile_layout
from bifrost.wire.schema import message_schema

CONSUMER = "consumer"
SUBSCRIPTION = "ConsumerProtocolSubscription"
ASSIGNMENT = "ConsumerProtocolAssignment"

_NULLABLE_PROTOCOL_NAME = 7
"""JoinGroup version from which "no protocol" is null, not empty."""

Direction = Callable[[Namespace, Message, int], object]


def translate(payload: bytes, schema: str, direction: Direction, namespace: Namespace) -> bytes:
    """Return a consumer-protocol payload with its topics named for the other side, or unchanged if it is not one."""
    if len(payload) < 2:
        return payload
    version = int.from_bytes(payload[:2], "big", signed=True)
    if version < 0:
        return payload
    # Newer versions may only append (ConsumerProtocol.java): read what is known, keep the rest.
    known = min(version, message_schema(schema).versions.high)
    layout = compile_layout(schema, known)
    try:
        message = engine.decode(layout, payload, 2, allow_trailing=version > known)
    except MalformedFrame:
        return payload
    length = 2 + len(engine.encode_body(layout, message))
    direction(namespace, message, known)
    return payload[:2] + engine.encode_body(layout, message) + payload[length:]


class JoinGroupFilter:
    """Subscriptions of the members, on the way in and, for the leader, on the way out."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset({Entity.SUBSCRIPTION})

    def on_request(self, exchange: Exchange, request: Any) -> Message | None:
        """Translate the subscription of every protocol the member offers."""
        if not request.group_id:
            # Prefixed it would be a group like any other; GroupCoordinator refuses the empty one.
            return JoinGroupResponse(
                error_code=ErrorCode.INVALID_GROUP_ID,
                protocol_name=None if exchange.api_version >= _NULLABLE_PROTOCOL_NAME else "",
                member_id=request.member_id,
            )
        exchange.notes["protocol_type"] = request.protocol_type
        if request.protocol_type == CONSUMER:
            for protocol in in_steps(request.protocols):
                protocol.metadata = translate(
                    protocol.metadata, SUBSCRIPTION, translation.to_physical, exchange.scope.namespace
                )
        return None

    def on_response(self, exchange: Exchange, response: Any) -> None:
        """Translate what the leader gets to see of the members."""
        if exchange.notes["protocol_type"] == CONSUMER:
            for member in in_steps(response.members):
                member.metadata = translate(
                    member.metadata, SUBSCRIPTION, translation.to_virtual, exchange.scope.namespace
                )


class SyncGroupFilter:
    """Assignments: from the leader for everybody, to each member its own.

    Before v5 the request does not say its protocol type; then what parses as an assignment is one.
    """

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset({Entity.ASSIGNMENT})

    def on_request(self, exchange: Exchange, request: Any) -> Message | None:
        """Translate the assignments the leader made."""
        exchange.notes["protocol_type"] = request.protocol_type
        if request.protocol_type in (CONSUMER, None):
            for assignment in in_steps(request.assignments):
                assignment.assignment = translate(
                    assignment.assignment, ASSIGNMENT, translation.to_physical, exchange.scope.namespace
                )
        return None

    def on_response(self, exchange: Exchange, response: Any) -> None:
        """Translate the member's own assignment."""
        if exchange.notes["protocol_type"] in (CONSUMER, None):
            response.assignment = translate(
                response.assignment, ASSIGNMENT, translation.to_virtual, exchange.scope.namespace
            )


class DescribeGroupsFilter:
    """Subscriptions and assignments as an admin sees them, and where the members are."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset(
        {Entity.SUBSCRIPTION, Entity.ASSIGNMENT, Entity.CLIENT_HOST}
    )

    def on_request(self, exchange: Exchange, request: Any) -> Message | None:
        """Let the request go on as it is."""
        return None

    def on_response(self, exchange: Exchange, response: Any) -> None:
        """Translate the payloads; the broker saw every member at the gateway's address, which is not shown."""
        namespace = exchange.scope.namespace
        for group in in_steps(response.groups):
            for member in in_steps(group.members):
                member.client_host = f"/{exchange.scope.gateway_host}"
                if group.protocol_type != CONSUMER:
                    continue
                member.member_metadata = translate(
                    member.member_metadata, SUBSCRIPTION, translation.to_virtual, namespace
                )
                member.member_assignment = translate(
                    member.member_assignment, ASSIGNMENT, translation.to_virtual, namespace
                )
