"""Throw spoilt records at the compiled ways of records: what passes must be what was meant to pass, or nothing passes.

    python tools/fuzz_record_ways.py --messages 1000000 --seed 1

Produce requests and answers to Fetch are made with batches of every codec, sealed or not, and spoilt (fuzz_sealed.py,
fuzz_records.py, frame_mutations.py); a session's engine sends them on, whose names of topics are these ways:

    sealed      EnvelopeEncryption of batches
    values      EnvelopeEncryption of values
    checked     SchemaValidator at level `id`
    both        first checked, then sealed

Whatever passes is read again by slower code: what was sealed opens to what the client sent, what was opened is what was
sealed there, all IDs of schemas are known, and all checksums are right. What does not pass leaves no trace: nothing was
sent, and all memory is given back.

Frames are bytes, memory that ends where the frame ends, or memory of a framer, so AddressSanitizer sees a byte that is
read beyond (`make fuzz-asan`). Exits 1 at the first failure and prints it.
"""

import random
import sys
from array import array
from collections import Counter
from collections.abc import Callable
from itertools import count
from types import SimpleNamespace
from typing import Any

from bifrost.config.fields.limits import Limits
from bifrost.config.records.record_filter import RecordFilter
from bifrost.encryption.dek import DekLimits, WritingDek
from bifrost.encryption.place import Place
from bifrost.encryption.sealed_batch import read_sealed
from bifrost.encryption.sealed_values import read_sealed_values
from bifrost.filters.records import topic_way
from bifrost.filters.records.record_topics import TopicChain
from bifrost.filters.records.tenant_records import ProcessRecords
from bifrost.filters.records.topic_way import TopicWay
from bifrost.forwarding.forwarding import Forwarding
from bifrost.forwarding.lane import Awaited, AwaitedQueue, Lane, Reason
from bifrost.forwarding.lane_names import LaneNames
from bifrost.forwarding.load import Load
from bifrost.forwarding.traffic import Traffic
from bifrost.records.codec.client_batch import read_columns, split_batches
from bifrost.schemas.schema_key import SchemaAnswer, SchemaKey
from bifrost.schemas.wire_format import VALUE_HEADER, Unreadable, read_payload
from bifrost.transforms.encryption.dek_needs import DekToSeal
from bifrost.transforms.record_transform import Direction
from bifrost.transforms.transform_kind import Topic, kind_of
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.errors import MalformedFrame
from bifrost.wire.framer import Framer
from bifrost.wire.program import SLOT_PARTITION, SLOT_WAY, Passage
from bifrost.wire.programs import compile_program
from bifrost.wire.rewriting import Names
from frame_mutations import pick
from fuzz_command import fuzz, repeatable, show_progress
from fuzz_records import HEADER, spoil
from fuzz_sealed import DEK, WRAPPED, only_batch, plenty
from fuzz_ways import or_malformed
from record_messages import CLUSTER, KINDS, KNOWN_ID, MESSAGES, body_of, kinds, parts_of, some_partition
from record_model import Malformed, PlainReader

NAME_SLOT = 1
CORRELATION_ID = b"\x01\x02\x03\x04"
KEPT_WAYS = 500
"""Messages after which ways are made anew: each remembers keys and partitions."""


class Failure(AssertionError):
    """What passed must not pass, or not like this."""


class Known:
    """Has the one DEK, and one schema."""

    def __init__(self, prefix: bytes) -> None:
        self.writing = WritingDek(DEK, prefix, DekLimits(), 0)

    def cached(self, key: Any) -> object | None:
        """See `Sources`."""
        if isinstance(key, SchemaKey):
            is_known = key.schema_id in (KNOWN_ID, bytes(16))
            return SchemaAnswer(None if is_known else "not of this topic") if key.schema_id != 0 else None
        if isinstance(key, DekToSeal):
            return self.writing
        return DEK if key.header == WRAPPED.as_bytes() else None


