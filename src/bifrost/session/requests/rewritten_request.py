"""Rewrites a request in place: its names are replaced, and nothing else of it is read.

A request that names topic IDs which the gateway has not met is not finished here. As a rule it is decoded then, which
finds all of these IDs. A Produce may be too large for that (decoded_request.py), so it is rewritten without being
decoded, for its broker knows best what to answer for each topic:

    IDs that are unknown                   first                     when they were looked up
    up to FEW_IDS                          all are looked up         known as the tenant's, or as absent: masked
    more                                   the topics are listed     what is not on the list is masked
"""

from bifrost.filters.namespace import masking, unknown_topic_ids_in_place
from bifrost.filters.steps import TopicIds
from bifrost.forwarding.lane import Lane
from bifrost.session.decoded_request import is_decodable
from bifrost.session.in_flight import Buffer
from bifrost.tenancy.namespace import Namespace
from bifrost.wire.rewriting import Names, rewrite_frame


def rewritten_request(
    namespace: Namespace, lane: Lane, frame: Buffer, offset: int, head: bytes | None
) -> list[Buffer] | TopicIds | None:
    """Return the frame for the broker, with its length, in pieces.

    Args:
        namespace: of the tenant.
        lane: the request's. Requests of its API and version can be rewritten in place.
        frame: the request, without its length.
        offset: where its body begins, in bytes.
        head: the header for the broker; None to keep the client's.
    Returns:
        None: it has to be decoded. TopicIds: these have to be looked up first.
    Raises:
        WireError: the request could not be read.
    """
    segments = _rewritten(lane, frame, offset, head, lane.to_physical)
    if segments is None and namespace.take_unresolved() and not is_decodable(lane.plan, len(frame)):
        unknown = unknown_topic_ids_in_place(namespace, lane.plan.request.program, frame, offset)
        if unknown is not None:
            return unknown
        segments = _rewritten(lane, frame, offset, head, masking(namespace, lane.to_physical))
    return segments


def _rewritten(
    lane: Lane, frame: Buffer, offset: int, head: bytes | None, names: Names
) -> list[Buffer] | None:
    program, allow_trailing = lane.plan.request.program, lane.plan.drops_trailing
    segments, _ = rewrite_frame(program, frame, offset, names, head, allow_trailing)
    return segments if segments is None or lane.admits(frame, offset) else None
