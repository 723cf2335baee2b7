"""Refuses requests that name an offset group: what is in it belongs to another consumer group.

A user that may read some consumer groups alone would else reach the offsets of others by such names. The first filter
of each API whose requests name consumer groups.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from bifrost.filters.error_response import error_response
from bifrost.filters.filter import Exchange, RequestFilter
from bifrost.filters.steps import FORWARD, Answer, Close, RequestStep
from bifrost.tenancy.names import VirtualGroup
from bifrost.tenancy.virtual_partitions.offset_groups import is_offset_group
from bifrost.wire.entity import Entity
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.fields.entities import UnclassifiedField, entities_of
from bifrost.wire.schema import Field, message_schema
from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bifrost.wire.message import Message

_Place = tuple[str, ...]
"""The attributes on the way to the IDs of consumer groups."""


class OffsetGroupNamesFilter(RequestFilter):
    """Refuses such requests as a whole."""

    def on_request(self, exchange: Exchange, request: Message) -> RequestStep:
        """Answer INVALID_GROUP_ID."""
        names = exchange.scope.namespace.names
        for place in group_places(request.SCHEMA.name, exchange.api_version):
            for group_id in _values(request, place):
                physical = names.physical_group(VirtualGroup(group_id.encode())).decode()
                if is_offset_group(group_id, physical):
                    return _refusal(exchange, request)
        return FORWARD


@cache
def group_places(message: str, version: int) -> tuple[_Place, ...]:
    """Return where a request names consumer groups."""
    try:
        entities = entities_of(message, version)
    except UnclassifiedField:
        return ()  # The gateway answers it, and sends no broker what it names: ACLs and users.

    def walk(fields: tuple[Field, ...], prefix: str, way: _Place) -> Iterator[_Place]:
        for field in fields:
            if version in field.versions:
                path = prefix + field.kafka_name
                if entities.get(path) == Entity.GROUP_ID:
                    yield (*way, field.name)
                yield from walk(field.fields, path + ".", (*way, field.name))

    return tuple(walk(message_schema(message).fields, "", ()))


def _values(struct: Any, place: _Place) -> Iterator[str]:
    value = getattr(struct, place[0])
    for item in in_steps(value) if isinstance(value, list) else (value,):
        if item is not None and len(place) > 1:
            yield from _values(item, place[1:])
        elif item is not None:
            yield item


def _refusal(exchange: Exchange, request: Message) -> Answer | Close:
    text = "This name is one that the gateway gives to offsets of virtual partitions"
    code = ErrorCode.INVALID_GROUP_ID
    answer = error_response(request, exchange.api_version, code, message=text, each=in_steps)
    return Close(text) if answer is None else Answer(answer)