class Ways:
    """The ways of all kinds in both directions, of one process."""

    def __init__(self, prefix: bytes) -> None:
        clock = count(0, 1_000)
        self.process = ProcessRecords(Limits(), Counter(), lambda: next(clock))
        self.process.sources = self.known = Known(prefix)  # type: ignore[assignment]
        self.names = {way: self._names(way) for way in Direction}

    def _names(self, direction: Direction) -> Names:
        records: Any = SimpleNamespace(process=self.process, tenant="acme")
        made = {}
        for kind in kinds(direction):
            used = KINDS[kind] if direction is Direction.PRODUCE else KINDS[kind][-1:]
            topic = Topic("acme", kind, kind.encode(), CLUSTER)
            transforms = tuple(_transform(mode, topic) for mode in used)
            sealed = (CLUSTER, kind.encode()) if used[-1] == "batches" else None
            chain = TopicChain(transforms, {}, sealed if direction is Direction.FETCH else None)
            made[kind.encode()] = TopicWay(kind.encode(), records, chain, direction)
        return Names(lambda _slot, name: made.get(name, name))


def _transform(mode: str, topic: Topic) -> Any:
    if mode == "id":
        name, config = "SchemaValidator", {"registry_url": "http://registry", "level": "id"}
    else:
        seal = {"kms_provider": "KeyFile", "key_id": "kek", "key_file": "keks", "cluster": CLUSTER}
        name, config = "EnvelopeEncryption", seal | {"mode": mode}
    found = RecordFilter.model_validate(
        {"name": name, "label": mode, "config": config, "rules": [{"topics": [topic.name]}]}
    )
    return kind_of(found.name).make(mode, found.config, topic)


def _passage() -> Passage:
    # See _RECORDS in filters/plan.py.
    request = compile_program(
        *MESSAGES[Direction.PRODUCE],
        {
            "TopicData.Name": NAME_SLOT,
            "TopicData.PartitionData.Index": SLOT_PARTITION,
            "TopicData.PartitionData.Records": SLOT_WAY,
        },
    )
    response = compile_program(
        *MESSAGES[Direction.FETCH],
        {
            "Responses.Topic": NAME_SLOT,
            "Responses.Partitions.PartitionIndex": SLOT_PARTITION,
            "Responses.Partitions.Records": SLOT_WAY,
        },
    )
    return Passage(request, response, True, True, None, None)


_KEY = ApiKey.PRODUCE << 16 | 9
_PLAN: Any = SimpleNamespace(api_key=ApiKey.PRODUCE, passage=_passage())


def passed(rng: random.Random, ways: Ways, direction: Direction, body: bytes) -> bytes | None:
    """Let the engine send a message on; return the body that was sent, None if it was not.

    Raises:
        Failure: a message that was not sent leaves a trace.
    """
    names = LaneNames(ways.names[Direction.PRODUCE], ways.names[Direction.FETCH], None)
    lane = Lane(_PLAN, Traffic(), Load(), names)
    session = Forwarding()
    session._lanes, session._queue, session._max_in_flight = {_KEY: lane}, AwaitedQueue(), 1
    session.to_broker, session.to_client = [], []
    session.hot_steps = (8192, 200)[pick(rng, 4) == 0]
    if direction is Direction.PRODUCE:
        head, out = _KEY.to_bytes(4, "big") + CORRELATION_ID + b"\xff\xff\0", session.to_broker
        forward = session.forward_request
    else:
        session._queue.append(Awaited(int.from_bytes(CORRELATION_ID, "big"), lane, None))
        head, out, forward = CORRELATION_ID + b"\0", session.to_client, session.forward_response
    try:
        reason = forward(given(rng, head + body))
    except MalformedFrame:
        reason = Reason.NOT_IN_PLACE
    if reason != Reason.PASSES:
        if out:
            raise Failure("what does not pass leaves a trace")
        return None
    return bytes(b"".join(out))[4 + len(head) :]


def given(rng: random.Random, frame: bytes) -> bytes | memoryview:
    """Return a frame in memory as a session gets it."""
    how = pick(rng, 3)
    if how == 0:
        return frame
    if how == 1:
        return memoryview(array("B", frame))
    stream, framer, found = len(frame).to_bytes(4, "big") + frame, Framer(1 << 24), []
    while stream:
        room = framer.get_buffer()
        size = min(len(room), len(stream))
        room[:size] = stream[:size]
        found += framer.buffer_updated(size)
        stream = stream[size:]
    (one,) = found
    return one


def _is_text(direction: Direction, body: bytes) -> bool:
    """Whether the names in a body are texts: the engine leaves that to its table of names."""
    found = or_malformed(parts_of, direction, body)
    return not isinstance(found, MalformedFrame) or "UTF-8" not in found.reason


