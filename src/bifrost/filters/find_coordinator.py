"""FindCoordinator: the key is a group or a transactional ID, as `key_type` says (KIP-699 made it a list)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from bifrost.filters.filter import Exchange, Note
from bifrost.filters.steps import FORWARD, Answer, RequestStep, ResponseStep
from bifrost.wire.entity import Entity
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.message import Message
from bifrost.wire.messages import FindCoordinatorResponse
from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from bifrost.wire.messages import FindCoordinatorRequest


_KEY_TYPES = {0: Entity.GROUP_ID, 1: Entity.TRANSACTIONAL_ID}
"""Kafka's CoordinatorType. 2 (SHARE) is asked by brokers only: its key holds a topic ID, and no client sends it."""

_BATCH_VERSION = 4

_KIND: Note[Entity] = Note("key_type")


class FindCoordinatorFilter:
    """Translates the keys by their type, both ways."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset({Entity.COORDINATOR_KEY})

    def on_request(self, exchange: Exchange, request: FindCoordinatorRequest) -> RequestStep:
        """Replace the keys by physical group or transactional IDs; answer INVALID_REQUEST to other kinds of key."""
        entity = _KEY_TYPES.get(request.key_type)
        if entity is None:
            return Answer(_refusal(exchange.api_version, request))
        exchange.keep(_KIND, entity)
        namespace = exchange.scope.namespace
        if exchange.api_version >= _BATCH_VERSION:
            request.coordinator_keys = [
                _required(namespace.physical(entity, key.encode()))
                for key in in_steps(request.coordinator_keys)
            ]
        else:
            request.key = _required(namespace.physical(entity, request.key.encode()))
        return FORWARD

    def on_response(self, exchange: Exchange, response: FindCoordinatorResponse) -> ResponseStep:
        """Replace the keys by those that the client sent."""
        entity = exchange.kept(_KIND)
        namespace = exchange.scope.namespace
        for coordinator in in_steps(response.coordinators):
            coordinator.key = _required(namespace.virtual(entity, coordinator.key.encode()))
        return FORWARD


def _required(name: bytes | None) -> str:
    assert name is not None, "groups and transactional IDs always have a form on the other side"
    return name.decode()


def _refusal(version: int, request: FindCoordinatorRequest) -> Message:
    if version < _BATCH_VERSION:
        return FindCoordinatorResponse(error_code=ErrorCode.INVALID_REQUEST, node_id=-1, host="", port=-1)
    return FindCoordinatorResponse(
        coordinators=[
            FindCoordinatorResponse.Coordinator(
                key=key, node_id=-1, host="", port=-1, error_code=ErrorCode.INVALID_REQUEST
            )
            for key in in_steps(request.coordinator_keys)
        ]
    )
