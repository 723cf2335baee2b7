"""The record codec against Kafka's own MemoryRecords, in both directions.

    Kafka builds         ──▶ Kafka reads and the codec reads: the same
    the codec builds     ──▶ Kafka reads: the same
    a batch is spoilt, its checksum made right ──▶ both refuse it, or both read the same

BIFROST_RECORD_BATCHES is the number of batches (`make record-oracle`: 100,000); a run is the same every time unless
it is set.
"""

import os
import random
import re
import secrets
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from bifrost.records.codec.client_batch import ClientBatch, build_batch, read_columns, split_batches
from bifrost.records.codec.columns import Columns
from bifrost.records.codec.compression import unpack
from bifrost.records.codec.errors import RecordsError
from bifrost.records.crc32c import crc32c
from golden.conftest import PROPERTY
from golden.java_records import JavaRecords
from support.records.record_columns import CODECS, HEADER, only_batch, plenty

NO_UTF8 = re.compile("\ufffd+")
IS_RANDOM = "BIFROST_RECORD_BATCHES" in os.environ
BATCHES = int(os.environ.get("BIFROST_RECORD_BATCHES", "2000"))
SEED = secrets.token_hex(4) if IS_RANDOM else "bifrost"
AT_ONCE = 200
"""Batches of one question."""
RELEASES = ("4.3.1",)
LEVELS = {"gzip": (None, 1, 9), "zstd": (None, 1, 9)}

pytestmark = pytest.mark.timeout(120 if BATCHES <= 2000 else 7200)


@pytest.fixture(scope="module", params=RELEASES)
def java(request: pytest.FixtureRequest) -> Iterator[JavaRecords]:
    with JavaRecords(request.param) as process:
        yield process


def in_parts() -> Iterator[tuple[int, str]]:
    for start in range(0, BATCHES, AT_ONCE):
        yield min(AT_ONCE, BATCHES - start), f"{SEED} {start}"


def as_kafka_says(batch: ClientBatch, columns: Columns) -> dict[str, Any]:
    """Return what the codec read, in the words of `fields_of` of Kafka's side."""
    records = [
        [
            batch.base_offset + record.offset_delta,
            batch.max_timestamp_ms
            if batch.is_log_append_time
            else batch.base_timestamp_ms + record.timestamp_delta,
            None if record.key is None else record.key.hex(),
            None if record.value is None else record.value.hex(),
            [
                [key.decode(errors="replace"), None if value is None else value.hex()]
                for key, value in record.headers
            ],
        ]
        for record in columns.records()
    ]
    return {
        "base_offset": batch.base_offset,
        "last_offset": batch.base_offset + batch.last_offset_delta,
        "leader_epoch": batch.partition_leader_epoch,
        "codec": batch.codec,
        "timestamp_type": int(batch.is_log_append_time),
        "max_timestamp": batch.max_timestamp_ms,
        "producer": [batch.producer_id, batch.producer_epoch, batch.base_sequence],
        "is_transactional": batch.is_transactional,
        "is_control": batch.is_control,
        "delete_horizon": batch.base_timestamp_ms if batch.has_delete_horizon else -1,
        "count": batch.record_count,
        "size": len(batch.data),
        "records": records,
    }


def section_of(batch: ClientBatch) -> bytes:
    """Return the records of a batch, unpacked."""
    packed = batch.data[HEADER.size :]
    return bytes(packed) if batch.codec == 0 else bytes(unpack(batch.codec, packed, plenty()))


