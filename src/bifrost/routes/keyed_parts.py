"""Requests about groups and transactional IDs: whose they are, and how those about several are taken apart.

Most name one group or transactional ID, in the first field of the body or the second. The others have a list, of which
each coordinator gets its own part; the answers have a list as well, which is put together in the order of the request.
"""

from collections.abc import Container, Iterable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from bifrost.routes.route_kinds import RouteKind
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.errors import MalformedFrame
from bifrost.wire.message import Message

GROUP, TRANSACTION = 0, 1
"""Kafka's CoordinatorType."""

Key = tuple[int, str]
"""Type and name of what a coordinator is for."""

_SECOND = frozenset({ApiKey.TXN_OFFSET_COMMIT})
"""APIs whose second field is the key: the transactional ID stands before the group."""

_LISTS_GROUPS_SINCE = 8
"""OffsetFetch has one group before this version (KIP-709)."""


def coordinator_type(kind: RouteKind) -> int:
    """Return which coordinator serves a kind of route."""
    return TRANSACTION if kind in (RouteKind.TRANSACTION, RouteKind.TRANSACTIONS) else GROUP


def has_list(api_key: int, version: int) -> bool:
    """Whether requests of an API name several groups or transactional IDs at this version."""
    return api_key in _LISTS and not (api_key == ApiKey.OFFSET_FETCH and version < _LISTS_GROUPS_SINCE)


def single_key(api_key: int, frame: bytes | memoryview, offset: int, *, is_flexible: bool) -> str | None:
    """Return the group or transactional ID of a request that names one; None: null.

    Args:
        api_key: the API.
        frame: the request without its length.
        offset: where the body begins.
        is_flexible: whether strings have compact lengths.
    Raises:
        MalformedFrame: there is no such string.
    """
    text, offset = _string(frame, offset, is_flexible=is_flexible)
    if api_key in _SECOND:
        text, _ = _string(frame, offset, is_flexible=is_flexible)
    return text


def _string(frame: bytes | memoryview, offset: int, *, is_flexible: bool) -> tuple[str | None, int]:
    if is_flexible:
        length, shift = 0, 0
        while True:
            if offset >= len(frame) or shift > 28:
                raise MalformedFrame("the request ends within its first fields", offset)
            byte = frame[offset]
            length |= (byte & 0x7F) << shift
            offset, shift = offset + 1, shift + 7
            if byte < 0x80:
                break
        length -= 1
    else:
        length = int.from_bytes(frame[offset : offset + 2], "big", signed=True)
        offset += 2
    end = offset + max(length, 0)
    if end > len(frame):
        raise MalformedFrame("the request ends within its first fields", offset)
    try:
        return (None if length < 0 else str(frame[offset:end], "utf-8")), end
    except UnicodeDecodeError:
        raise MalformedFrame("a name is not UTF-8", offset) from None


@dataclass(frozen=True, slots=True)
class _Lists:
    """The list of a request, and that of its response."""

    asked: str
    answered: str
    name: str
    """The name of an answered item."""
    asked_name: str | None = None
    """That of an asked item; None: the item is the name."""

    def key_of(self, item: Any) -> str:
        return str(item if self.asked_name is None else getattr(item, self.asked_name))


_LISTS = {
    ApiKey.OFFSET_FETCH: _Lists("groups", "groups", "group_id", "group_id"),
    ApiKey.DESCRIBE_GROUPS: _Lists("groups", "groups", "group_id"),
    ApiKey.DELETE_GROUPS: _Lists("groups_names", "results", "group_id"),
    ApiKey.CONSUMER_GROUP_DESCRIBE: _Lists("group_ids", "groups", "group_id"),
    ApiKey.SHARE_GROUP_DESCRIBE: _Lists("group_ids", "groups", "group_id"),
    ApiKey.STREAMS_GROUP_DESCRIBE: _Lists("group_ids", "groups", "group_id"),
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: _Lists("groups", "groups", "group_id", "group_id"),
    ApiKey.DESCRIBE_TRANSACTIONS: _Lists("transactional_ids", "transaction_states", "transactional_id"),
}


def keys_of(api_key: int, request: Any) -> list[str]:
    """Return the names in a request with a list."""
    lists = _LISTS[ApiKey(api_key)]
    return [lists.key_of(one) for one in getattr(request, lists.asked) or ()]


def with_names(api_key: int, request: Any, names: Container[str]) -> Any:
    """Make a request ask for these names alone, and return it."""
    lists = _LISTS[ApiKey(api_key)]
    setattr(
        request, lists.asked, [one for one in getattr(request, lists.asked) if lists.key_of(one) in names]
    )
    return request


def names_with(api_key: int, version: int, response: Any, codes: Container[int]) -> list[str]:
    """Return the names in an answer that have one of these errors; none, if the answer has no list."""
    if not has_list(api_key, version):
        return []
    lists = _LISTS[ApiKey(api_key)]
    items = getattr(response, lists.answered)
    return [getattr(one, lists.name) for one in items if one.error_code in codes]


def without(api_key: int, response: Any, names: Container[str]) -> Any:
    """Take these names out of an answer, and return it."""
    lists = _LISTS[ApiKey(api_key)]
    items = getattr(response, lists.answered)
    setattr(response, lists.answered, [one for one in items if getattr(one, lists.name) not in names])
    return response


def merged_lists(api_key: int, keys: Iterable[str], answers: Iterable[Any]) -> Message:
    """Return one answer with the items of all, in the order of the request.

    Args:
        api_key: the API.
        keys: the names in the request.
        answers: the answers to its parts, at least one.
    """
    lists = _LISTS[ApiKey(api_key)]
    first, *others = answers
    items = [item for one in (first, *others) for item in getattr(one, lists.answered)]
    order = {name: place for place, name in enumerate(keys)}
    items.sort(key=lambda item: order.get(attrgetter(lists.name)(item), len(order)))
    setattr(first, lists.answered, items)
    first.throttle_time_ms = max(one.throttle_time_ms for one in (first, *others))
    if hasattr(first, "error_code"):
        first.error_code = next((one.error_code for one in (first, *others) if one.error_code), 0)
    assert isinstance(first, Message)
    return first
