"""Throw spoilt Produce messages at the compiled way of virtual partitions: what passes is right, or nothing passes.

    python tools/fuzz_partition_ways.py --messages 1000000 --seed 1

Requests with batches are made and spoilt (fuzz_records.py); a session's engine sends them on. Of what passes, slower
code works out what the broker must get: each partition's number, and each batch with its mark and a checksum that is
right if it was, in as many requests as partitions share a physical one. Then the answers come back, of which one may be
spoilt too: what passes has the partitions that the client has named.

Frames are bytes, memory that ends where the frame ends, or memory of a framer, so AddressSanitizer sees a byte that is
read beyond (`make fuzz-asan`). Exits 1 at the first failure and prints it.
"""

import random
import sys
from collections import Counter
from types import SimpleNamespace
from typing import Any

from bifrost.filters.virtual import partition_way
from bifrost.filters.virtual.partition_way import PartitionWay
from bifrost.forwarding.forwarding import Forwarding
from bifrost.forwarding.lane import AwaitedQueue, Lane, Reason
from bifrost.forwarding.lane_names import LaneNames
from bifrost.forwarding.load import Load
from bifrost.forwarding.traffic import Traffic
from bifrost.records.crc32c import crc32c
from bifrost.tenancy.virtual_partitions.own_producer import OwnProducer
from bifrost.tenancy.virtual_partitions.partition_map import PartitionMap, VirtualPartition
from bifrost.tenancy.virtual_partitions.virtual_batches import has_producer, marked_batch
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.codec import decode, encode_body
from bifrost.wire.errors import MalformedFrame
from bifrost.wire.messages import ProduceRequest, ProduceResponse
from bifrost.wire.program import SLOT_PARTITION, SLOT_WAY, Passage
from bifrost.wire.programs import compile_layout, compile_program
from bifrost.wire.rewriting import Names
from frame_mutations import pick
from fuzz_command import fuzz, repeatable, show_progress
from fuzz_record_ways import given
from fuzz_records import spoil
from record_messages import some_batch

VERSION, NAME_SLOT, TRANSACTIONAL_ID_SLOT = 9, 1, 3
CORRELATION_ID = b"\x01\x02\x03\x04"
MAPS = {b"few": PartitionMap(5, 2), b"many": PartitionMap(90, 9), b"ratio": PartitionMap.of_ratio(3)}
"""The topics with virtual partitions, by the name that the client uses."""
PRODUCER_ID = 77
_REQUEST = compile_layout("ProduceRequest", VERSION)
_RESPONSE = compile_layout("ProduceResponse", VERSION)
_KEY = ApiKey.PRODUCE << 16 | VERSION


class Failure(AssertionError):
    """What passed must not pass, or not like this."""


def _passage() -> Passage:
    # See _PLACES in filters/plan.py.
    request = {
        "TransactionalId": TRANSACTIONAL_ID_SLOT,
        "TopicData.Name": NAME_SLOT,
        "TopicData.PartitionData.Index": SLOT_PARTITION,
        "TopicData.PartitionData.Records": SLOT_WAY,
    }
    response = {"Responses.Name": NAME_SLOT, "Responses.PartitionResponses.Index": SLOT_PARTITION}
    return Passage(
        compile_program("ProduceRequest", VERSION, request),
        compile_program("ProduceResponse", VERSION, response),
        True,
        True,
        None,
        None,
    )


def _names(*, is_answer: bool) -> Names:
    made: dict[bytes, Any] = {}
    for name, partitions in MAPS.items():
        physical = b"acme." + name
        here, there = (physical, name) if is_answer else (name, physical)
        made[here] = PartitionWay(there, name, partitions)
    return Names(lambda slot, name: made.get(name, name) if slot == NAME_SLOT else name)


_PLAN: Any = SimpleNamespace(api_key=ApiKey.PRODUCE, passage=_passage())
_NAMES = LaneNames(_names(is_answer=False), _names(is_answer=True), None)


