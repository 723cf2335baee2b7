"""Lets random requests go straight to one broker, and compares what comes of it with what a split makes of them."""

import random
from typing import TYPE_CHECKING

from bifrost.routes.leaders import LeaderTable
from bifrost.routes.split import Split
from bifrost.routes.split_request import SplitRequest
from bifrost.routes.straight import StraightRoutes
from bifrost.routes.straight_ways import straight_way
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.errors import MalformedFrame
from bifrost.wire.headers import REQUEST_PREFIX
from frame_mutations import pick, pieces_of, spoilt
from fuzz_ways import Failure, or_malformed

if TYPE_CHECKING:
    from fuzz_routes import Target

NODES = (1, 2, 3)
MOST_AT_ONCE = 64
"""Partitions of a request of several leaders that is taken apart at once."""


def is_one_or_small(split: Split) -> bool:
    """Whether a request has one leader, or several and not too many partitions."""
    count = len(split.nodes())
    return count == 1 or (count > 1 and split.partitions <= MOST_AT_ONCE)


def check_straight(rng: random.Random, target: "Target", body: bytes) -> str:
    """Let a request of one leader go straight; return whether it and its answer did.

    Raises:
        Failure: a split does not leave them as they are, the request did not go straight though it may, or one of
            several leaders was not taken apart as a split does.
    """
    shapes, schema = target.shapes, target.schemas[0]
    named = or_malformed(target.listed, 0, body)
    if isinstance(named, MalformedFrame) or schema.api_key == ApiKey.FETCH:
        return "no straight one"
    table = LeaderTable(1000)
    for key, _ in named:
        table.put(key, [NODES[0] if pick(rng, 20) else NODES[pick(rng, 3)] for _ in range(12)], 0)
    head = bytes(4) + REQUEST_PREFIX.pack(schema.api_key, target.version, 77, 3) + b"abc"
    head += b"\0" if shapes.request_header_is_flexible else b""
    answer_head = bytes(5 if shapes.response_header_is_flexible else 4)
    segments = [head, *pieces_of(rng, bytes(4) + body)[1:]]
    found = StraightRoutes(table, table, straight_way).read(segments, 0)
    split = or_malformed(Split, shapes.request, shapes.template, segments, len(head))
    if isinstance(split, MalformedFrame):
        if found is not None:
            raise Failure("what a split refuses goes straight")
        return "no straight one"
    is_known = not split.lead(table, NODES[0], 0) and None not in map(table.find, target.topics(body))
    leaders = [(table.find(key), index) for key, index in named]
    is_known = is_known and all(led is not None and led[index] >= 0 for led, index in leaders)
    if (found is not None) != (is_known and is_one_or_small(split)):
        raise Failure("not exactly what has known leaders, and is small, is sent at once")
    if found is None:
        return "no straight one"
    if isinstance(found, SplitRequest):
        if dict(found.parts(NODES[0])) != {node: split.part(node) for node in split.nodes()}:
            raise Failure("the parts are not those of a split")
        return "split at once"
    straight = found
    if [straight.node] != split.nodes() or split.part(straight.node) != straight.segments:
        raise Failure("what goes straight is not what a split sends")
    answer = answer_head + spoilt(rng, target.answer(rng, body, is_plain=bool(pick(rng, 3))), body)
    if not straight.take(answer):
        return "straight request"
    split.take(straight.node, answer, len(answer_head))
    if split.merged(answer_head) is not answer or split.has_error or straight.answer is not answer:
        raise Failure("an answer goes straight that a split changes")
    return "straight answer"
