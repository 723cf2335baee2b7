"""Unknown topic IDs, which cost work to look up."""

import os
from collections.abc import Iterator

from bench.hostile.attack import attack
from bench.hostile.field import Field
from bifrost.wire.messages import (
    DeleteTopicsRequest,
    FetchRequest,
    MetadataRequest,
    OffsetFetchRequest,
    ProduceRequest,
)


def _ids(count: int) -> list[bytes]:
    return [os.urandom(16) for _ in range(count)]


def _fetch(field: Field, count: int) -> bytes:
    partition = FetchRequest.FetchPartition(partition=0, partition_max_bytes=1024)
    topics = [FetchRequest.FetchTopic(topic_id=one, partitions=[partition]) for one in _ids(count)]
    return field.frame(FetchRequest(max_wait_ms=0, session_epoch=-1, topics=topics), 13)


def _metadata(field: Field, count: int) -> bytes:
    topics = [MetadataRequest.MetadataRequestTopic(topic_id=one, name=None) for one in _ids(count)]
    return field.frame(MetadataRequest(topics=topics), 12)


@attack("Fetch with 2,000 unknown topic IDs, other ones each time")
def fetch_2000_ids(field: Field) -> Iterator[None]:
    frames = [_fetch(field, field.size(2000)) for _ in range(50)]
    yield
    field.flood(frames, connections=2)


@attack("Fetch with 15,000 unknown topic IDs, other ones each time")
def fetch_15000_ids(field: Field) -> Iterator[None]:
    frames = [_fetch(field, field.size(15_000)) for _ in range(10)]
    yield
    field.flood(frames, connections=2)


@attack("Fetch with one unknown topic ID, another one each time")
def fetch_single_ids(field: Field) -> Iterator[None]:
    frames = [_fetch(field, 1) for _ in range(5000)]
    yield
    field.flood(frames, connections=8)


@attack("Metadata with 2,000 unknown topic IDs, other ones each time")
def metadata_2000_ids(field: Field) -> Iterator[None]:
    frames = [_metadata(field, field.size(2000)) for _ in range(50)]
    yield
    field.flood(frames, connections=2)


@attack("Produce with 2,000 unknown topic IDs, other ones each time")
def produce_2000_ids(field: Field) -> Iterator[None]:
    frames = []
    for _ in range(20):
        partition = ProduceRequest.PartitionProduceData(index=0, records=b"")
        topics = [
            ProduceRequest.TopicProduceData(topic_id=one, partition_data=[partition])
            for one in _ids(field.size(2000))
        ]
        frames.append(field.frame(ProduceRequest(acks=1, timeout_ms=1000, topic_data=topics), 13))
    yield
    field.flood(frames, connections=2)


@attack("DeleteTopics with 2,000 unknown topic IDs, other ones each time")
def delete_2000_ids(field: Field) -> Iterator[None]:
    frames = []
    for _ in range(20):
        topics = [
            DeleteTopicsRequest.DeleteTopicState(topic_id=one, name=None) for one in _ids(field.size(2000))
        ]
        frames.append(field.frame(DeleteTopicsRequest(topics=topics, timeout_ms=1000), 6))
    yield
    field.flood(frames, connections=2)


@attack("OffsetFetch with 2,000 unknown topic IDs, other ones each time")
def offset_fetch_2000_ids(field: Field) -> Iterator[None]:
    frames = []
    for _ in range(20):
        topics = [
            OffsetFetchRequest.OffsetFetchRequestTopics(topic_id=one, partition_indexes=[0])
            for one in _ids(field.size(2000))
        ]
        group = OffsetFetchRequest.OffsetFetchRequestGroup(group_id="g", member_epoch=-1, topics=topics)
        frames.append(field.frame(OffsetFetchRequest(groups=[group]), 10))
    yield
    field.flood(frames, connections=2)
