"""Produce to topics with virtual partitions comes to the same on the compiled way and through the filters.

Random requests, of which some are spoilt, go through two sessions before brokers that store batches and refuse those
with a wrong checksum: in one the requests take their way, in the other the filters see every batch. Each broker then
has the same batches in each partition, in the same order, and each client has got the same answers.
"""

from __future__ import annotations

import random
from collections import defaultdict
from struct import Struct
from typing import Any

import pytest

from bifrost.records.crc32c import crc32c
from bifrost.session.client_session import ClientSession
from bifrost.session.close_reason import SessionEnded
from bifrost.session.needs import TURN
from bifrost.tenancy.virtual_partitions.partition_map import PartitionMap
from bifrost.wire import headers
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.codec import decode
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.errors import WireError
from bifrost.wire.messages import (
    DescribeProducersResponse,
    FetchResponse,
    InitProducerIdResponse,
    ProduceRequest,
    ProduceResponse,
)
from bifrost.wire.programs import compile_layout
from support.clients.record_batches import build_batch
from support.physical_names import physical_name
from support.stage import messages
from support.stage.divided import divided
from support.stage.playbook import request_frame, response_frame, split_frames
from support.stage.stage import Stage

FRAMES = 120
TENANT = "acme"
VIRTUAL, PHYSICAL = 40, 7
TOPICS = ("orders", "events", "plain")
IDS = {topic: bytes(15) + bytes([number]) for number, topic in enumerate(TOPICS, 1)}
_HEADER = Struct(">HhI")


class Broker:
    """Stores batches, as a broker does, and gives producer IDs."""

    def __init__(self, version: int) -> None:
        self.version = version
        self.stored: dict[tuple[object, int], list[bytes]] = defaultdict(list)
        self._given = 4000

    def answer(self, frame: bytes, chance: random.Random) -> bytes | None:
        """Return the answer to a request; None: it wants none."""
        api_key, version, correlation_id = _HEADER.unpack_from(frame)
        is_flexible = api_key == ApiKey.DESCRIBE_PRODUCERS or (api_key == ApiKey.PRODUCE and version >= 9)
        size = int.from_bytes(frame[8:10], "big", signed=True)
        start, _ = headers.request_body_offset(frame, size, is_flexible)
        if api_key == ApiKey.INIT_PRODUCER_ID:
            self._given += 1
            given = InitProducerIdResponse(producer_id=self._given, producer_epoch=0)
            return response_frame(given, version, correlation_id)
        if api_key == ApiKey.DESCRIBE_PRODUCERS:
            asked: Any = decode(compile_layout("DescribeProducersRequest", version), frame, start)
            return response_frame(_no_producers(asked), version, correlation_id)
        if api_key == ApiKey.FETCH:
            asked = decode(compile_layout("FetchRequest", version), frame, start)
            return response_frame(self._fetched(asked), version, correlation_id)
        # Claims of transactions have a version with names.
        assert (api_key, version) in ((ApiKey.PRODUCE, self.version), (ApiKey.PRODUCE, 12))
        request: Any = decode(compile_layout("ProduceRequest", version), frame, start)
        answer = ProduceResponse(responses=[self._stored(topic) for topic in request.topic_data])
        chance.shuffle(answer.responses)
        for topic in answer.responses:
            chance.shuffle(topic.partition_responses)
        return None if request.acks == 0 else response_frame(answer, version, correlation_id)

    def _fetched(self, request: Any) -> FetchResponse:
        new = FetchResponse
        return new(
            responses=[
                new.FetchableTopicResponse(
                    topic=topic.topic,
                    partitions=[
                        new.PartitionData(
                            partition_index=one.partition,
                            records=self.stored[topic.topic, one.partition][one.fetch_offset],
                        )
                        for one in topic.partitions
                    ],
                )
                for topic in request.topics
            ]
        )

    def _stored(self, topic: Any) -> Any:
        new = ProduceResponse.PartitionProduceResponse
        made, seen = [], set()
        for one in topic.partition_data:
            assert one.index not in seen, "a request has two batches of a partition"
            seen.add(one.index)
            batch = bytes(one.records)
            if crc32c(batch[21:]) != int.from_bytes(batch[17:21], "big"):
                wrong = int(ErrorCode.CORRUPT_MESSAGE)
                made.append(
                    new(
                        index=one.index,
                        error_code=wrong,
                        base_offset=-1,
                        log_append_time_ms=-1,
                        log_start_offset=-1,
                    )
                )
                continue
            log = self.stored[topic.name or topic.topic_id, one.index]
            made.append(new(index=one.index, base_offset=len(log)))
            log.append(batch)
        return ProduceResponse.TopicProduceResponse(
            name=topic.name, topic_id=topic.topic_id, partition_responses=made
        )


