"""Topics with virtual partitions: what is small for a client may be large for the gateway, which looks into batches."""

import contextlib
import gzip
import time
from collections.abc import Iterator

import cramjam

from bench.client import RawClient
from bench.frames import fetch, produce, record_batch, request_frame
from bench.hostile.arsenal.records import GZIP, ZSTD, bomb, record_of, zigzag
from bench.hostile.attack import attack
from bench.hostile.features import DIVIDED, SHARED_BY
from bench.hostile.field import Field
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.message import Message
from bifrost.wire.messages import (
    ConsumerGroupHeartbeatRequest,
    CreateTopicsRequest,
    EndTxnRequest,
    FindCoordinatorRequest,
    InitProducerIdRequest,
    ListOffsetsRequest,
    MetadataRequest,
    OffsetFetchRequest,
    ProduceRequest,
    ShareAcknowledgeRequest,
    ShareFetchRequest,
)

MIB = 1 << 20
UNPACKED = 16 * MIB - 4096
"""Nearly the most that the gateway unpacks of a batch."""
TXN = "hostile"
_READY_S = 30.0


@contextlib.contextmanager
def _client(field: Field) -> Iterator[RawClient]:
    """Return a client once there is the topic, which is left there."""
    client = field.client()
    with contextlib.closing(client):
        topic = CreateTopicsRequest.CreatableTopic(name=DIVIDED, num_partitions=-1, replication_factor=-1)
        client.request(CreateTopicsRequest(topics=[topic], timeout_ms=30_000), 6)
        yield client


def _begin(client: RawClient) -> tuple[int, int]:
    """Begin to write transactions; return the producer's ID and epoch."""
    deadline = time.monotonic() + _READY_S
    client.request(FindCoordinatorRequest(key=TXN, key_type=1), 3)
    while time.monotonic() < deadline:
        asked = InitProducerIdRequest(transactional_id=TXN, transaction_timeout_ms=60_000)
        found = client.request(asked, 4)
        if found.error_code == ErrorCode.NONE:
            return found.producer_id, found.producer_epoch
        time.sleep(0.2)
    raise TimeoutError(f"no producer ID: {found}")


def _in_transaction(batches: dict[int, bytes]) -> Message:
    parts = [ProduceRequest.PartitionProduceData(index=index, records=one) for index, one in batches.items()]
    data = ProduceRequest.TopicProduceData(name=DIVIDED, partition_data=parts)
    return ProduceRequest(transactional_id=TXN, acks=-1, timeout_ms=30_000, topic_data=[data])


def _packed(field: Field, codec: int) -> bytes:
    record = record_of(field.size(UNPACKED))
    return gzip.compress(record, 9) if codec == GZIP else bytes(cramjam.zstd.compress(record, 3))


@attack("a transaction in all 128 virtual partitions, with 16 MiB of zeros in each", has_features=True)
def virtual_bombs(field: Field) -> Iterator[None]:
    with _client(field):
        pass
    now_ms, frames = int(time.time() * 1000), []
    for codec in (ZSTD, GZIP):
        one = bomb(codec, _packed(field, codec), timestamp_ms=now_ms, transaction=(1, 0, 0))
        frames.append(field.frame(_in_transaction(dict.fromkeys(range(SHARED_BY), one)), 12))
    yield
    field.flood(frames, connections=4)


@attack("a batch of a transaction whose first record has eight million headers", has_features=True)
def virtual_headers(field: Field) -> Iterator[None]:
    with _client(field):
        pass
    count = field.size(UNPACKED) // 2
    body = b"\0\0\0\1\1" + zigzag(count) + bytes(2 * count)
    packed = bytes(cramjam.zstd.compress(zigzag(len(body)) + body, 3))
    one = bomb(ZSTD, packed, timestamp_ms=int(time.time() * 1000), transaction=(1, 0, 0))
    frame = field.frame(_in_transaction({1: one}), 12)
    yield
    field.flood([frame], connections=4)


@attack(
    "stored transactions that unpack to 16 MiB each, fetched for all virtual partitions", has_features=True
)
def virtual_fetches(field: Field) -> Iterator[None]:
    with _client(field) as client:
        producer_id, epoch = _begin(client)
        packed, stored = _packed(field, ZSTD), 0
        for sequence in range(24):
            transaction = (producer_id, epoch, sequence)
            one = bomb(ZSTD, packed, timestamp_ms=int(time.time() * 1000), transaction=transaction)
            answer = client.request(_in_transaction({1: one}), 12)
            stored += answer.responses[0].partition_responses[0].error_code == ErrorCode.NONE
        end = EndTxnRequest(
            transactional_id=TXN, producer_id=producer_id, producer_epoch=epoch, committed=True
        )
        client.request(end, 4)
    field.note(f"{stored} batches stored")
    frame = request_frame(fetch(DIVIDED, b"", 12, [(one, 0) for one in range(SHARED_BY)]), 12, 1)
    yield
    field.flood([frame], connections=4)


@attack(
    "thousands of stored batches of one record each, fetched for all virtual partitions", has_features=True
)
def virtual_small_batches(field: Field) -> Iterator[None]:
    batch, _ = record_batch(100, 10, int(time.time() * 1000))
    with _client(field) as client:
        parts = [ProduceRequest.PartitionProduceData(index=one, records=batch) for one in range(SHARED_BY)]
        data = ProduceRequest.TopicProduceData(name=DIVIDED, partition_data=parts)
        for _ in range(field.size(40)):
            client.request(ProduceRequest(acks=1, timeout_ms=30_000, topic_data=[data]), 9)
    frame = request_frame(fetch(DIVIDED, b"", 12, [(one, 0) for one in range(SHARED_BY)]), 12, 1)
    yield
    field.flood([frame], connections=4)