class Connection:
    """What the engine sees of a session."""

    def __init__(self, rng: random.Random) -> None:
        self.engine, self._rng = Forwarding(), rng
        lane = Lane(_PLAN, Traffic(), Load(), _NAMES)
        self.engine._lanes, self.engine._queue = {_KEY: lane}, AwaitedQueue()
        self.engine._max_in_flight, self.engine.to_broker, self.engine.to_client = 1, [], []
        self.engine.hot_steps = (8192, 4)[pick(rng, 8) == 0]
        self.producer = OwnProducer()
        if pick(rng, 8):
            self.producer.begin(PRODUCER_ID)
            self.producer.take_epochs((0, 32_766, 32_767)[pick(rng, 3)])
        self.engine._producer = self.producer if pick(rng, 20) else None

    def sent(self, body: bytes) -> list[bytes] | None:
        """Let the engine send a request on; return the bodies that were sent, None: it was not.

        Raises:
            Failure: a request that was not sent leaves a trace.
        """
        engine, epoch = self.engine, self.producer.next_epoch
        head = _KEY.to_bytes(4, "big") + CORRELATION_ID + b"\xff\xff\0"
        try:
            reason = engine.forward_request(given(self._rng, head + body))
        except MalformedFrame:
            reason = Reason.NOT_IN_PLACE
        if reason == Reason.PASSES:
            frames = split(b"".join(engine.to_broker))
            if len(engine._queue) != len(frames) or any(one[: len(head)] != head for one in frames):
                raise Failure("not every request that is sent is awaited, or has the client's header")
            return [one[len(head) :] for one in frames]
        if engine.to_broker or epoch != self.producer.next_epoch or len(engine._queue):
            raise Failure("what does not pass leaves a trace")
        return None

    def answered(self, bodies: list[bytes]) -> bytes | None:
        """Let the engine send back the answers to all parts; return the body that the client gets, None: it gets none.

        Raises:
            Failure: the client gets something before the last one has come, or an answer that does not pass.
        """
        engine, head = self.engine, CORRELATION_ID + b"\0"
        for number, body in enumerate(bodies, 1):
            try:
                reason = engine.forward_response(given(self._rng, head + body))
            except MalformedFrame:
                reason = Reason.NOT_IN_PLACE
            if number < len(bodies) and (reason != Reason.PASSES or engine.to_client):
                raise Failure("the answer to a part is not kept")
        if (reason == Reason.PASSES) != (len(engine._queue) == 0) or (reason == Reason.PASSES) != bool(
            engine.to_client
        ):
            raise Failure("what does not pass leaves a trace")
        return bytes(b"".join(engine.to_client))[4 + len(head) :] if reason == Reason.PASSES else None


def split(sent: bytes) -> list[bytes]:
    """Return the frames in what was sent, without their lengths.

    Raises:
        Failure: there is something else than whole frames.
    """
    frames = []
    while sent:
        size = int.from_bytes(sent[:4], "big")
        frames.append(sent[4 : 4 + size])
        if len(frames[-1]) != size:
            raise Failure("a frame is not whole")
        sent = sent[4 + size :]
    return frames


def some_request(rng: random.Random) -> bytes:
    """Make the body of a request."""
    topics = []
    for _ in range(1 + pick(rng, 2)):
        name = (*MAPS, b"plain")[pick(rng, 4)]
        most = 6 if name == b"few" else 91
        few = (1, 2, 4, 30)[pick(rng, 4)] if name == b"many" else 1 + pick(rng, 2)
        # Now and then a partition is named twice.
        numbers = rng.sample(range(most), few) if pick(rng, 8) else [pick(rng, most) for _ in range(few)]
        data = []
        for number in numbers:
            batch = some_batch(rng, "plain")
            how = pick(rng, 10 * few + 30)
            batch = spoil(rng, batch) if how == 0 else batch[: pick(rng, 80)] if how == 1 else batch
            data.append(ProduceRequest.PartitionProduceData(index=number, records=batch))
        topics.append(ProduceRequest.TopicProduceData(name=name.decode(), partition_data=data))
    named = "payments" if pick(rng, 20) == 0 else None
    return encode_body(_REQUEST, ProduceRequest(transactional_id=named, acks=1, topic_data=topics))


Place = tuple[str, int]
"""A topic and one of its partitions."""