def _no_producers(request: Any) -> DescribeProducersResponse:
    """Say that the broker knows no producers of the partitions, so that those of transactions begin anew."""
    new = DescribeProducersResponse
    return new(
        topics=[
            new.TopicResponse(
                name=topic.name,
                partitions=[new.PartitionResponse(partition_index=one) for one in topic.partition_indexes],
            )
            for topic in request.topics
        ]
    )


class Client:
    """A session, and what its client gets."""

    def __init__(self, stage: Stage, version: int, *, has_ways: bool, hot_steps: int) -> None:
        self.session: ClientSession = stage.play(TENANT).session
        self.broker, self.got = Broker(version), list[object]()
        self.on_way = self.divided = 0
        self.session.hot_steps = self._hot_steps = hot_steps
        if not has_ways:
            self.session._producer = None
        self.session.to_client.clear()

    def play(self, frames: list[bytes], chance: random.Random) -> None:
        """Send requests, all before the first answer."""
        try:
            for frame in frames:
                self._feed(self.session.receive_from_client, frame)
            trips = [one.trip for one in self.session._queue if getattr(one, "trip", None) is not None]
            self.on_way += len(trips)
            self.divided += sum(one.parts > 1 for one in trips)
            while requests := split_frames(b"".join(self.session.to_broker)):
                self.session.to_broker.clear()
                for request in requests:
                    answer = self.broker.answer(bytes(request), chance)
                    # Some answers are decoded, whatever way their requests took.
                    self.session.hot_steps = chance.choice((self._hot_steps, self._hot_steps, 0))
                    if answer is not None:
                        self._feed(self.session.receive_from_broker, answer)
        except (SessionEnded, WireError) as error:
            self.got.append((type(error).__name__, str(error)))
        self.session.hot_steps = self._hot_steps
        answers = split_frames(b"".join(self.session.to_client))
        self.session.to_client.clear()
        self.got += [self._read(bytes(answer)) for answer in answers]

    def _feed(self, feed: Any, frame: bytes) -> None:
        feed(frame)
        while TURN in self.session.needs:
            self.session.meet(TURN)

    def _read(self, frame: bytes) -> object:
        version = self.broker.version
        answer: Any = decode(compile_layout("ProduceResponse", version), frame, 5 if version >= 9 else 4)
        found = [
            (topic.name or topic.topic_id, one.index, one.error_code, one.base_offset)
            for topic in answer.responses
            for one in topic.partition_responses
        ]
        return frame[:4], sorted(found)


def some_batch(chance: random.Random, sequence: int) -> bytes:
    values = [chance.randbytes(chance.choice((1, 20, 3_000))) for _ in range(chance.choice((1, 1, 3)))]
    producer = {"producer_id": 7, "producer_epoch": 1, "base_sequence": sequence}
    foreign = {"producer_id": 1 << 40, "producer_epoch": 1, "base_sequence": 0}
    kind = chance.randrange(16)
    options: dict[str, Any] = {} if kind < 6 else foreign if kind == 15 else producer
    return build_batch(values, is_transactional=kind == 14, **options)


def spoilt(chance: random.Random, batch: bytes) -> bytes | None:
    kind = chance.randrange(40)
    made = bytearray(batch)
    if kind == 0:
        return None
    if kind == 1:
        return batch[: chance.randrange(len(batch))]
    if kind == 2:
        return batch * 2
    if kind == 3:
        made[chance.randrange(len(made))] ^= 1 << chance.randrange(8)
    elif kind == 4:
        made[chance.randrange(57, len(made))] ^= 1 << chance.randrange(8)
    return bytes(made)


