"""Throw mutated requests and answers at what takes them apart and puts them together (routes/split.pyx).

    python tools/fuzz_routes.py --requests 1000000 --seed 1

For every version of the APIs that are divided by partition, valid requests are made from the schema, mutated, cut into
pieces, and taken apart by leaders drawn at random; the answers to the parts are mutated too. It may raise WireError,
and nothing else. Besides surviving, it must agree with the codec:

    it refuses what cannot be decoded                        the parts name each partition once, at its leader, in order
    each part, and the merged answer, can be decoded         the merged answer has the order of the request
    what goes straight is what a split leaves as it is

Every batch has its own random numbers, so a failure is repeated by its seed and batch alone. Exits 1 at the first.
"""

import argparse
import faulthandler
import random
import sys
import time
from collections import Counter
from itertools import pairwise
from typing import Any

from bifrost.routes import split as split_module
from bifrost.routes.frame_cutter import cut_frames
from bifrost.routes.leaders import LeaderTable
from bifrost.routes.route_kinds import ROUTE_KINDS, RouteKind
from bifrost.routes.shapes import Shapes, shapes_of
from bifrost.routes.split import Split
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.codec import Layout, decode, encode_body
from bifrost.wire.errors import MalformedFrame
from bifrost.wire.message import message_class
from bifrost.wire.programs import compile_layout
from bifrost.wire.schema import MessageSchema, request_schema, response_schema
from frame_mutations import pick, pieces_of, spoilt
from fuzz_straight import check_straight
from fuzz_targets import random_struct
from fuzz_ways import Failure, or_malformed

BATCH = 10_000
NODES = (1, 2, 3)
FRAMES_PER_VERSION = 8
RENEWAL = 5
"""Requests for one new valid frame, which takes longer to make."""

_TOPICS = ("topic_data", "topics", "responses")
_PARTITIONS = ("partition_data", "partitions", "partition_indexes", "partition_responses")
_INDEXES = ("index", "partition", "partition_index")
_HEAD, _ANSWER_HEAD = b"\0\0\0\0header", b"answer"

Key = tuple[bytes, int]
"""A topic's name or ID, and a partition."""


class Target:
    """One version of one API."""

    def __init__(self, key: ApiKey, version: int) -> None:
        """Compile what its frames are read and written with."""
        self.schemas: tuple[MessageSchema, MessageSchema] = request_schema(key), response_schema(key)
        self.version = version
        self.shapes: Shapes = shapes_of(key, version)
        self.layouts: tuple[Layout, Layout] = (
            compile_layout(self.schemas[0].name, version),
            compile_layout(self.schemas[1].name, version),
        )
        self.frames: list[bytes] = []

    def renew(self, rng: random.Random) -> None:
        """Put a new valid request into the place of an old one."""
        schema = self.schemas[0]
        cls = message_class(schema.name)
        message = random_struct(rng, cls, cls, schema.fields, self.version)
        for topic in _of(message, _TOPICS) or ():
            for one in _of(topic, _PARTITIONS) or ():
                if not isinstance(one, int):
                    setattr(one, _name(one, _INDEXES), pick(rng, 12))
        frame = encode_body(self.layouts[0], message)
        if len(self.frames) < FRAMES_PER_VERSION:
            self.frames.append(frame)
        else:
            self.frames[pick(rng, FRAMES_PER_VERSION)] = frame

    def listed(self, which: int, body: bytes) -> list[Key]:
        """Return what a request, or an answer, names, in its order."""
        message = decode(self.layouts[which], body, 0)
        return [
            (self._key(topic), one if isinstance(one, int) else getattr(one, _name(one, _INDEXES)))
            for topic in _of(message, _TOPICS) or ()
            for one in _of(topic, _PARTITIONS) or ()
        ]

    def topics(self, body: bytes) -> list[bytes]:
        """Return the topics of a request, also those without partitions."""
        message = decode(self.layouts[0], body, 0)
        return [self._key(topic) for topic in _of(message, _TOPICS) or ()]

    def _key(self, topic: Any) -> bytes:
        if self.shapes.is_by_id:
            return bytes(topic.topic_id)
        return str(getattr(topic, _name(topic, ("name", "topic")))).encode()

    def answer(self, rng: random.Random, part: bytes, *, is_plain: bool = False) -> bytes:
        """Return a random answer to a part, with its topics and partitions in any order.

        Args:
            rng: draws it.
            part: the request.
            is_plain: whether it has no errors, no hints of leaders, and the order of the request.
        """
        schema = self.schemas[1]
        cls: Any = message_class(schema.name)
        message = random_struct(rng, cls, cls, schema.fields, self.version)
        topics = next(one for one in schema.fields if one.name in _TOPICS)
        partitions = next(one for one in topics.fields if one.name in _PARTITIONS)
        made: dict[bytes, Any] = {}
        for key, index in dict.fromkeys(self.listed(0, part)):
            if key not in made:
                made[key] = random_struct(
                    rng, getattr(cls, str(topics.struct_name)), cls, topics.fields, self.version
                )
                setattr(made[key], partitions.name, [])
                name = "topic_id" if self.shapes.is_by_id else _name(made[key], ("name", "topic"))
                setattr(made[key], name, key if self.shapes.is_by_id else key.decode())
            own = random_struct(
                rng, getattr(cls, str(partitions.struct_name)), cls, partitions.fields, self.version
            )
            setattr(own, _name(own, _INDEXES), index)
            if is_plain:
                own.error_code = 0
                for one in partitions.fields:
                    if one.is_tagged(self.version):
                        setattr(own, one.name, getattr(type(own)(), one.name))
            getattr(made[key], partitions.name).append(own)
        found = list(made.values())
        if not is_plain:
            rng.shuffle(found)
        setattr(message, topics.name, found)
        for one in schema.fields if is_plain else ():
            if one.is_tagged(self.version):
                setattr(message, one.name, getattr(cls(), one.name))
        return encode_body(self.layouts[1], message)


