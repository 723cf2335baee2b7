"""A single address for all brokers: the gateway finds the broker of each topic and group that a client names."""

import time
from collections.abc import Iterator

from bench.frames import produce, record_batch
from bench.hostile.attack import attack
from bench.hostile.field import Field
from bifrost.wire.messages import FetchRequest, ListOffsetsRequest, OffsetFetchRequest

MIB = 1 << 20


def _fetch(field: Field, turn: int, count: int, name: str = "t{}-{}") -> bytes:
    partition = FetchRequest.FetchPartition(partition=0, partition_max_bytes=1024)
    topics = [
        FetchRequest.FetchTopic(topic=name.format(turn, one), partitions=[partition]) for one in range(count)
    ]
    return field.frame(FetchRequest(max_wait_ms=0, session_epoch=-1, topics=topics), 12)


@attack("topics that there are not, thousands in each request, other ones each time", has_features=True)
def single_address_topics(field: Field) -> Iterator[None]:
    frames = [_fetch(field, turn, field.size(10_000)) for turn in range(20)]
    yield
    field.flood(frames, connections=8, is_single=True)


@attack("the same with names of 30 KiB", has_features=True)
def single_address_long_names(field: Field) -> Iterator[None]:
    frames = [_fetch(field, turn, field.size(30), "t{}-{:030000}") for turn in range(20)]
    yield
    field.flood(frames, connections=8, is_single=True)


@attack("groups that there are not, thousands in each request, other ones each time", has_features=True)
def single_address_groups(field: Field) -> Iterator[None]:
    new, frames = OffsetFetchRequest, []
    for turn in range(20):
        groups = [
            new.OffsetFetchRequestGroup(group_id=f"g{turn}-{one}", topics=None)
            for one in range(field.size(MIB) // 20)
        ]
        frames.append(field.frame(new(groups=groups), 9))
    yield
    field.flood(frames, connections=4, is_single=True)


@attack("offsets of tens of thousands of partitions of one topic, in a request of a MiB", has_features=True)
def single_address_partitions(field: Field) -> Iterator[None]:
    new = ListOffsetsRequest
    partitions = [
        new.ListOffsetsPartition(partition_index=one, timestamp=-1, current_leader_epoch=-1)
        for one in range(field.size(MIB) // 20)
    ]
    topic = new.ListOffsetsTopic(name=field.target.topic, partitions=partitions)
    frame = field.frame(new(replica_id=-1, topics=[topic]), 7)
    yield
    field.flood([frame], connections=4, is_single=True)


@attack(
    "40 connections that fetch 8 MiB of all brokers at once again and again, and read nothing",
    seconds=8,
    is_warmed=True,
    has_features=True,
)
def single_address_slow_readers(field: Field) -> Iterator[None]:
    # Not of long ago, or the brokers would delete it, and each answer would be a short error.
    batch, _ = record_batch(512 * 1024, 1024, int(time.time() * 1000))
    client = field.client(is_single=True)
    for partition in range(8):
        for _ in range(2):
            client.request(produce(field.target.topic, b"", 9, partition, batch), 9)
    client.close()
    new = FetchRequest
    partitions = [new.FetchPartition(partition=one, partition_max_bytes=MIB) for one in range(8)]
    topics = [new.FetchTopic(topic=field.target.topic, partitions=partitions)]
    # What does not wait is answered when all brokers have answered, with what they all have.
    frame = field.frame(new(max_wait_ms=0, max_bytes=8 * MIB, session_epoch=-1, topics=topics), 12)
    yield
    field.flood([frame], connections=40, reads=False, is_single=True)
