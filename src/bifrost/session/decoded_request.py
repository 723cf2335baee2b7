"""How large a request may be, in bytes and in items, and the answer to a larger one.

`max_request_bytes` bounds the bytes of every frame; large ones carry records, which the gateway does not read. The
limits here bound work: a request that is decoded takes up to 25 times its size in memory, and every item (a topic, a
partition, a key, any element of a list) some microseconds here and at the broker.
"""

from collections.abc import Mapping

from bifrost.filters.error_response import error_response, top_level_error
from bifrost.filters.plan import Direction, Plan
from bifrost.session.authentication import api_name
from bifrost.session.close_reason import CloseReason, SessionEnded
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.codec import Layout, release
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.first_items import read_first_items
from bifrost.wire.message import Message
from bifrost.wire.program import count_items
from bifrost.wire.programs import compile_program
from bifrost.wire.steps import in_steps

MAX_DECODED_REQUEST_BYTES = 1024 * 1024
"""Largest request of an API whose requests are always decoded: ten thousand topics with a name of 100 bytes."""

MAX_OTHER_DECODED_BYTES = 8 * 1024 * 1024
"""Largest request of an API that is decoded only in exceptions: for unknown topic IDs or unknown fields. Most of it is
records then, which are not copied. Also bounds the assignments of a large group, which its leader sends."""

MAX_RECORDS_BYTES = 2**31 - 1
"""Largest Produce whose records have to be seen: any that `max_request_bytes` lets in. Its records are not copied."""

MAX_ANSWERED_BYTES = 4 * 1024 * 1024
"""Most bytes of strings that are read to answer a larger request item by item, and so the most that its answer repeats:
ten thousand topics with a name of 60 characters and five configs take 2.5 MiB. With MAX_ITEMS they take some 40 MiB of
memory."""

_LARGE_DECODED = frozenset({ApiKey.SYNC_GROUP})

MAX_ITEMS = 100_000
"""Most items of a request, whatever its tenant has."""

USUAL_ITEMS = 20_000
"""Most items of a request where the tenant may not have more partitions than by default. All that a request names stays
in the broker's heap until it is answered, and collecting garbage around it stops all the broker's threads: 30 to 60 ms
for 100,000 items, less than 10 ms for so many (`make hostile ONLY=list-offsets`)."""

_ITEMS_OF_A_PARTITION = 2
"""A Fetch, commit or list of offsets that names all partitions of topics that have one each: topic and partition."""

_MAX_ITEMS: Mapping[int, int] = {
    # For every item the coordinator is hashed, and the answer names a host.
    ApiKey.FIND_COORDINATOR: 10_000,
    # For every item the answer has some 40 configs, with their synonyms on request.
    ApiKey.DESCRIBE_CONFIGS: 2_000,
    # For every item the answer has all members.
    ApiKey.DESCRIBE_GROUPS: 2_000,
    ApiKey.CONSUMER_GROUP_DESCRIBE: 2_000,
    ApiKey.SHARE_GROUP_DESCRIBE: 2_000,
    ApiKey.STREAMS_GROUP_DESCRIBE: 2_000,
    # Every item is a record in the metadata log or a group's, and a change for every broker.
    ApiKey.CREATE_TOPICS: 10_000,
    ApiKey.CREATE_PARTITIONS: 10_000,
    ApiKey.DELETE_TOPICS: 10_000,
    ApiKey.DELETE_GROUPS: 10_000,
    ApiKey.ALTER_CONFIGS: 10_000,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: 10_000,
    ApiKey.DESCRIBE_TRANSACTIONS: 10_000,
}

MAX_ITEMS_TAKEN_APART = 10_000
"""Most items of a request at a single address, which is taken apart by broker in one go: some milliseconds of work, and
as many partitions as a tenant may have by default."""

_MAX_KEYS_TAKEN_APART: Mapping[int, int] = {
    # These are decoded for it, and their answers put together.
    ApiKey.FIND_COORDINATOR: 2_000,
    ApiKey.DELETE_GROUPS: 2_000,
    ApiKey.DESCRIBE_TRANSACTIONS: 2_000,
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: 2_000,
}

_SMALL_BYTES = 2_048
"""A request of at most so many bytes has fewer items than any limit."""

