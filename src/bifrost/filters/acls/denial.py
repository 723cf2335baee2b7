"""Takes what is denied out of a request, and puts the answers for it into the broker's answer."""

from collections.abc import Callable, Iterable
from typing import Any

from bifrost.filters.error_response import error_response
from bifrost.filters.filter import Exchange
from bifrost.filters.left_out.items import LeftOut
from bifrost.filters.steps import FORWARD, Answer, Close, RequestStep
from bifrost.tenancy.acls.access import ACCESS, DENIED_CODES
from bifrost.tenancy.acls.acl_binding import Operation, ResourceType
from bifrost.tenancy.acls.guard import Guard
from bifrost.tenancy.topic_ids import ZERO_TOPIC_ID
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.message import Message
from bifrost.wire.steps import in_steps

DENIED_ITEMS = LeftOut()
take_out, keep_answer, put_back = DENIED_ITEMS.take_out, DENIED_ITEMS.keep_answer, DENIED_ITEMS.put_back


def guard_of(exchange: Exchange) -> Guard:
    """Return the rights of the client."""
    guard = exchange.scope.guard
    assert guard is not None, "only clients that ACLs apply to have these filters"
    return guard


def needed(exchange: Exchange, resource_type: ResourceType) -> Operation:
    """Return the operation that the API needs on entities of a kind."""
    return ACCESS[ApiKey(exchange.api_key)].needs[resource_type]


def refuse(
    exchange: Exchange, request: Message, error_code: ErrorCode, message: str | None = None
) -> RequestStep:
    """Answer a whole request with an error; where its response has no place for one, end the connection."""
    answer = error_response(request, exchange.api_version, error_code, message=message, each=in_steps)
    if answer is None:
        return Close(f"{ApiKey(exchange.api_key).name} is denied, and its response has no place for an error")
    return Answer(answer)


def deny(exchange: Exchange, request: Message, resource_type: ResourceType) -> RequestStep:
    """Answer a whole request because the operation that it needs is denied."""
    guard_of(exchange).deny(needed(exchange, resource_type))
    return refuse(exchange, request, DENIED_CODES[resource_type])


def topic_name(guard: Guard, item: Any) -> str | None:
    """Return the name of the topic in an item, which may have its ID only; None: no topic of the tenant has the ID.

    Its IDs have been looked up before.
    """
    topic_id = getattr(item, "topic_id", ZERO_TOPIC_ID)
    if topic_id != ZERO_TOPIC_ID:
        return guard.namespace.topic_of(topic_id)
    for attribute in ("name", "topic", "topic_name"):
        name = getattr(item, attribute, None)
        if name is not None:
            return str(name)
    return None


def split(items: Iterable[Any], is_permitted: Callable[[Any], bool]) -> tuple[list[Any], list[Any]]:
    """Return the permitted and the denied items."""
    permitted: list[Any] = []
    denied: list[Any] = []
    for item in in_steps(items):
        (permitted if is_permitted(item) else denied).append(item)
    return permitted, denied


def split_topics(guard: Guard, items: Iterable[Any], operation: Operation) -> tuple[list[Any], list[Any]]:
    """Return the items whose topics are permitted, or unknown to the broker, and those that are denied."""

    def is_permitted(item: Any) -> bool:
        name = topic_name(guard, item)
        # A version with IDs alone may have one that is no topic's: the broker says so.
        return (name is None or (name == "" and _is_by_id(item))) or guard.may(
            operation, ResourceType.TOPIC, name
        )

    return split(items, is_permitted)


def _is_by_id(item: Any) -> bool:
    return getattr(item, "topic_id", ZERO_TOPIC_ID) != ZERO_TOPIC_ID


def go_on(exchange: Exchange, permitted: list[Any], answer: Message | None) -> RequestStep:
    """Send on what is left of a request; if nothing is, answer at once."""
    return FORWARD if permitted or answer is None else Answer(answer)
