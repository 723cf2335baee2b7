"""Throw spoilt Produce messages at the compiled way of virtual partitions: what passes is right, or nothing passes.

    python tools/fuzz_partition_ways.py --messages 1000000 --seed 1

Requests with batches are made and spoilt (fuzz_records.py); a session's engine sends them on. Of what passes, slower
code works out what the broker must get: each partition's number, and each batch with its mark and a checksum that is
right if it was. Then an answer comes back, which may be spoilt too: what passes has the partitions that the client has
named.

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

    def passed(self, body: bytes, *, is_answer: bool) -> bytes | None:
        """Let the engine send a message on; return the body that was sent, None if it was not.

        Raises:
            Failure: a message that was not sent leaves a trace.
        """
        engine = self.engine
        out = engine.to_client if is_answer else engine.to_broker
        head = CORRELATION_ID + b"\0"
        if not is_answer:
            head = _KEY.to_bytes(4, "big") + CORRELATION_ID + b"\xff\xff\0"
        forward = engine.forward_response if is_answer else engine.forward_request
        epoch = self.producer.next_epoch
        try:
            reason = forward(given(self._rng, head + body))
        except MalformedFrame:
            reason = Reason.NOT_IN_PLACE
        if reason == Reason.PASSES:
            return bytes(b"".join(out))[4 + len(head) :]
        if out or epoch != self.producer.next_epoch:
            raise Failure("what does not pass leaves a trace")
        return None


def some_request(rng: random.Random) -> bytes:
    """Make the body of a request."""
    topics = []
    for _ in range(1 + pick(rng, 2)):
        name = (*MAPS, b"plain")[pick(rng, 4)]
        most = 6 if name == b"few" else 91
        few = (1, 2, 4, 30)[pick(rng, 4)] if name == b"many" else 1 + pick(rng, 2)
        data = []
        for _ in range(few):
            batch = some_batch(rng, "plain")
            how = pick(rng, 40)
            batch = spoil(rng, batch) if how == 0 else batch[: pick(rng, 80)] if how == 1 else batch
            data.append(ProduceRequest.PartitionProduceData(index=pick(rng, most), records=batch))
        topics.append(ProduceRequest.TopicProduceData(name=name.decode(), partition_data=data))
    named = "payments" if pick(rng, 20) == 0 else None
    return encode_body(_REQUEST, ProduceRequest(transactional_id=named, acks=1, topic_data=topics))


def check_request(connection: Connection, epoch: int, body: bytes, sent: bytes) -> list[tuple[str, int]]:
    """Compare a request that passed with what was meant to pass; return its virtual partitions in their order.

    Raises:
        Failure: it is something else.
    """
    before: Any = decode(_REQUEST, body, 0)
    after: Any = decode(_REQUEST, sent, 0)
    named, places = [], set()
    for topic in before.topic_data:
        partitions = MAPS.get(topic.name.encode())
        if partitions is None:
            continue
        if before.transactional_id is not None and topic.partition_data:
            raise Failure("a transaction passes")
        for one in topic.partition_data:
            if not partitions.has(one.index):
                raise Failure("a partition passes that the topic does not have")
            named.append((topic.name, one.index))
            group, one.index = partitions.place_of(VirtualPartition(one.index))
            if (topic.name, one.index) in places:
                raise Failure("two batches of a physical partition pass")
            places.add((topic.name, one.index))
            is_unnamed = group > 0 and not has_producer(one.records or b"")
            one.records = _marked(bytes(one.records or b""), group, epoch if is_unnamed else -1)
            epoch += is_unnamed
        topic.name = f"acme.{topic.name}"
    if encode_body(_REQUEST, before) != encode_body(_REQUEST, after):
        raise Failure("a request passes otherwise than it was meant to")
    if connection.producer.next_epoch != epoch:
        raise Failure("an epoch is used twice, or lost")
    return named


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


def some_answer(rng: random.Random, sent: bytes) -> bytes:
    """Make the body of a broker's answer to a request, in any order, with errors and their texts."""
    request: Any = decode(_REQUEST, sent, 0)
    new = ProduceResponse.PartitionProduceResponse
    topics = []
    for topic in request.topic_data:
        partitions = [
            new(
                index=one.index + (pick(rng, 60) == 0),
                error_code=pick(rng, 2),
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
    return encode_body(_RESPONSE, ProduceResponse(responses=topics))


def check_answer(named: list[tuple[str, int]], body: bytes, sent: bytes) -> None:
    """Compare an answer that passed with what was meant to pass.

    Raises:
        Failure: it is something else.
    """
    virtual = {}
    for name, number in named:
        _, physical = MAPS[name.encode()].place_of(VirtualPartition(number))
        virtual[name, physical] = number
    before: Any = decode(_RESPONSE, body, 0)
    for topic in before.responses:
        name = topic.name.removeprefix("acme.")
        if topic.name == f"acme.{name}" and name.encode() in MAPS:
            topic.name = name
            for one in topic.partition_responses:
                if (name, one.index) not in virtual:
                    raise Failure("an answer passes for a partition that was not named")
                one.index = virtual[name, one.index]
    if encode_body(_RESPONSE, before) != encode_body(_RESPONSE, decode(_RESPONSE, sent, 0)):
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
            sent = connection.passed(body, is_answer=False)
            if sent is not None and _is_text(_REQUEST, body):
                named = check_request(connection, epoch, body, sent)
                answer = some_answer(rng, sent)
                if pick(rng, 6) == 0:
                    answer = spoil(rng, answer)
                back = connection.passed(answer, is_answer=True)
                if back is not None and _is_text(_RESPONSE, answer):
                    check_answer(named, answer, back)
                outcomes[f"answer, {'did not pass' if back is None else 'passed'}"] += 1
        outcomes[f"request, {'did not pass' if sent is None else 'passed'}"] += 1
        show_progress("messages", number, started, outcomes)
    return outcomes


def main() -> int:
    """Fuzz as the arguments say; return the exit code."""
    return fuzz(run, "Throw spoilt messages at the way of virtual partitions.", "messages", partition_way)


if __name__ == "__main__":
    sys.exit(main())