def check(direction: Direction, body: bytes, sent: bytes) -> None:
    """Compare what passed with what was meant to pass.

    Raises:
        Failure: it is something else.
    """
    before, after = parts_of(direction, body), parts_of(direction, sent)
    if [one[:2] for one in before] != [one[:2] for one in after]:
        raise Failure("there are other partitions than before")
    for (kind, partition, given), (_, _, made) in zip(before, after, strict=True):
        if kind in kinds(direction):
            check_records(direction, Place(CLUSTER, kind, partition), given, made)
        elif given != made:
            raise Failure("records without a way were changed")


def check_records(direction: Direction, place: Place, given: bytes, made: bytes) -> None:
    """Compare the records of a partition."""
    is_produce = direction is Direction.PRODUCE
    before = [bytes(one.data) for one in split_batches(memoryview(given), is_whole=is_produce)]
    after = [bytes(one.data) for one in split_batches(memoryview(made), is_whole=is_produce)]
    # What is left of a batch that a broker has cut off says nothing, sealed or not.
    left = made[sum(map(len, after)) :]
    if len(before) != len(after) or (left and left != given[sum(map(len, before)) :]):
        raise Failure("there are other batches than before")
    outer, inner = (after, before) if is_produce else (before, after)
    for one, other in zip(outer, inner, strict=True):
        _check_batch(direction, place, one, other)


def _check_batch(direction: Direction, place: Place, sealed: bytes, plain: bytes) -> None:
    """Compare a batch on the broker's side with the same on the client's."""
    batch, kind, is_produce = only_batch(sealed), place.topic, direction is Direction.PRODUCE
    if batch.is_control or (not is_produce and not batch.record_count):
        if sealed != plain:
            raise Failure("a batch without records of clients was changed")
        return
    if is_produce and "id" in KINDS[kind]:
        _check_ids(plain)
    if kind == "values":
        found = read_sealed_values(read_columns(batch, plenty()))
        opened = found.open(place.binding, dict.fromkeys(found.dek_headers, DEK), plenty())
        same = opened.records() == read_columns(only_batch(plain), plenty()).records()
        is_same = same and sealed[43:HEADER] == plain[43:HEADER]
    elif kind == "checked":
        is_same = sealed == plain
    else:
        read = read_sealed(batch, plenty())
        is_same = read is not None and read.open(place.binding, DEK, plenty()) == plain
    if not is_same:
        raise Failure("a batch is another than before")


def _check_ids(data: bytes) -> None:
    """Read the IDs of a batch's values by plain Python."""
    batch = only_batch(data)
    try:
        if batch.codec:
            raise Failure("a batch that is packed was not read")
        for one in PlainReader(data[HEADER:]).records(batch.record_count):
            if one.value is not None:
                found = read_payload(one.value, one.headers, VALUE_HEADER).schema_id
                if found not in (KNOWN_ID, bytes(16)):
                    raise Failure(f"a value names schema {found!r}")
    except (Malformed, Unreadable) as error:
        raise Failure("records that are malformed pass") from error


def run(
    messages: int, seed: int, *, started: float | None = None, make: Callable[[bytes], Ways] = Ways
) -> Counter[str]:
    """Send that many messages; return how many came out how.

    Raises:
        Exception: a Failure or whatever else was raised; notes tell the message and how to repeat it.
    """
    rng, outcomes, prefixes = random.Random(seed), Counter[str](), count(seed << 32)
    dek = WritingDek(DEK, next(prefixes).to_bytes(8, "big"), DekLimits(), 0)
    for number in range(messages):
        if number % KEPT_WAYS == 0:
            ways = make(next(prefixes).to_bytes(8, "big"))
        direction = (Direction.PRODUCE, Direction.FETCH)[pick(rng, 2)]
        body = body_of(direction, [some_partition(rng, direction, dek) for _ in range(1 + pick(rng, 2))])
        if pick(rng, 10) == 0:
            body = spoil(rng, body)
        with repeatable("messages", number, seed, body):
            sent = passed(rng, ways, direction, body)
            if ways.process.memory.used:
                raise Failure(f"{ways.process.memory.used} bytes are not given back")
            if sent is not None and _is_text(direction, body):
                check(direction, body, sent)
        outcomes[f"{direction.value}, {'did not pass' if sent is None else 'passed'}"] += 1
        show_progress("messages", number, started, outcomes)
    return outcomes


def main() -> int:
    """Fuzz as the arguments say; return the exit code."""
    return fuzz(run, "Throw spoilt records at the compiled ways of records.", "messages", topic_way)


if __name__ == "__main__":
    sys.exit(main())
