"""Messages with records for tools/fuzz_record_ways.py: made, spoilt, and taken apart again."""

import random
from typing import Any

from bifrost.encryption.dek import WritingDek
from bifrost.encryption.place import Place
from bifrost.encryption.sealed_batch import seal_batch
from bifrost.encryption.sealed_values import seal_values
from bifrost.records.codec.client_batch import build_batch, read_columns
from bifrost.records.codec.columns import ColumnRecord, Columns
from bifrost.schemas.wire_format import VALUE_HEADER
from bifrost.transforms.record_transform import Direction
from bifrost.wire.codec import decode, encode_body
from bifrost.wire.message import message_class
from bifrost.wire.programs import compile_layout
from frame_mutations import pick
from fuzz_records import HEADER, header_of, some_records, spoil, with_section
from fuzz_sealed import only_batch, packed_again, plenty, spoilt_batch

CLUSTER, KNOWN_ID, UNKNOWN_ID = "cluster", 7, 9
CONTROL = 0x20
MESSAGES = {Direction.PRODUCE: ("ProduceRequest", 9), Direction.FETCH: ("FetchResponse", 12)}
KINDS = {"sealed": ("batches",), "values": ("values",), "checked": ("id",), "both": ("id", "batches")}
"""What happens to the records of each topic that has a way."""


def kinds(direction: Direction) -> list[str]:
    """Return the topics that have a way; schemas are checked when records are produced."""
    return [one for one in KINDS if direction is Direction.PRODUCE or one != "checked"]


def some_batch(rng: random.Random, kind: str) -> bytes:
    """Make a batch of a client's; those whose schemas are checked are mostly not packed and have IDs."""
    records = some_records(rng)
    if pick(rng, 6) == 0:
        records = [records[0]._replace(offset_delta=i) for i in range(20 + pick(rng, 60))]
    codec = pick(rng, 5)
    if kind in ("checked", "both"):
        codec *= pick(rng, 5) == 0
        records = [_with_id(rng, one) for one in records]
    producer = (-1, -1, -1) if pick(rng, 2) else (pick(rng, 3), 0, pick(rng, 1000))
    header = header_of(codec, len(records))._replace(
        producer_id=producer[0], producer_epoch=producer[1], base_sequence=producer[2]
    )
    return bytes(build_batch(header, Columns.of(records), plenty()))


def _with_id(rng: random.Random, record: ColumnRecord) -> ColumnRecord:
    named = b"\1" + bytes(16) if pick(rng, 5) == 0 else b"\0" + KNOWN_ID.to_bytes(4, "big")
    if pick(rng, 100) == 0:
        named = b"\0" + (UNKNOWN_ID * pick(rng, 2)).to_bytes(4, "big")
    if pick(rng, 6) == 0:
        return record._replace(headers=((VALUE_HEADER, named),))
    value = None if pick(rng, 10) == 0 else named + (record.value or b"")
    return record._replace(value=value)


def stored(rng: random.Random, place: Place, data: bytes, dek: WritingDek) -> bytes:
    """Return a batch as a broker has it."""
    batch = only_batch(data)
    if place.topic == "values":
        columns = seal_values(read_columns(batch, plenty()), place.binding, dek, plenty())
        return bytes(build_batch(batch, columns, plenty()))
    data = bytes(seal_batch(batch, place.binding, dek, plenty()))
    return bytes(packed_again(rng, data)) if pick(rng, 3) == 0 else data


Partition = tuple[str, int, bytes]
"""Its topic, its number and its records."""


def some_partition(rng: random.Random, direction: Direction, dek: WritingDek) -> Partition:
    """Make the records of one partition, spoilt in most cases."""
    topics = [*kinds(direction), "no way"]
    kind, number = topics[pick(rng, len(topics))], pick(rng, 3)
    batches = []
    for _ in range(1 + pick(rng, 3)):
        data = some_batch(rng, kind)
        is_sealed = direction is Direction.FETCH and kind in KINDS
        batches.append(stored(rng, Place(CLUSTER, kind, number), data, dek) if is_sealed else data)
    how, which = pick(rng, 6), pick(rng, len(batches))
    if how == 0:
        batches[which] = spoilt_batch(rng, batches[which])
    elif how == 1:
        batches[which] = with_section(batches[which], spoil(rng, batches[which][HEADER:]))
    if pick(rng, 8) == 0:
        marker = bytearray(some_batch(rng, kind))
        marker[22] |= CONTROL
        batches.append(with_section(bytes(marker), bytes(marker[HEADER:])))
    data = b"".join(batches)
    return kind, number, spoil(rng, data) if how == 2 else data


def body_of(direction: Direction, partitions: list[Partition]) -> bytes:
    """Return the body of a message with these partitions, each in a topic of its own."""
    name, version = MESSAGES[direction]
    cls: Any = message_class(name)
    if direction is Direction.PRODUCE:
        one, part = cls.TopicProduceData, cls.PartitionProduceData
        topics = [
            one(name=kind, partition_data=[part(index=i, records=data)]) for kind, i, data in partitions
        ]
        return encode_body(compile_layout(name, version), cls(topic_data=topics, acks=-1))
    one, part = cls.FetchableTopicResponse, cls.PartitionData
    topics = [
        one(topic=kind, partitions=[part(partition_index=i, records=data)]) for kind, i, data in partitions
    ]
    return encode_body(compile_layout(name, version), cls(responses=topics))


def parts_of(direction: Direction, body: bytes) -> list[Partition]:
    """Return the topic, the number and the records of each partition of a body."""
    message: Any = decode(compile_layout(*MESSAGES[direction]), body, 0)
    if direction is Direction.PRODUCE:
        return [
            (topic.name, part.index, bytes(part.records or b""))
            for topic in message.topic_data
            for part in topic.partition_data
        ]
    return [
        (topic.topic, part.partition_index, bytes(part.records or b""))
        for topic in message.responses
        for part in topic.partitions
    ]