def _name(struct: Any, names: tuple[str, ...]) -> str:
    return next(name for name in names if hasattr(struct, name))


def _of(struct: Any, names: tuple[str, ...]) -> Any:
    return getattr(struct, _name(struct, names))


def taken_apart(rng: random.Random, target: Target, body: bytes) -> Split | None:
    """Take a request apart by random leaders, and check the parts; None: it is refused.

    Raises:
        Failure: it disagrees with the codec.
    """
    frame = _HEAD + body
    segments = pieces_of(rng, (len(frame) - 4).to_bytes(4, "big") + frame[4:])
    split = or_malformed(Split, target.shapes.request, target.shapes.template, segments, len(_HEAD))
    named = or_malformed(target.listed, 0, body)
    if isinstance(named, MalformedFrame):
        # It reads no tagged fields, whose contents are left to the broker.
        is_left = target.shapes.request_header_is_flexible or any(
            one in named.reason for one in ("UTF-8", "null")
        )
        if not is_left and not isinstance(split, MalformedFrame):
            raise Failure("what cannot be decoded is taken apart") from named
        named = None
    if isinstance(split, MalformedFrame):
        return None
    table = LeaderTable(1000)
    for key, _ in named or ():
        if pick(rng, 4):
            table.put(key, [NODES[pick(rng, 3)] for _ in range(pick(rng, 12))], 0)
    split.lead(table, NODES[0], 0)
    parts = []
    for node_id in split.nodes():
        part = b"".join(split.part(node_id))
        if int.from_bytes(part[:4], "big") != len(part) - 4 or part[4 : len(_HEAD)] != _HEAD[4:]:
            raise Failure("a part has another length or header")
        if named is not None:
            own = target.listed(0, part[len(_HEAD) :])
            parts += own
            _check_leaders(table, node_id, own)
    if named is not None and Counter(parts) != Counter(one for one in named if _is_there(table, *one)):
        raise Failure("the parts name other partitions than the request")
    return split


def _is_there(table: LeaderTable, key: bytes, index: int) -> bool:
    """Whether a partition exists; no broker is asked about others."""
    leaders = table.find(key)
    return leaders is not None and 0 <= index < leaders.count


def _check_leaders(table: LeaderTable, node_id: int, named: list[Key]) -> None:
    """Check where partitions are: at their leader, else at the first leader of their topic, else anywhere."""
    for key, index in named:
        leaders = table.find(key)
        led = [] if leaders is None else [leaders[number] for number in range(leaders.count)]
        own = [] if leaders is None else [leaders[index]]
        leader = next((one for one in (*own, *led) if one >= 0), NODES[0])
        if node_id != leader:
            raise Failure("a partition is not at its leader")


def _take_over(rng: random.Random, split: Split, earlier: Split) -> None:
    split.carry(earlier)
    for node_id in split.nodes():
        if earlier.covers(split, node_id) or pick(rng, 2):
            split.adopt(earlier, node_id)


def put_together(rng: random.Random, target: Target, split: Split, body: bytes, before: list[Split]) -> str:
    """Let each broker answer its part, and check the merged answer; return what came of it.

    Raises:
        Failure: it disagrees with the codec.
    """
    named = or_malformed(target.listed, 0, body)
    if isinstance(named, MalformedFrame):
        return "not UTF-8"
    missing = False
    for earlier in before:
        _take_over(rng, split, earlier)
    for node_id in split.nodes():
        part = b"".join(split.part(node_id))[len(_HEAD) :]
        answer = target.answer(rng, part)
        kind = pick(rng, 8)
        if kind == 0:
            missing = True
            continue
        if kind == 1:
            split.fail(node_id, 6)
            continue
        told = spoilt(rng, answer, answer) if kind == 2 else answer
        taken = or_malformed(split.take, node_id, _ANSWER_HEAD + told, len(_ANSWER_HEAD))
        if isinstance(taken, MalformedFrame):
            if told == answer:
                raise Failure("a valid answer is refused") from taken
            return "malformed answer"
        if told != answer:
            # What it names, and whether its texts are texts, is the broker's business; it must only not be read beyond.
            split.merged(_ANSWER_HEAD, fills=bool(pick(rng, 2)))
            return "spoilt answer"
    fills = bool(pick(rng, 2))
    merged = bytes(split.merged(_ANSWER_HEAD, fills=fills))
    found = or_malformed(target.listed, 1, merged[len(_ANSWER_HEAD) :])
    if isinstance(found, MalformedFrame):
        raise Failure("the merged answer cannot be decoded") from found
    is_plain = len(set(named)) == len(named) and len(split.nodes()) > 1
    if is_plain and not before and (fills or not missing) and found != named:
        raise Failure("the merged answer has not what was asked, in its order")
    if not set(found) <= set(named):
        raise Failure("the merged answer has what was not asked")
    split.stale()
    return "merged"