def some_topic(chance: random.Random, topic: str, version: int, sequence: int) -> Any:
    most = PHYSICAL if topic == "plain" else VIRTUAL
    few = chance.choice((1, 1, 1, 2, 3, most))
    if chance.random() < 0.6:
        # None of them shares a physical partition.
        chosen = [one + PHYSICAL * chance.randrange(most // PHYSICAL) for one in range(PHYSICAL)]
        chosen = chance.sample(chosen, min(few, PHYSICAL))
    else:
        chosen = chance.sample(range(most), few)
    if chance.random() < 0.03:
        chosen.append(chance.choice((-1, VIRTUAL, 1 << 30)))
    # Of those that share a physical partition, most requests would have one that is refused.
    is_clean = chance.random() < 0.3
    batches = {
        one: build_batch([chance.randbytes(3_000)], producer_id=7, producer_epoch=1, base_sequence=sequence)
        if topic == "plain" or is_clean
        else spoilt(chance, some_batch(chance, sequence))
        for one in chosen
    }
    if topic == "plain":
        batches = {one: build_batch([b"value"]) for one in chosen if one < PHYSICAL}
    named = {"topic_id": IDS[topic]} if version >= 13 else {"name": topic}
    data = [{"index": one, "records": batch} for one, batch in batches.items()]
    return {**named, "partition_data": data}


def some_request(chance: random.Random, version: int, number: int) -> ProduceRequest:
    chosen = chance.sample(TOPICS, chance.choice((1, 1, 1, 2, 3)))
    data = [some_topic(chance, topic, version, number) for topic in chosen]
    fields = {"acks": chance.choice((-1, 1, 1, 1)), "timeout_ms": 1, "topic_data": data}
    if chance.random() < 0.03:
        fields["transactional_id"] = chance.choice(("payments", ""))
    made = messages.build("ProduceRequest", fields)
    assert isinstance(made, ProduceRequest)
    return made


def staged(partitions: PartitionMap) -> Stage:
    stage = Stage({TENANT: type(next(iter(Stage().tenants.values())))()})
    divided(stage, "orders", "events", partitions=partitions)
    for topic, topic_id in IDS.items():
        stage.topic_ids.learn(topic_id, physical_name(TENANT, topic).encode())
        stage.namespaces[TENANT].looked_up([topic_id])
    return stage


@pytest.mark.parametrize("hot_steps", [8192, 3])
@pytest.mark.parametrize("version", [3, 8, 9, 12, 13])
@pytest.mark.parametrize("partitions", [PartitionMap(VIRTUAL, PHYSICAL), PartitionMap.of_ratio(6)])
def test_requests_and_answers_come_out_as_without_a_way(
    partitions: PartitionMap, version: int, hot_steps: int
) -> None:
    chance = random.Random(f"{partitions} {version} {hot_steps}")
    stages = (staged(partitions), staged(partitions))
    with_ways, without = (
        Client(stage, version, has_ways=has_ways, hot_steps=hot_steps)
        for stage, has_ways in zip(stages, (True, False), strict=True)
    )
    for number in range(FRAMES):
        frames = [
            request_frame(some_request(chance, version, number), version, number * 10 + one)
            for one in range(chance.choice((1, 1, 3)))
        ]
        seen = chance.random()

        for client in (with_ways, without):
            client.play(frames, random.Random(seen))

        assert with_ways.got == without.got
        assert with_ways.broker.stored == without.broker.stored
        if with_ways.got and isinstance(with_ways.got[-1], tuple) and isinstance(with_ways.got[-1][0], str):
            with_ways, without = (
                Client(stage, version, has_ways=has_ways, hot_steps=hot_steps)
                for stage, has_ways in zip(stages, (True, False), strict=True)
            )
    assert without.on_way == 0
    assert with_ways.on_way > (FRAMES // 8 if hot_steps > 100 else 0)
    assert with_ways.divided > FRAMES // 20 or hot_steps < 100
    assert len(with_ways.broker.stored) > PHYSICAL
