"""The APIs that name what they are about, and need one operation on each thing that they name.

`whole` are things without which the request is refused as a whole, in Kafka's order of checks; `items` is the list of
which each item is permitted or denied for itself.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from bifrost.filters.acls.denial import (
    deny,
    go_on,
    guard_of,
    needed,
    put_back,
    refuse,
    split,
    split_topics,
    take_out,
)
from bifrost.filters.filter import Exchange, RequestFilter
from bifrost.filters.steps import FORWARD, RequestStep, ResponseStep
from bifrost.tenancy.acls.access import DENIED_CODES
from bifrost.tenancy.acls.acl_binding import ResourceType
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.entity import Entity
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.message import Message

_GROUP = ("group_id", ResourceType.GROUP)
_TRANSACTION = ("transactional_id", ResourceType.TRANSACTIONAL_ID)


@dataclass(frozen=True, slots=True)
class NamedAccess:
    """What a request names."""

    whole: tuple[tuple[str, ResourceType], ...] = ()
    """Fields of the request, and the kinds of resource that they name."""

    items: str | None = None
    """The list of topics, or of names of `item_type`."""

    item_type: ResourceType = ResourceType.TOPIC

    is_always_asked: bool = False
    """Whether the broker is asked also where all items are denied: it answers for the group as a whole."""


NAMED: Mapping[ApiKey, NamedAccess] = {
    ApiKey.LIST_OFFSETS: NamedAccess(items="topics"),
    ApiKey.OFFSET_COMMIT: NamedAccess((_GROUP,), "topics"),
    ApiKey.JOIN_GROUP: NamedAccess((_GROUP,)),
    ApiKey.HEARTBEAT: NamedAccess((_GROUP,)),
    ApiKey.LEAVE_GROUP: NamedAccess((_GROUP,)),
    ApiKey.SYNC_GROUP: NamedAccess((_GROUP,)),
    ApiKey.DELETE_RECORDS: NamedAccess(items="topics"),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: NamedAccess(items="topics"),
    ApiKey.ADD_OFFSETS_TO_TXN: NamedAccess((_TRANSACTION, _GROUP)),
    ApiKey.END_TXN: NamedAccess((_TRANSACTION,)),
    ApiKey.TXN_OFFSET_COMMIT: NamedAccess((_TRANSACTION, _GROUP), "topics"),
    ApiKey.CREATE_PARTITIONS: NamedAccess(items="topics"),
    ApiKey.DELETE_GROUPS: NamedAccess(items="groups_names", item_type=ResourceType.GROUP),
    ApiKey.OFFSET_DELETE: NamedAccess((_GROUP,), "topics"),
    ApiKey.DESCRIBE_PRODUCERS: NamedAccess(items="topics"),
    ApiKey.SHARE_ACKNOWLEDGE: NamedAccess((_GROUP,), "topics", is_always_asked=True),
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: NamedAccess((_GROUP,), "topics", is_always_asked=True),
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: NamedAccess((_GROUP,), "topics", is_always_asked=True),
}
"""By API. What they need is in `tenancy/acls/access.py`."""


class NamedAccessFilter:
    """Decides about a request of one of these APIs."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset()

    def __init__(self, named: NamedAccess) -> None:
        """Decide about requests that name these things."""
        self._named = named

    def on_request(self, exchange: Exchange, request: Message) -> RequestStep:
        """Refuse the request, or take out the denied items."""
        guard, named = guard_of(exchange), self._named
        for field, resource_type in named.whole:
            if not guard.may(needed(exchange, resource_type), resource_type, getattr(request, field) or ""):
                return deny(exchange, request, resource_type)
        if named.items is None:
            return FORWARD
        operation = needed(exchange, named.item_type)
        items: list[Any] = getattr(request, named.items)
        if named.item_type == ResourceType.TOPIC:
            permitted, denied = split_topics(guard, items, operation)
        else:
            permitted, denied = split(items, lambda name: guard.may(operation, named.item_type, name))
        guard.deny(operation, len(denied))
        code = DENIED_CODES[named.item_type]
        message = code.message if named.is_always_asked else None
        answer = take_out(exchange, request, named.items, permitted, denied, code, message)
        return FORWARD if named.is_always_asked else go_on(exchange, permitted, answer)

    def on_response(self, exchange: Exchange, response: Message) -> ResponseStep:
        """Add the answers for the denied items, unless the broker refuses the request as a whole."""
        if not self._named.is_always_asked or not getattr(response, "error_code", ErrorCode.NONE):
            put_back(exchange, response)
        return FORWARD


class UndecidedFilter(RequestFilter):
    """An API without a decision by ACLs: super users alone may use it."""

    def on_request(self, exchange: Exchange, request: Message) -> RequestStep:
        """Refuse the request, as a broker refuses a client without rights on the cluster."""
        guard = guard_of(exchange)
        if guard.authority.is_super_user(guard.principal):
            return FORWARD
        return refuse(exchange, request, DENIED_CODES[ResourceType.CLUSTER])
