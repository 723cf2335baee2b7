"""Records that filters look into: masked as JSON, or encrypted."""

import gzip
import time
from collections.abc import Iterator

from bench.frames import fetch, produce, record_batch, request_frame
from bench.hostile.arsenal.records import GZIP, bomb, bombs, malformed, undecompressible, zigzag
from bench.hostile.attack import attack
from bench.hostile.features import MASKED, SEALED
from bench.hostile.field import Field
from bifrost.wire.messages import CreateTopicsRequest

MIB = 1 << 20
UNPACKED = 30 * MIB
"""Nearly `max_unpacked_batch_bytes`."""


def _make_topics(field: Field) -> None:
    client = field.client()
    new = CreateTopicsRequest.CreatableTopic
    topics = [new(name=one, num_partitions=1, replication_factor=-1) for one in (MASKED, SEALED)]
    client.request(CreateTopicsRequest(topics=topics, timeout_ms=30_000), 6)
    client.close()


def _record(value: bytes) -> bytes:
    body = b"\0\0\0\1" + zigzag(len(value)) + value + b"\0"
    return zigzag(len(body)) + body


@attack("batches of 30 MiB of zeros, compressed, that are to be encrypted or masked", has_features=True)
def filtered_bombs(field: Field) -> Iterator[None]:
    _make_topics(field)
    size = field.size(UNPACKED)
    batches = bombs(size, size).values()
    frames = [field.frame(produce(topic, b"", 9, 0, one), 9) for one in batches for topic in (SEALED, MASKED)]
    yield
    field.flood(frames, connections=2)


@attack("batches that are no batches, to topics whose records are encrypted or masked", has_features=True)
def filtered_garbage(field: Field) -> Iterator[None]:
    _make_topics(field)
    batches = [*undecompressible().values(), *malformed().values()]
    frames = [field.frame(produce(topic, b"", 9, 0, one), 9) for one in batches for topic in (SEALED, MASKED)]
    yield
    field.flood(frames, connections=4)


@attack(
    "JSON of a MiB that is masked on its way to consumers: deep, wide, or of one long name", has_features=True
)
def masked_json(field: Field) -> Iterator[None]:
    _make_topics(field)
    size, now_ms, client = field.size(900_000), int(time.time() * 1000), field.client()
    texts = [
        b"[" * (size // 2) + b"]" * (size // 2),
        b'{"a":' * (size // 7) + b"1" + b"}" * (size // 7),
        b"[" + b'{"secret":1},' * (size // 14) + b"1]",
        b'{"' + b"\\u0073" * (size // 7) + b'":{"secret":1}}',
        b'{"secret":"' + b"x" * size + b'"}',
    ]
    for one in texts:
        batch = bomb(GZIP, gzip.compress(_record(one), 1), timestamp_ms=now_ms)
        client.request(produce(MASKED, b"", 9, 0, batch), 9)
    client.close()
    frame = request_frame(fetch(MASKED, b"", 12, [(0, offset) for offset in (0,)]), 12, 1)
    yield
    field.flood([frame], connections=4)


@attack("records of a few bytes in batches of 512 KiB, encrypted and opened again", has_features=True)
def sealed_small_records(field: Field) -> Iterator[None]:
    _make_topics(field)
    batch, _ = record_batch(field.size(512 * 1024), 10, int(time.time() * 1000))
    frames = [
        field.frame(produce(SEALED, b"", 9, 0, batch), 9),
        request_frame(fetch(SEALED, b"", 12, [(0, 0)]), 12, 1),
    ]
    yield
    field.flood(frames, connections=4)