def test_the_codec_reads_what_kafka_writes_and_kafka_reads_what_the_codec_writes(
    java: JavaRecords, record_property: Callable[[str, object], None]
) -> None:
    seen: Counter[str] = Counter()
    for count, seed in in_parts():
        chance = random.Random(f"levels {seed}")
        rebuilt, expected = [], []
        for data, read in java.build(count, seed):
            batch = only_batch(data)
            columns = read_columns(batch, plenty())
            assert as_kafka_says(batch, columns) == read, f"seed {seed}: {data.hex()}"
            note(seen, batch, columns)
            if batch.is_control:
                continue
            level = chance.choice(LEVELS.get(CODECS[batch.codec], (None,)))
            again = build_batch(batch, columns, plenty(), level=level)
            assert section_of(only_batch(again)) == section_of(batch), f"seed {seed}: {data.hex()}"
            if batch.codec == 0:
                assert again == data, f"seed {seed}"
            rebuilt.append(again)
            expected.append(read | {"size": len(again)})
        assert java.read(rebuilt) == expected, f"seed {seed}"

    assert seen.total() > BATCHES
    assert set(seen) == KINDS
    record_property(PROPERTY, f"Record oracle: {BATCHES} batches, seed {SEED}: {dict(seen)}")


KINDS = set(CODECS) | {
    *("control", "transactional", "idempotent", "log append time", "delete horizon", "gaps", "cut end"),
    *("null key", "null value", "empty value", "headers", "negative timestamp delta", "huge"),
}


def note(seen: Counter[str], batch: ClientBatch, columns: Columns) -> None:
    """Count what kinds of batches were compared."""
    records = columns.records()
    deltas = [record.offset_delta for record in records]
    kinds = {
        CODECS[batch.codec]: True,
        "control": batch.is_control,
        "transactional": batch.is_transactional,
        "idempotent": batch.producer_id >= 0,
        "log append time": batch.is_log_append_time,
        "delete horizon": batch.has_delete_horizon,
        "gaps": deltas != list(range(len(deltas))),
        "cut end": batch.last_offset_delta > deltas[-1],
        "null key": any(record.key is None for record in records),
        "null value": any(record.value is None for record in records),
        "empty value": any(record.value == b"" for record in records),
        "headers": any(record.headers for record in records),
        "negative timestamp delta": any(record.timestamp_delta < 0 for record in records),
        "huge": len(batch.data) > 200_000 or any(len(record.value or b"") > 200_000 for record in records),
    }
    seen.update(kind for kind, is_one in kinds.items() if is_one)


def spoilt(chance: random.Random, data: bytes) -> bytes:
    """Return a batch with a few bytes changed behind its checksum, which is made right."""
    mutable = bytearray(data)
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        mutable[chance.randrange(HEADER.size, len(mutable))] = chance.choice(
            (0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256))
        )
    mutable[17:21] = crc32c(mutable[21:]).to_bytes(4, "big")
    return bytes(mutable)


def read_or_refused(data: bytes) -> dict[str, Any] | None:
    try:
        (batch,) = split_batches(memoryview(data), is_whole=True)
        return as_kafka_says(batch, read_columns(batch, plenty()))
    except RecordsError:
        return None


def alike(read: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return what was read with one mark for what is no UTF-8 in the keys of headers.

    The codec keeps their bytes. Java, which has them as text, puts one mark for a part of a character that is cut off,
    and Python one or several.
    """
    if read is None:
        return None
    records = [
        [*record[:4], [[NO_UTF8.sub("\ufffd", key), value] for key, value in record[4]]]
        for record in read["records"]
    ]
    return read | {"records": records}


def test_what_the_codec_takes_kafka_reads_alike(java: JavaRecords) -> None:
    outcomes: Counter[str] = Counter()
    for count, seed in in_parts():
        chance = random.Random(f"spoilt {seed}")
        built = [data for data, _ in java.build(count, f"spoilt {seed}")]
        batches = [spoilt(chance, data) for data in built]
        for data, theirs in zip(batches, java.read(batches), strict=True):
            ours = read_or_refused(data)
            codec = CODECS[data[22] & 7]
            outcomes[f"{codec}: {'refused' if ours is None else 'read'}"] += 1
            if codec == "none" or ours is not None:
                assert alike(ours) == alike(theirs), f"seed {seed}: {data.hex()}"
            elif theirs is not None:
                # Kafka leaves out some checks of its libraries, of sizes and checksums.
                outcomes[f"{codec}: read by Kafka alone"] += 1

    assert all(outcomes[f"none: {kind}"] > BATCHES / 100 for kind in ("read", "refused"))
    assert sum(count for kind, count in outcomes.items() if "alone" in kind) < BATCHES / 20, outcomes
