"""The operations of the state machine: each draws its arguments once and returns what is played in every world."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from bifrost.wire.api_keys import ApiKey
from bifrost.wire.messages import (
    DeleteRecordsRequest,
    DescribeProducersRequest,
    FetchRequest,
    InitProducerIdRequest,
    ListOffsetsRequest,
    OffsetForLeaderEpochRequest,
)
from support.clients.raw_operations import (
    fetch_request,
    produce_request,
)
from support.clients.record_batches import TIMESTAMP_MS, build_batch
from support.random.state_machine import Machine, Operation, Play, Player

ABSENT_ID = bytes(range(1, 17))
_SETTLE_S = 20.0


def settled(ask: Callable[[], Any], is_settled: Callable[[Any], bool]) -> Any:
    """Ask until the broker has done what it does in the background."""
    deadline = time.monotonic() + _SETTLE_S
    while not is_settled(answer := ask()):
        assert time.monotonic() < deadline, f"not settled: {answer}"
        time.sleep(0.01)
    return answer


# -- records


def produce(machine: Machine) -> Play:
    rng = machine.rng
    topic = machine.topic()
    partition = rng.randrange(topic.partitions + (rng.random() < 0.05))
    acks = rng.choice((-1, -1, 1, 0))
    version = machine.version(ApiKey.PRODUCE, low=3)
    values = [rng.randbytes(rng.choice((0, 10, 200, 6000))).hex().encode() for _ in range(rng.randint(1, 4))]
    batch = build_batch(values)
    if acks == 0:
        partition = min(partition, topic.partitions - 1)

    def play(player: Player) -> None:
        topic_id = player.id_of(topic.name)
        request = produce_request(topic.name, batch, topic_id=topic_id, partition=partition, acks=acks)
        if acks == 0:
            player.tell(request, version)
        else:
            player.ask(request, version)
        if acks != -1 and player.brokers > 1:
            # What only the leader has is not read yet: one that all have comes behind it.
            player.ask(produce_request(topic.name, batch, topic_id=topic_id, partition=partition), version)
        # Behind an unanswered one another shows that it was stored, before a consumer reads.
        newest = player.admin.at_most(ApiKey.LIST_OFFSETS, 7)
        player.ask(_list_offsets_request(topic.name, partition, -1, 0), newest)

    return play


def produce_idempotent(machine: Machine) -> Play:
    rng = machine.rng
    topic = machine.topic()
    partition = rng.randrange(topic.partitions)
    producer = f"producer-{rng.randint(1, 3)}"
    key = (producer, topic.name, partition)
    sequence = machine.model.sequences.get(key, 0)
    gap = rng.choice((0, 0, 0, 0, 5))
    if not gap:
        machine.model.sequences[key] = sequence + 2
    version = machine.version(ApiKey.PRODUCE, low=3)
    repeats = rng.choice((1, 1, 2))
    init_version = machine.version(ApiKey.INIT_PRODUCER_ID)

    def play(player: Player) -> None:
        if producer not in player.made:
            request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000)
            player.made[producer] = player.ask(request, init_version)
        mine = player.made[producer]
        batch = build_batch(
            [b"idempotent", b"and so on"],
            producer_id=mine.producer_id,
            producer_epoch=mine.producer_epoch,
            base_sequence=sequence + gap,
        )
        topic_id = player.id_of(topic.name)
        for _ in range(repeats):
            player.ask(produce_request(topic.name, batch, topic_id=topic_id, partition=partition), version)

    return play


def fetch(machine: Machine) -> Play:
    rng = machine.rng
    topic = machine.topic()
    partition = rng.randrange(topic.partitions)
    offset = rng.choice((0, 0, rng.randint(0, 20), 999))
    version = machine.version(ApiKey.FETCH)
    isolation_level = rng.randrange(2) if version >= 4 else 0

    def play(player: Player) -> None:
        request = fetch_request(
            topic.name, topic_id=player.id_of(topic.name), partition=partition, offset=offset
        )
        request.isolation_level = isolation_level
        player.ask(request, version)

    return play


def fetch_session(machine: Machine) -> Play:
    """Open a session, go on with it, change it, forget from it, and close it or name an epoch that is wrong."""
    rng = machine.rng
    first, second = machine.topic(), machine.topic()
    version = machine.version(ApiKey.FETCH, low=7)
    steps = [rng.choice(("on", "add", "forget", "wrong")) for _ in range(rng.randint(1, 4))]

    def play(player: Player) -> None:
        ids = {topic.name: player.id_of(topic.name) for topic in (first, second)}
        opened = player.ask(fetch_request(first.name, topic_id=ids[first.name], session_epoch=0), version)
        epoch, session_id = 1, opened.session_id
        for step in steps:
            request = FetchRequest(min_bytes=0, session_id=session_id, session_epoch=epoch)
            if step == "add":
                request.topics = fetch_request(second.name, topic_id=ids[second.name]).topics
            elif step == "forget":
                request.forgotten_topics_data = [
                    FetchRequest.ForgottenTopic(topic=first.name, topic_id=ids[first.name], partitions=[0])
                ]
            elif step == "wrong":
                request.session_epoch += 5
                epoch -= 1
            player.ask(request, version)
            epoch += 1
        player.ask(FetchRequest(min_bytes=0, session_id=session_id, session_epoch=-1), version)

    return play


def _list_offsets_request(
    topic: str, partition: int, timestamp: int, isolation_level: int
) -> ListOffsetsRequest:
    wanted = ListOffsetsRequest.ListOffsetsPartition(partition_index=partition, timestamp=timestamp)
    named = ListOffsetsRequest.ListOffsetsTopic(name=topic, partitions=[wanted])
    return ListOffsetsRequest(replica_id=-1, isolation_level=isolation_level, topics=[named])


def list_offsets(machine: Machine) -> Play:
    rng = machine.rng
    topic = machine.topic()
    version = machine.version(ApiKey.LIST_OFFSETS)
    special = [-1, -2] + [-3] * (version >= 7) + [-4] * (version >= 8) + [-5] * (version >= 9)
    timestamp = rng.choice([*special, TIMESTAMP_MS + 1, TIMESTAMP_MS + 10**9])
    name = rng.choice((topic.name, topic.name, machine.prefix + "absent"))
    isolation_level = rng.randrange(2) if version >= 2 else 0
    request = _list_offsets_request(name, rng.randint(0, topic.partitions), timestamp, isolation_level)

    def play(player: Player) -> None:
        for one in player.ask(request, version).topics[0].partitions:
            if one.timestamp > TIMESTAMP_MS + 1000:
                one.timestamp = 0  # A transaction's end, by the clock.

    return play


def delete_records(machine: Machine) -> Play:
    rng = machine.rng
    topic = machine.topic()
    version = machine.version(ApiKey.DELETE_RECORDS)
    wanted = DeleteRecordsRequest.DeleteRecordsPartition(
        partition_index=rng.randrange(topic.partitions), offset=rng.choice((-1, 0, 1, 3, 999))
    )
    named = DeleteRecordsRequest.DeleteRecordsTopic(name=topic.name, partitions=[wanted])

    def play(player: Player) -> None:
        player.ask(DeleteRecordsRequest(topics=[named], timeout_ms=10_000), version)

    return play


def offset_for_leader_epoch(machine: Machine) -> Play:
    rng = machine.rng
    topic = machine.topic()
    version = machine.version(ApiKey.OFFSET_FOR_LEADER_EPOCH)
    wanted = OffsetForLeaderEpochRequest.OffsetForLeaderPartition(
        partition=rng.randint(0, topic.partitions), leader_epoch=rng.randint(0, 2)
    )
    named = OffsetForLeaderEpochRequest.OffsetForLeaderTopic(topic=topic.name, partitions=[wanted])

    def play(player: Player) -> None:
        player.ask(OffsetForLeaderEpochRequest(replica_id=-1, topics=[named]), version)

    return play


def describe_producers(machine: Machine) -> Play:
    topic = machine.topic()
    named = DescribeProducersRequest.TopicRequest(
        name=topic.name, partition_indexes=list(range(topic.partitions))
    )

    def play(player: Player) -> None:
        response = player.ask(DescribeProducersRequest(topics=[named]), 0)
        for one in response.topics[0].partitions:
            # In the order of a hash table of IDs that differ, and touched by markers, by the clock.
            one.active_producers.sort(key=lambda state: state.producer_id)
            for state in one.active_producers:
                state.last_timestamp = 0

    return play


RECORD_OPERATIONS: tuple[tuple[int, Operation], ...] = (
    (16, produce),
    (8, produce_idempotent),
    (12, fetch),
    (5, fetch_session),
    (8, list_offsets),
    (3, delete_records),
    (3, offset_for_leader_epoch),
    (3, describe_producers),
)