@attack(
    "committed offsets of groups with names of 32 KiB, and of as many groups as go",
    is_warmed=True,
    has_features=True,
)
def virtual_groups(field: Field) -> Iterator[None]:
    with _client(field):
        pass
    new = OffsetFetchRequest
    long = [f"{number:032000}-v1-abcdefghi" for number in range(field.size(30))]
    requests = [long, [f"g{number}" for number in range(78)], [one[:16_000] for one in long[:2]]]
    frames = [
        field.frame(new(groups=[new.OffsetFetchRequestGroup(group_id=one, topics=None) for one in names]), 9)
        for names in requests
    ]
    yield
    field.flood(frames, connections=2)


@attack(
    "ends and beginnings of all virtual partitions, looked for in the log", is_warmed=True, has_features=True
)
def virtual_offsets(field: Field) -> Iterator[None]:
    batch, _ = record_batch(16 * 1024, 100, int(time.time() * 1000))
    with _client(field) as client:
        for _ in range(field.size(200)):
            client.request(produce(DIVIDED, b"", 9, 0, batch), 9)
    new = ListOffsetsRequest
    frames = [
        field.frame(
            new(
                replica_id=-1,
                topics=[
                    new.ListOffsetsTopic(
                        name=DIVIDED,
                        partitions=[
                            new.ListOffsetsPartition(
                                partition_index=one, timestamp=wanted, current_leader_epoch=-1
                            )
                            for one in range(SHARED_BY)
                        ],
                    )
                ],
            ),
            7,
        )
        for wanted in (-1, -2, 1)
    ]
    yield
    field.flood(frames, connections=4)


@attack(
    "members of the newer protocol that own masses of partitions of masses of topics",
    is_warmed=True,
    has_features=True,
)
def virtual_heartbeats(field: Field) -> Iterator[None]:
    with _client(field):
        pass
    new = ConsumerGroupHeartbeatRequest
    owned, names = [], [DIVIDED, *(f"t{one}" for one in range(field.size(10_000)))]
    for topic in range(field.size(90)):
        partitions = list(range(field.size(1_000)))
        owned.append(new.TopicPartitions(topic_id=topic.to_bytes(16, "big"), partitions=partitions))
    frames = []
    for number, more in enumerate(({"topic_partitions": owned}, {"subscribed_topic_names": names}) * 20):
        request = new(
            group_id=f"g{number % 7}",
            member_id=f"member-{number}",
            member_epoch=0,
            rebalance_timeout_ms=60_000,
            **({"subscribed_topic_names": [DIVIDED], "topic_partitions": []} | more),
        )
        frames.append(field.frame(request, 1))
    yield
    field.flood(frames, connections=4)


@attack(
    "share sessions that name and forget all virtual partitions, and acknowledge masses of offsets",
    has_features=True,
)
def virtual_share_sessions(field: Field) -> Iterator[None]:
    """The offsets come in falling order: brokers want them in rising order, so they are sorted."""
    with _client(field) as client:
        asked = MetadataRequest(
            topics=[MetadataRequest.MetadataRequestTopic(topic_id=bytes(16), name=DIVIDED)]
        )
        topic_id = client.request(asked, 12).topics[0].topic_id
    count = field.size(32_000) // SHARED_BY
    frames = []
    for number in range(20):
        for made, place in (
            (ShareFetchRequest, "FetchPartition"),
            (ShareAcknowledgeRequest, "AcknowledgePartition"),
        ):
            batches = [
                made.AcknowledgementBatch(first_offset=offset, last_offset=offset, acknowledge_types=[1])
                for offset in range(count, 0, -1)
            ]
            named = [
                getattr(made, place)(partition_index=one, acknowledgement_batches=batches)
                for one in range(SHARED_BY)
            ]
            topic = (made.FetchTopic if made is ShareFetchRequest else made.AcknowledgeTopic)(
                topic_id=topic_id, partitions=named
            )
            request = made(
                group_id=f"g{number % 7}",
                member_id=f"member-{number:015}",
                share_session_epoch=0,
                topics=[topic],
            )
            frames.append(field.frame(request, 1))
        gone = ShareFetchRequest.ForgottenTopic(topic_id=topic_id, partitions=list(range(0, SHARED_BY, 2)))
        request = ShareFetchRequest(
            group_id=f"g{number % 7}",
            member_id=f"member-{number:015}",
            share_session_epoch=1,
            forgotten_topics_data=[gone],
        )
        frames.append(field.frame(request, 1))
    yield
    field.flood(frames, connections=4)


@attack(
    "two hundred connections that each fetch all virtual partitions from a place of its own",
    has_features=True,
)
def virtual_shared_fetches(field: Field) -> Iterator[None]:
    batch, _ = record_batch(16 * 1024, 100, int(time.time() * 1000))
    count = field.size(200)
    with _client(field) as client:
        for _ in range(count):
            client.request(produce(DIVIDED, b"", 9, 0, batch), 9)
    frames = [
        request_frame(fetch(DIVIDED, b"", 12, [(one, 100 * place) for one in range(SHARED_BY)]), 12, 1)
        for place in range(count)
    ]
    yield
    field.flood(frames, connections=200)
