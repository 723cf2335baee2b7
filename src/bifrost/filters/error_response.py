"""Builds the response with an error to any request, like Kafka's `AbstractRequest.getErrorResponse`.

There is no function per API: filters/error_places.py knows from the schemas where the error belongs.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from bifrost.filters.error_places import ErrorPlace, error_place
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.codec import untrack
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.message import Message
from bifrost.wire.schema import response_schema

MAX_SORTED = 1_000
"""Users that are answered in the order of their names, as Kafka answers. More are answered in the request's order,
which tells clients the same: a hundred thousand take 50 ms to be sorted, in one step."""

Each = Callable[[Sequence[Any]], Iterable[Any]]
"""Visits a list of the request."""

_EMPTY_IS_ERROR = frozenset({ApiKey.DESCRIBE_LOG_DIRS})
"""APIs whose clients read a response without items as an error, before the version that has an error code. Source:
KafkaAdminClient.describeLogDirs."""

MAX_TEXTS = 10_000
"""Items of a response that have the text; later ones have the code alone, so that an answer to very short names does
not grow to many times its request."""


def error_response(
    request: Message,
    api_version: int,
    error_code: ErrorCode,
    *,
    throttle_time_ms: int = 0,
    message: str | None = None,
    each: Each = iter,
) -> Message | None:
    """Return the response that tells a client an error, or None where the protocol has no place for it.

    None: a Produce that asks for no answer (acks=0; a broker closes the connection), and an error that belongs beside
    the items of a request that names none: an empty list, or null for all of them (Metadata before v13).

    Args:
        request: as the client sent it, because names in it are copied.
        api_version: the version of the request.
        error_code: not NONE.
        throttle_time_ms: how long the client should wait, where the version has the field.
        message: a text for people, set wherever the code has a message field; repeated for each of MAX_TEXTS items, so
        keep it short.
        None: clients have a text of their own for each code. each: visits the items of a list, so that a caller can
        pause between two of them.
    Raises:
        KeyError: brokers serve no such API.
    """
    api_key = request.SCHEMA.api_key
    assert api_key is not None, "a response answers a request"
    if api_key == ApiKey.PRODUCE and _field(request, "acks") == 0:
        return None
    place = error_place(api_key, api_version)
    answer = _Answer(error_code, message, each)
    if api_key == ApiKey.ALTER_USER_SCRAM_CREDENTIALS:
        response = answer.fill_users(place, request)
    else:
        response = answer.fill(place, request)
    if not place.error and not answer.has_items and api_key not in _EMPTY_IS_ERROR:
        return None
    if api_key == ApiKey.FETCH:
        response.session_id = _field(request, "session_id")
    if place.has_throttle:
        response.throttle_time_ms = throttle_time_ms
    assert isinstance(response, Message)
    return response


def top_level_error(
    api_key: int, api_version: int, error_code: ErrorCode, message: str | None = None
) -> Message | None:
    """Return the response to a request that was not read, or None where an error stands beside items only.

    Its `message` is a text for people, set where the response has a field for it; None: clients have one of their own.

    Raises:
        KeyError: brokers serve no such API.
    """
    if api_version not in response_schema(api_key).versions:
        return None
    place = error_place(api_key, api_version)
    if place.error is None:
        return None
    text = {"error_message": message} if place.has_message and message is not None else {}
    response = place.make(**{**place.values, **text, place.error: error_code})
    assert isinstance(response, Message)
    return response


def item_errors(
    request: Message,
    api_version: int,
    error_code: ErrorCode,
    *,
    message: str | None = None,
    each: Each = iter,
) -> Message:
    """Return a response in which each item of a request has an error, and the response itself none.

    Raises:
        KeyError: brokers serve no such API.
    """
    api_key = request.SCHEMA.api_key
    assert api_key is not None, "a response answers a request"
    place = error_place(api_key, api_version, is_of_items=True)
    response = _Answer(error_code, message, each).fill(place, request)
    if place.error is not None:
        setattr(response, place.error, ErrorCode.NONE)
    assert isinstance(response, Message)
    return response


class _Answer:
    """Builds the structs of one response."""

    def __init__(self, error_code: ErrorCode, message: str | None, each: Each) -> None:
        self._error_code = error_code
        self._message = message
        self._each = each
        self._texts = MAX_TEXTS
        """How many more structs may have the text."""
        self.has_items = False
        """Whether an item carries the error."""

    def fill(self, place: ErrorPlace, source: Any) -> Any:
        """Make the struct that answers `source`: the request, an item of it, or a key."""
        struct: Any = place.make(**place.values)
        if place.error is not None:
            setattr(struct, place.error, self._error_code)
            if place.has_message:
                struct.error_message = self._message if self._texts > 0 else None
                self._texts -= 1
        for key in place.keys:
            value = source if key.source is None else getattr(source, key.source)
            setattr(struct, key.attribute, "" if value is None and not key.is_nullable else value)
        for one in place.lists:
            items = [self.fill(one.place, item) for item in self._each(getattr(source, one.source) or ())]
            untrack(items)
            self.has_items |= bool(items) and one.place.error is not None
            setattr(struct, one.attribute, items)
        untrack(
            struct
        )  # A hundred thousand would make the garbage collection pause; none is part of a cycle.
        return struct

    def fill_users(self, place: ErrorPlace, request: Message) -> Any:
        """Make the response to AlterUserScramCredentials, whose request names users in two lists: a result for each."""
        response: Any = place.make(**place.values)
        result, made = place.lists[0].place, dict[str, Any]()
        for field in ("deletions", "upsertions"):
            for one in self._each(_field(request, field)):
                if one.name not in made:
                    made[one.name] = self.fill(result, None)
                    made[one.name].user = one.name
        is_sorted = len(made) <= MAX_SORTED
        response.results = [made[user] for user in sorted(made)] if is_sorted else list(made.values())
        self.has_items = bool(made)
        return response


def _field(request: Message, name: str) -> Any:
    """Return a field that the API of this request has; the class of its request is not known here."""
    return getattr(request, name)
