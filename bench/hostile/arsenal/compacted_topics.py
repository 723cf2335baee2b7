"""Compacted topics with virtual partitions: the gateway unpacks each batch and writes each key anew."""

import contextlib
import time
from collections.abc import Iterator

from bench.frames import fetch, produce, record_batch, request_frame
from bench.hostile.arsenal.records import CODECS, bomb, packed, record_of
from bench.hostile.arsenal.virtual_topics import UNPACKED
from bench.hostile.attack import attack
from bench.hostile.features import COMPACTED, SHARED_BY
from bench.hostile.field import Field
from bifrost.wire.messages import CreateTopicsRequest


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


def _small_records(field: Field, key: bytes | None) -> bytes:
    """Return a batch of some 60,000 records without values, not compressed."""
    batch, _ = record_batch(field.size(512 * 1024), 0, int(time.time() * 1000), key)
    return batch


@attack(
    "batches of 16 MiB of zeros, compressed, for all virtual partitions of a compacted topic",
    has_features=True,
)
def compacted_bombs(field: Field) -> Iterator[None]:
    _create(field)
    record, now_ms, frames = record_of(field.size(UNPACKED), b"k"), int(time.time() * 1000), []
    for codec in CODECS:
        one = bomb(codec, packed(codec, record), timestamp_ms=now_ms)
        frames += [field.frame(produce(COMPACTED, b"", 9, index, one), 9) for index in range(4)]
    yield
    field.flood(frames, connections=4)


@attack("records without keys, tens of thousands in a batch, for a compacted topic", has_features=True)
def compacted_null_keys(field: Field) -> Iterator[None]:
    _create(field)
    frame = field.frame(produce(COMPACTED, b"", 9, 0, _small_records(field, None)), 9)
    yield
    field.flood([frame], connections=4)


@attack("the same with a key each, fetched again for all virtual partitions", has_features=True)
def compacted_small_records(field: Field) -> Iterator[None]:
    _create(field)
    batch = _small_records(field, b"k")
    frames = [field.frame(produce(COMPACTED, b"", 9, index, batch), 9) for index in range(3)]
    frames.append(request_frame(fetch(COMPACTED, b"", 12, [(one, 0) for one in range(SHARED_BY)]), 12, 1))
    yield
    field.flood(frames, connections=4)
