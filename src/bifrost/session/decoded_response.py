"""Handles a broker's response that takes longer than the hot path: rewritten in slices, or decoded for the filters."""

from collections.abc import Callable, Mapping
from typing import Any

from bifrost.filters import namespace as translation
from bifrost.filters.filter import Exchange, Scope
from bifrost.filters.plan import Plan
from bifrost.filters.steps import FORWARD, NOTHING_MET, Forward, Need, ResponseStep
from bifrost.forwarding.broker_costs import READ_BATCH_NS
from bifrost.forwarding.lane import Awaited
from bifrost.session.decoded_request import release_large
from bifrost.session.in_flight import Buffer
from bifrost.tenancy.namespace import Namespace
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.codec import decode, encode, encode_in_pieces, encode_in_room_of
from bifrost.wire.entity import Entity
from bifrost.wire.program import prune
from bifrost.wire.rewriting import rewrite_frame
from bifrost.wire.steps import in_steps

_PRUNED_FROM_BYTES = 4096
"""A smaller response is decoded as fast as it is pruned."""

_ACKNOWLEDGEMENTS = frozenset(
    {ApiKey.PRODUCE, ApiKey.ADD_PARTITIONS_TO_TXN, ApiKey.OFFSET_COMMIT, ApiKey.TXN_OFFSET_COMMIT}
)
"""APIs whose answers only say whether was written what the client has sent. A producer whose topic is moved away in
that moment has to know, or it would send the same records again elsewhere."""


def kept_for_answer(api_key: int, exchange: Exchange | None) -> Exchange | None:
    """Return what is kept of a request until its answer comes.

    Nothing of a Produce for whose answer filters have kept nothing: so the engine sends that on.
    """
    if api_key == ApiKey.PRODUCE and exchange is not None and not exchange.wants_response:
        return None
    return exchange


def rewritten_response(
    awaited: Awaited, frame: Buffer, offset: int, head: bytes | None, *, is_decoded: bool
) -> tuple[list[Buffer] | None, tuple[Buffer, int] | None, tuple[Buffer, int] | None]:
    """Rewrite a response in place.

    Args:
        awaited: the request that it answers.
        frame: the response, without its length.
        offset: where its body begins.
        head: the header for the client; None to keep the broker's.
        is_decoded: whether it has to be decoded in any case.
    Returns:
        The frame for the client with its length, None if it has to be decoded; then the broker's frame and where its
        body begins, if all but records is the same in it; and the same if records are as well. If these are not, the
        frame for a client that the journal counts is in one piece.
    Raises:
        WireError: the response could not be read.
    """
    # What was divided on the hot path has answers that were kept.
    is_joined = awaited.trip is not None and awaited.trip.parts > 1
    program = None if is_decoded or is_joined else awaited.lane.plan.response.program
    if program is None:
        return None, None, None
    segments, is_new = rewrite_frame(program, frame, offset, awaited.lane.to_virtual, head)
    if segments is None:
        return None, None, None
    if is_new and awaited.lane.usage is not None:
        segments = [b"".join(segments)]
    return segments, (frame, offset), None if is_new else (frame, offset)


def decoded_response(
    namespace: Namespace,
    scope: Scope,
    awaited: Awaited,
    frame: Buffer,
    offset: int,
    head: bytes | None,
    throttle_of: Callable[[Awaited, int], int],
    met: Mapping[type[Need], Need] = NOTHING_MET,
) -> list[Buffer] | ResponseStep:
    """Pass a response through the filters.

    Args:
        namespace: of the tenant.
        scope: what filters are told of the connection.
        awaited: the request that it answers.
        frame: the response, without its length.
        offset: where its body begins.
        head: the header for the client; None to keep the broker's.
        throttle_of: returns how long the client is told to wait for an answer of so many bytes, in milliseconds. It is
            called if the response has a place for it.
        met: the needs that were met for the response.
    Returns:
        The frame for the client with its length, in one piece if it has an error or the journal counts it, as both are
        read from it; a Need: what is to be met first; Close: the response names something that is not the tenant's
        and cannot be left out.
    Raises:
        WireError: the response could not be read.
    """
    plan = awaited.lane.plan
    if plan.owned is not None and len(frame) > _PRUNED_FROM_BYTES:
        names, entity = namespace.names, plan.owned_entity
        if (
            entity != Entity.TOPIC_NAME or not names.topics_elsewhere
        ):  # Otherwise some begin with another prefix.
            frame = prune(plan.owned, frame, offset, names.own_names(entity).shared_prefix)
    response: Any = decode(plan.response.layout, frame, offset)
    head = head or bytes(frame[:offset])
    decided = _filtered(namespace, scope, awaited, response, frame, head, throttle_of, met)
    release_large(plan.response.layout, response, frame)
    return decided


def _filtered(
    namespace: Namespace,
    scope: Scope,
    awaited: Awaited,
    response: Any,
    frame: Buffer,
    head: bytes,
    throttle_of: Callable[[Awaited, int], int],
    met: Mapping[type[Need], Need],
) -> list[Buffer] | ResponseStep:
    plan = awaited.lane.plan
    is_acknowledgement = plan.api_key in _ACKNOWLEDGEMENTS
    step = translation.to_virtual(namespace, response, plan.api_version, knows_former=is_acknowledgement)
    if not isinstance(step, Forward):
        return step
    exchange = awaited.exchange or Exchange(plan.api_key, plan.api_version, scope)
    exchange.trip = awaited.trip
    if met:
        exchange.met = met
    filtered = pass_filters(plan, exchange, response)
    if not isinstance(filtered, Forward):
        return filtered
    if exchange.read_later:
        awaited.lane.load.broker_left_ns -= exchange.read_later * READ_BATCH_NS
    size = 4 + len(frame) - exchange.left_out_bytes
    if plan.has_throttle and (throttle_ms := throttle_of(awaited, size)):
        response.throttle_time_ms = max(response.throttle_time_ms, throttle_ms)
    if plan.api_key == ApiKey.FETCH and awaited.lane.usage is None and not _has_error(response):
        return encode_in_pieces(plan.response.layout, response, head, frame)
    if plan.carries_records:
        return [encode_in_room_of(plan.response.layout, response, head, frame)]
    return [encode(plan.response.layout, response, head)]


def pass_filters(plan: Plan, exchange: Exchange, response: Any) -> ResponseStep:
    """Let the filters see a response, the last first; return what the first that does not let it go on has decided."""
    for one in reversed(plan.filters):
        step: ResponseStep = one.on_response(exchange, response)
        if not isinstance(step, Forward):
            return step
    return FORWARD


def _has_error(response: Any) -> bool:
    """Whether an answer to a Fetch has an error, of its own or of a partition."""
    return response.error_code != 0 or any(
        one.error_code for topic in in_steps(response.responses) for one in in_steps(topic.partitions)
    )