RELEASED_FROM_BYTES = 8_192
"""Objects decoded from a larger frame are freed in steps; a smaller one's are freed in less time than a step takes."""

REQUEST_ITEMS_LIMIT, REQUEST_BYTES_LIMIT = "request_items", "decoded_request_bytes"
"""Names of the limits in the metrics."""


def max_items(api_key: int, partitions: int = MAX_ITEMS, *, is_single: bool = False) -> int:
    """Return how many items a request of this API may have, in all its lists together.

    Args:
        api_key: the API.
        partitions: most partitions that the tenant may have: its requests may name all of them.
        is_single: whether it comes to a single address, and is taken apart there.
    """
    of_tenant = min(max(_ITEMS_OF_A_PARTITION * partitions, USUAL_ITEMS), MAX_ITEMS)
    most = _MAX_ITEMS.get(api_key, of_tenant)
    return min(most, _MAX_KEYS_TAKEN_APART.get(api_key, MAX_ITEMS_TAKEN_APART)) if is_single else most


def max_decoded_bytes(plan: Plan) -> int:
    """Return the largest size of a request of this plan that may be decoded, in bytes."""
    if plan.carries_records:
        return MAX_RECORDS_BYTES
    if plan.request.program is None and plan.api_key not in _LARGE_DECODED:
        return MAX_DECODED_REQUEST_BYTES
    return MAX_OTHER_DECODED_BYTES


def is_decodable(plan: Plan, size: int) -> bool:
    """Whether a request of `size` bytes may be decoded."""
    return size <= max_decoded_bytes(plan)


def exceeded_limit(
    plan: Plan, frame: bytes | memoryview, offset: int, most: int = MAX_ITEMS
) -> tuple[str | None, int]:
    """Return the limit that a request exceeds, or None, and roughly its number of items; 0 for a small request.

    Args:
        plan: of its API and version.
        frame: the request, without its length.
        offset: where its body begins, in bytes.
        most: most items, as `max_items` says.
    Raises:
        WireError: the request could not be read.
    """
    if len(frame) <= _SMALL_BYTES:
        return None, 0
    if plan.request.program is None and not is_decodable(plan, len(frame)):
        return REQUEST_BYTES_LIMIT, 0
    items = _count(plan.request, frame, offset, most)
    return REQUEST_ITEMS_LIMIT if items > most else None, items


def refusal(plan: Plan, frame: bytes | memoryview, offset: int, most: int = MAX_ITEMS) -> Message:
    """Return the answer to a request that exceeds a limit; the arguments are those of `exceeded_limit`.

    Where the response has no place for an error of the whole request, the first items have one: all of them, as a rule,
    or as many as MAX_ITEMS and MAX_ANSWERED_BYTES let in.

    Raises:
        SessionEnded: neither is there a place, nor an item; or the client wants no answer (Produce with acks=0).
        WireError: the request could not be read.
    """
    text = f"The request is larger than this gateway takes: at most {most} items"
    if not is_decodable(plan, len(frame)):
        text += f" and {max_decoded_bytes(plan)} bytes"
    invalid = ErrorCode.INVALID_REQUEST
    answer = top_level_error(plan.api_key, plan.api_version, invalid, text)
    if answer is None:
        layout = plan.request.layout
        request = read_first_items(layout, frame, offset, MAX_ITEMS, MAX_ANSWERED_BYTES, plan.drops_trailing)
        answer = error_response(request, plan.api_version, invalid, message=text, each=in_steps)
        release(layout, request)
    if answer is None:
        detail = (
            f"{api_name(plan.api_key)} of {len(frame)} bytes: at most {max_decoded_bytes(plan)} are decoded, "
            f"and at most {most} items"
        )
        raise SessionEnded(CloseReason.FRAME_TOO_LARGE, detail)
    return answer


def release_large(layout: Layout, message: Message, frame: bytes | memoryview) -> None:
    """Free what was decoded from a frame, in steps if that takes long; nothing else may use it."""
    if len(frame) > RELEASED_FROM_BYTES:
        release(layout, message)


def _count(request: Direction, frame: bytes | memoryview, offset: int, most: int) -> int:
    program = compile_program(request.message, request.version, {})
    return count_items(program, frame, offset, most)