def check_cutter(rng: random.Random, frames: list[bytes]) -> None:
    """Let frames that come together in any pieces be cut again.

    Raises:
        Failure: others are found.
    """
    whole = [len(one).to_bytes(4, "big") + one for one in frames]
    stream = b"".join(whole)
    ends = [0]
    for one in whole:
        ends.append(ends[-1] + len(one))
    # The engine never cuts a frame's length.
    inside = [
        at for at in (pick(rng, len(stream)) for _ in range(9)) if not any(0 < at - end < 4 for end in ends)
    ]
    cuts = sorted({0, len(stream), *inside})
    found = cut_frames([memoryview(stream)[a:b] for a, b in pairwise(cuts)])
    if [b"".join(one) for one in found] != whole:
        raise Failure("the frames are cut otherwise")


def run_batch(seed: int, batch: int, requests: int, outcomes: Counter[str]) -> None:
    """Check so many requests; count what came of them.

    Raises:
        Exception: a Failure, or whatever else was raised; notes tell the request and how to repeat it.
    """
    rng = random.Random(f"{seed}:{batch}")
    targets = build_targets(rng)
    for number in range(requests):
        target = targets[pick(rng, len(targets))]
        if number % RENEWAL == 0:
            target.renew(rng)
        donor = targets[pick(rng, len(targets))] if pick(rng, 2) else target
        valid = target.frames[pick(rng, FRAMES_PER_VERSION)]
        body = spoilt(rng, valid, donor.frames[pick(rng, FRAMES_PER_VERSION)])
        try:
            check_straight(rng, target, body)
            split = taken_apart(rng, target, body)
            if split is None:
                outcomes["malformed"] += 1
                continue
            before: list[Split] = []
            if pick(rng, 3) == 0:
                earlier = taken_apart(rng, target, valid)
                if earlier is not None and put_together(rng, target, earlier, valid, []) == "merged":
                    if pick(rng, 2):
                        earlier.release()
                    before.append(earlier)
            outcomes[put_together(rng, target, split, body, before)] += 1
            if number % 16 == 0:
                check_cutter(rng, [one for one in (body, *target.frames) if one])
        except Exception as error:
            error.add_note(f"{target.schemas[0].name} v{target.version}, body {body.hex()}")
            error.add_note(f"repeat with --seed {seed} --first-batch {batch} --requests {requests}")
            raise


def build_targets(rng: random.Random) -> list[Target]:
    """Compile every version of every API that is divided by partition, with its first valid requests."""
    targets = []
    for key, kind in sorted(ROUTE_KINDS.items()):
        if kind in (RouteKind.LEADERS, RouteKind.FETCH):
            for version in request_schema(key).versions:
                targets.append(Target(key, version))
                for _ in range(FRAMES_PER_VERSION):
                    targets[-1].renew(rng)
    return targets


def run(requests: int, seed: int, first_batch: int = 0) -> Counter[str]:
    """Fuzz with so many requests; return how many came out how.

    Raises:
        Exception: see run_batch.
    """
    outcomes: Counter[str] = Counter()
    batch = first_batch
    while outcomes.total() < requests:
        run_batch(seed, batch, min(BATCH, requests - outcomes.total()), outcomes)
        batch += 1
    return outcomes


def main() -> int:
    """Fuzz as the arguments say; return the exit code."""
    parser = argparse.ArgumentParser(
        description="Throw mutated requests and answers at what takes them apart."
    )
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first-batch", type=int, default=0, metavar="N", help="begin with batch N")
    arguments = parser.parse_args()
    faulthandler.enable()
    print(f"fuzzing {split_module.__file__}", flush=True)
    started = time.monotonic()
    outcomes = run(arguments.requests, arguments.seed, arguments.first_batch)
    counts = ", ".join(f"{count:,} {outcome}" for outcome, count in sorted(outcomes.items()))
    rate = arguments.requests / (time.monotonic() - started)
    print(f"nothing wrong in {arguments.requests:,} requests, {rate:,.0f}/s, seed {arguments.seed}: {counts}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
