"""Compacted topics with virtual partitions: the gateway unpacks each batch and writes each key anew."""

import contextlib
import gzip
import time
from collections.abc import Iterator

import cramjam
from kafka.record.default_records import DefaultRecordBatchBuilder

from bench.frames import fetch, produce, request_frame
from bench.hostile.arsenal.records import GZIP, ZSTD, bomb, zigzag
from bench.hostile.attack import attack
from bench.hostile.features import COMPACTED, SHARED_BY
from bench.hostile.field import Field
from bifrost.wire.messages import CreateTopicsRequest

MIB = 1 << 20
UNPACKED = 16 * MIB - 4096
"""Nearly the most that the gateway unpacks of a batch."""


def _create(field: Field) -> None:
    new = CreateTopicsRequest
    topic = new.CreatableTopic(
        name=COMPACTED,
        num_partitions=-1,
        replication_factor=-1,
        configs=[new.CreatableTopicConfig(name="cleanup.policy", value="compact")],
    )
    with contextlib.closing(field.client()) as client:
        client.request(new(topics=[topic], timeout_ms=30_000), 6)


def _keyed(key: bytes | None, count: int) -> bytes:
    """Return a batch of small records with one key, not compressed."""
    now_ms = int(time.time() * 1000)
    builder = DefaultRecordBatchBuilder(
        magic=2,
        compression_type=0,
        is_transactional=False,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        batch_size=16 * MIB,
    )
    for offset in range(count):
        builder.append(offset, timestamp=now_ms, key=key, value=b"", headers=[])
    return bytes(builder.build())


def _record(key: bytes, size: int) -> bytes:
    """Return one record with a key and a value of zeros, as it stands in a batch."""
    body = b"\0\0\0" + zigzag(len(key)) + key + zigzag(size) + bytes(size) + b"\0"
    return zigzag(len(body)) + body


@attack(
    "batches of 16 MiB of zeros, compressed, for all virtual partitions of a compacted topic",
    has_features=True,
)
def compacted_bombs(field: Field) -> Iterator[None]:
    _create(field)
    record, now_ms, frames = _record(b"k", field.size(UNPACKED)), int(time.time() * 1000), []
    for codec, packed in ((GZIP, gzip.compress(record, 9)), (ZSTD, bytes(cramjam.zstd.compress(record, 3)))):
        one = bomb(codec, packed, timestamp_ms=now_ms)
        frames += [field.frame(produce(COMPACTED, b"", 9, index, one), 9) for index in range(4)]
    yield
    field.flood(frames, connections=4)


@attack("records without keys, tens of thousands in a batch, for a compacted topic", has_features=True)
def compacted_null_keys(field: Field) -> Iterator[None]:
    _create(field)
    frame = field.frame(produce(COMPACTED, b"", 9, 0, _keyed(None, field.size(60_000))), 9)
    yield
    field.flood([frame], connections=4)


@attack("the same with a key each, fetched again for all virtual partitions", has_features=True)
def compacted_small_records(field: Field) -> Iterator[None]:
    _create(field)
    batch = _keyed(b"k", field.size(60_000))
    frames = [field.frame(produce(COMPACTED, b"", 9, index, batch), 9) for index in range(3)]
    frames.append(request_frame(fetch(COMPACTED, b"", 12, [(one, 0) for one in range(SHARED_BY)]), 12, 1))
    yield
    field.flood(frames, connections=4)