def check_request(connection: Connection, epoch: int, body: bytes, sent: list[bytes]) -> dict[Place, Place]:
    """Compare the requests that were sent with what was meant to be sent.

    Returns:
        By the client's partition, in its order: the place among the requests, and the broker's partition. Nothing if
        the client has named a partition of another topic twice.
    Raises:
        Failure: it is something else.
    """
    before: Any = decode(_REQUEST, body, 0)
    named: dict[Place, tuple[int, int]] = {}
    is_clear = True
    for topic in before.topic_data:
        partitions = MAPS.get(topic.name.encode())
        if partitions is not None and before.transactional_id is not None and topic.partition_data:
            raise Failure("a transaction passes")
        for one in topic.partition_data:
            place = topic.name, one.index
            if partitions is None:
                is_clear = is_clear and place not in named
                named[place] = (0, one.index)
                continue
            if not partitions.has(one.index) or place in named:
                raise Failure("a partition passes that the topic does not have, or twice")
            group, one.index = partitions.place_of(VirtualPartition(one.index))
            named[place] = (group, one.index)
            is_unnamed = group > 0 and not has_producer(one.records or b"")
            one.records = _marked(bytes(one.records or b""), group, epoch if is_unnamed else -1)
            epoch += is_unnamed
    placed = _in_parts(named)
    if len(sent) != 1 + max((part for part, _ in placed.values()), default=0):
        raise Failure("there are more requests than partitions that share one, or fewer")
    for part, one in enumerate(sent):
        if encode_body(_REQUEST, _part_of(body, before, placed, part, len(sent))) != encode_body(
            _REQUEST, decode(_REQUEST, one, 0)
        ):
            raise Failure("a request passes otherwise than it was meant to")
    if connection.producer.next_epoch != epoch:
        raise Failure("an epoch is used twice, or lost")
    return placed if is_clear else {}


def _in_parts(named: dict[Place, tuple[int, int]]) -> dict[Place, tuple[int, int]]:
    """Return which request has each partition, by how many of lower groups share its physical one, and this."""
    groups: dict[Place, list[int]] = {}
    for (topic, _), (group, physical) in named.items():
        groups.setdefault((topic, physical), []).append(group)
    return {
        (topic, number): (sorted(groups[topic, physical]).index(group), physical)
        for (topic, number), (group, physical) in named.items()
    }


def _part_of(
    body: bytes, marked: ProduceRequest, placed: dict[Place, tuple[int, int]], part: int, parts: int
) -> ProduceRequest:
    """Return one of the requests; `marked` has the batches that brokers get."""
    made: Any = decode(_REQUEST, body, 0)
    topics = []
    for topic, with_marks in zip(made.topic_data, marked.topic_data, strict=True):
        chosen = []
        for one, to_broker in zip(topic.partition_data, with_marks.partition_data, strict=True):
            if placed[topic.name, one.index][0] == part:
                chosen.append(to_broker)
        topic.partition_data = chosen
        topic.name = f"acme.{topic.name}" if topic.name.encode() in MAPS else topic.name
        if chosen or parts == 1:
            topics.append(topic)
    made.topic_data = topics
    return made


def _marked(batch: bytes, group: int, epoch: int) -> bytes:
    """Return a batch with its mark; a checksum that was wrong is wrong by as much."""
    if len(batch) < 61:
        raise Failure("a batch without a header passes")
    right = crc32c(batch[21:])
    wrong = right ^ int.from_bytes(batch[17:21], "big")
    made = marked_batch(batch[:17] + right.to_bytes(4, "big") + batch[21:], group, PRODUCER_ID, epoch)
    joined = b"".join(made) if isinstance(made, tuple) else bytes(made)
    crc = int.from_bytes(joined[17:21], "big") ^ wrong
    return joined[:17] + crc.to_bytes(4, "big") + joined[21:]


def some_answer(rng: random.Random, sent: bytes, errors: int) -> bytes:
    """Make the body of a broker's answer to a request, in any order; one of so many `errors` is one, with a text."""
    request: Any = decode(_REQUEST, sent, 0)
    new = ProduceResponse.PartitionProduceResponse
    topics = []
    for topic in request.topic_data:
        partitions = [
            new(
                index=one.index + (pick(rng, 60) == 0),
                error_code=pick(rng, errors) == 0,
                base_offset=pick(rng, 100),
                error_message=(None, "no")[pick(rng, 2)],
            )
            for one in topic.partition_data
        ]
        if pick(rng, 2):
            rng.shuffle(partitions)
        topics.append(ProduceResponse.TopicProduceResponse(name=topic.name, partition_responses=partitions))
    if pick(rng, 2):
        rng.shuffle(topics)
    return encode_body(_RESPONSE, ProduceResponse(responses=topics, throttle_time_ms=pick(rng, 3)))


