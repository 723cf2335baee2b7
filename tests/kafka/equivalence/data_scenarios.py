"""What producers and consumers ask for."""

from __future__ import annotations

from typing import Any

from bifrost.wire.messages import (
    FetchRequest,
    ListOffsetsRequest,
    MetadataRequest,
    OffsetForLeaderEpochRequest,
    ProduceRequest,
)
from support.clients.raw_operations import fetch_request, produce_request
from support.clients.record_batches import TIMESTAMP_MS, build_batch
from support.forgery.worlds import World

DATA = "eq-data"
ABSENT = "eq-absent"
ABSENT_ID = bytes(range(1, 17))
VALUES = [f"value {number}".encode() for number in range(20)]


def data(world: World) -> bytes:
    """Return the ID of a topic of two partitions, with 20 records in the first."""
    return world.topic(DATA, partitions=2, records=VALUES)


def produce(world: World, version: int) -> None:
    topic_id = world.topic("eq-produced")
    batch = build_batch([b"one", b"two"])
    world.ask(produce_request("eq-produced", batch, topic_id=topic_id), version)
    world.ask(produce_request("eq-produced", batch, topic_id=topic_id, partition=7), version)
    for name in (ABSENT, "", "eq/illegal"):
        world.ask(produce_request(name, batch, topic_id=ABSENT_ID), version)
    world.ask(produce_request("eq-produced", batch, topic_id=topic_id, acks=1), version)
    # A sequence that does not follow: the broker says so, with a text from v8 on.
    torn = build_batch([b"x"], producer_id=987_654_321, producer_epoch=0, base_sequence=5)
    world.ask(produce_request("eq-produced", torn, topic_id=topic_id), version)
    corrupt = batch[:-1] + bytes([batch[-1] ^ 1])
    world.ask(produce_request("eq-produced", corrupt, topic_id=topic_id), version)
    world.ask(produce_request("eq-produced", batch, topic_id=topic_id), version)


def produce_rejected_records(world: World, version: int) -> None:
    """A compacted topic refuses records without a key, and names them one by one (KIP-467)."""
    topic_id = world.topic("eq-compacted", configs={"cleanup.policy": "compact"})
    batch = build_batch([b"without a key", b"nor this one"])
    world.ask(produce_request("eq-compacted", batch, topic_id=topic_id), version)


def fetch(world: World, version: int) -> None:
    topic_id = data(world)

    def of(partition: int, offset: int, topic: str = DATA, this: bytes = topic_id) -> FetchRequest:
        return fetch_request(topic, topic_id=this, partition=partition, offset=offset)

    world.ask(of(0, 0), version)
    world.ask(of(0, 20), version)
    world.ask(of(0, 999), version)
    world.ask(of(1, 0), version)
    world.ask(of(9, 0), version)
    for name in (ABSENT, "", "eq/illegal"):
        world.ask(of(0, 0, name, ABSENT_ID), version)
    if version >= 7:
        _fetch_in_a_session(world, version, topic_id)


def _fetch_in_a_session(world: World, version: int, topic_id: bytes) -> None:
    opened = world.ask(fetch_request(DATA, topic_id=topic_id, session_epoch=0), version)
    nothing_new = FetchRequest(min_bytes=0, session_id=opened.session_id, session_epoch=1, topics=[])
    world.ask(nothing_new, version)
    moved = fetch_request(DATA, topic_id=topic_id, offset=15, session_id=opened.session_id, session_epoch=2)
    world.ask(moved, version)
    forgotten = FetchRequest.ForgottenTopic(topic=DATA, topic_id=topic_id, partitions=[0])
    world.ask(
        FetchRequest(
            min_bytes=0, session_id=opened.session_id, session_epoch=3, forgotten_topics_data=[forgotten]
        ),
        version,
    )
    world.ask(FetchRequest(min_bytes=0, session_id=opened.session_id, session_epoch=9), version)
    world.ask(FetchRequest(min_bytes=0, session_id=opened.session_id, session_epoch=-1), version)
    world.ask(FetchRequest(min_bytes=0, session_id=opened.session_id, session_epoch=4), version)


def list_offsets(world: World, version: int) -> None:
    data(world)
    # Latest, earliest, the newest timestamp (KIP-734), the local log's start, what is in remote storage.
    specials = [-1, -2] + [-3] * (version >= 7) + [-4] * (version >= 8) + [-5] * (version >= 9)
    for timestamp in [*specials, TIMESTAMP_MS + 7, TIMESTAMP_MS + 999_999]:
        world.ask(_list_offsets(DATA, timestamp), version)
    world.ask(_list_offsets(DATA, -1, partition=9), version)
    for name in (ABSENT, "", "eq/illegal"):
        world.ask(_list_offsets(name, -1), version)


def _list_offsets(topic: str, timestamp: int, partition: int = 0) -> ListOffsetsRequest:
    wanted = ListOffsetsRequest.ListOffsetsPartition(partition_index=partition, timestamp=timestamp)
    named = ListOffsetsRequest.ListOffsetsTopic(name=topic, partitions=[wanted])
    return ListOffsetsRequest(replica_id=-1, topics=[named])


def offset_for_leader_epoch(world: World, version: int) -> None:
    data(world)
    for topic, partition, epoch in ((DATA, 0, 0), (DATA, 0, 5), (DATA, 9, 0), (ABSENT, 0, 0), ("", 0, 0)):
        wanted = OffsetForLeaderEpochRequest.OffsetForLeaderPartition(partition=partition, leader_epoch=epoch)
        named = OffsetForLeaderEpochRequest.OffsetForLeaderTopic(topic=topic, partitions=[wanted])
        world.ask(OffsetForLeaderEpochRequest(replica_id=-1, topics=[named]), version)


def metadata(world: World, version: int) -> None:
    topic_id = data(world)
    world.topic(f"{DATA}-too")
    world.prefix = DATA
    optional: dict[str, Any] = {"allow_auto_topic_creation": False} if version >= 4 else {}
    named = [MetadataRequest.MetadataRequestTopic(name=name) for name in (DATA, f"{DATA}-too")]
    world.ask(MetadataRequest(topics=named, **optional), version)
    everything = [] if version == 0 else None
    world.ask(MetadataRequest(topics=everything, **optional), version)
    if version >= 1:
        world.ask(MetadataRequest(topics=[], **optional), version)
    for name in ("eq-data-absent", "eq-data/illegal", "") if version >= 4 else ():
        topic = MetadataRequest.MetadataRequestTopic(name=name)
        world.ask(MetadataRequest(topics=[topic], **optional), version)
    if version >= 12:
        by_id = [
            MetadataRequest.MetadataRequestTopic(topic_id=one, name=None) for one in (topic_id, ABSENT_ID)
        ]
        world.ask(MetadataRequest(topics=by_id, **optional), version)


def metadata_that_creates(world: World, version: int) -> None:
    """What a producer's first Metadata does: the topic is being created."""
    topic = MetadataRequest.MetadataRequestTopic(name=f"eq-made-by-metadata-{version}")
    world.ask(MetadataRequest(topics=[topic]), version)


def produce_with_acks_0(world: World, version: int) -> None:
    """No answer comes, and the next request is answered as the next."""
    topic_id = world.topic("eq-acks-0")
    batch = build_batch([b"unanswered"])
    request: ProduceRequest = produce_request("eq-acks-0", batch, topic_id=topic_id, acks=0)
    world.tell(request, version)
    world.ask(produce_request("eq-acks-0", batch, topic_id=topic_id), version)