def check_answer(placed: dict[Place, tuple[int, int]], bodies: list[bytes], sent: bytes) -> None:
    """Compare an answer that passed with what was meant to pass.

    Raises:
        Failure: it is something else.
    """
    virtual = {(part, name, physical): number for (name, number), (part, physical) in placed.items()}
    answers: list[Any] = [decode(_RESPONSE, body, 0) for body in bodies]
    found: dict[Place, Any] = {}
    for part, answer in enumerate(answers):
        for topic in answer.responses:
            name = topic.name.removeprefix("acme.")
            is_virtual = topic.name == f"acme.{name}" and name.encode() in MAPS
            topic.name = name if is_virtual else topic.name
            for one in topic.partition_responses if is_virtual or len(bodies) > 1 else ():
                if (part, name, one.index) not in virtual:
                    raise Failure("an answer passes for a partition that was not named")
                one.index = virtual[part, name, one.index]
                if len(bodies) > 1 and (one.error_code or (name, one.index) in found):
                    raise Failure("an error is joined, or a partition that was answered twice")
                found[name, one.index] = one
    expected = answers[-1]
    if len(bodies) > 1:
        if found.keys() != placed.keys():
            raise Failure("an answer is joined that lacks a partition")
        expected.throttle_time_ms = max(one.throttle_time_ms for one in answers)
        expected.responses = [
            ProduceResponse.TopicProduceResponse(
                name=name, partition_responses=[found[place] for place in placed if place[0] == name]
            )
            for name in dict.fromkeys(name for name, _ in placed)
        ]
    if encode_body(_RESPONSE, expected) != encode_body(_RESPONSE, decode(_RESPONSE, sent, 0)):
        raise Failure("an answer passes otherwise than it was meant to")


def _is_text(layout: Any, body: bytes) -> bool:
    """Whether the texts in a body are; the engine leaves that to its table of names."""
    try:
        decode(layout, body, 0)
    except MalformedFrame as error:
        return "UTF-8" not in error.reason
    return True


def run(messages: int, seed: int, *, started: float | None = None) -> Counter[str]:
    """Send that many messages; return how many came out how.

    Raises:
        Exception: a Failure or whatever else was raised; notes tell the message and how to repeat it.
    """
    rng, outcomes = random.Random(seed), Counter[str]()
    for number in range(messages):
        connection, body = Connection(rng), some_request(rng)
        if pick(rng, 10) == 0:
            body = spoil(rng, body)
        with repeatable("messages", number, seed, body):
            epoch = connection.producer.next_epoch
            sent = connection.sent(body)
            if sent is not None and _is_text(_REQUEST, body):
                placed = check_request(connection, epoch, body, sent)
                answers = [some_answer(rng, one, 2 if len(sent) == 1 else 40) for one in sent]
                if pick(rng, 6) == 0:
                    spoilt = pick(rng, len(sent))
                    answers[spoilt] = spoil(rng, answers[spoilt])
                back = connection.answered(answers)
                if back is not None and placed and all(_is_text(_RESPONSE, one) for one in answers):
                    check_answer(placed, answers, back)
                kind = "answer" if len(sent) == 1 else "joined answer"
                outcomes[f"{kind}, {'did not pass' if back is None else 'passed'}"] += 1
        kind = "request" if sent is None or len(sent) == 1 else "divided request"
        outcomes[f"{kind}, {'did not pass' if sent is None else 'passed'}"] += 1
        show_progress("messages", number, started, outcomes)
    return outcomes


def main() -> int:
    """Fuzz as the arguments say; return the exit code."""
    return fuzz(run, "Throw spoilt messages at the way of virtual partitions.", "messages", partition_way)


if __name__ == "__main__":
    sys.exit(main())
