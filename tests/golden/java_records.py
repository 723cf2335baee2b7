"""Kafka's own record batches, in a process of their own: it builds random ones, and reads those that it is given.

python -m golden.java_records RELEASE

in    {"build": count, "seed": text}             one line
out   [{"batch": base64, "read": READ}, ...]      what MemoryRecordsBuilder wrote, and what MemoryRecords reads of it
in    {"read": [base64, ...]}
out   [READ, ...]

READ is `golden.record_batches.fields_of` of a batch as Kafka sees it, or null where Kafka refuses it.
"""

from __future__ import annotations

import json
import random
import sys
from base64 import b64decode, b64encode
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from bifrost.jars import locked_jars
from golden.java_process import JavaProcess
from support.records.record_columns import CODECS, random_records

NO_DELETE_HORIZON = -1
LARGE = 300_000
"""Bytes of a huge record's value: more than a block of any codec."""


class JavaRecords(JavaProcess):
    """The batches of one Kafka release; a context manager."""

    def __init__(self, release: str) -> None:
        super().__init__("golden.java_records", release)

    def build(self, count: int, seed: str) -> list[tuple[bytes, dict[str, Any]]]:
        """Return random batches, each with what Kafka reads of it."""
        answer = self._ask({"build": count, "seed": seed})
        return [(b64decode(one["batch"]), one["read"]) for one in answer]

    def read(self, batches: Sequence[bytes]) -> list[dict[str, Any] | None]:
        """Return what Kafka reads of batches, None for those that it refuses."""
        return list(self._ask({"read": [b64encode(one).decode() for one in batches]}))


class Kafka:
    """Kafka's classes of records."""

    def __init__(self) -> None:
        from java_vm import java_class

        self.memory_records = record_class("MemoryRecords")
        self.builder = record_class("MemoryRecordsBuilder")
        self.marker = record_class("EndTransactionMarker")
        self.marker_type = record_class("ControlRecordType")
        self.timestamp_type = record_class("TimestampType")
        self.header = java_class("org.apache.kafka.common.header.internals.RecordHeader")
        self.headers = java_class("org.apache.kafka.common.header.Header[]")
        self.compression = java_class("org.apache.kafka.common.compress.Compression")
        self.stream = java_class("org.apache.kafka.common.utils.ByteBufferOutputStream")
        self.buffer = java_class("java.nio.ByteBuffer")
        self.refusals = java_class("java.lang.Throwable")  # xerial throws errors of its own
        self.to_bytes = java_class("org.apache.kafka.common.utils.Utils").toArray


def record_class(name: str) -> Any:
    """Return a class of Kafka's about records; Kafka 4 moved most of them."""
    from java_vm import java_class

    with suppress(LookupError):
        return java_class(f"org.apache.kafka.common.record.internal.{name}")
    return java_class(f"org.apache.kafka.common.record.{name}")


def main() -> None:
    """Answer questions until standard input ends."""
    from java_vm import start_java  # on the path of this process only

    start_java(locked_jars.resolve(locked_jars.broker_coordinates(sys.argv[1])))
    kafka = Kafka()
    for line in sys.stdin:
        question = json.loads(line)
        if "build" in question:
            chance = random.Random(question["seed"])
            built = [build(kafka, chance) for _ in range(question["build"])]
            answer: Any = [{"batch": b64encode(one).decode(), "read": read(kafka, one)} for one in built]
        else:
            answer = [read(kafka, b64decode(one)) for one in question["read"]]
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


def build(kafka: Kafka, chance: random.Random) -> bytes:
    """Let Kafka build a random batch."""
    is_control = chance.random() < 0.05
    is_idempotent = is_control or chance.random() < 0.5
    has_log_time = chance.random() < 0.2
    timestamp = 1_700_000_000_000 + chance.randrange(10**9)
    base_offset = chance.choice((0, 5, 2**40))
    builder = kafka.builder(
        kafka.stream(kafka.buffer.allocate(512)),
        2,
        kafka.compression.of("none" if is_control else chance.choice(CODECS)).build(),
        kafka.timestamp_type.LOG_APPEND_TIME if has_log_time else kafka.timestamp_type.CREATE_TIME,
        base_offset,
        timestamp + 17 if has_log_time else -1,
        chance.randrange(2**40) if is_idempotent else -1,
        chance.randrange(2**15) if is_idempotent else -1,
        chance.choice((0, 7, 2**31 - 1)) if is_idempotent and not is_control else -1,
        is_control or (is_idempotent and chance.random() < 0.5),
        is_control,
        chance.choice((-1, 0, 12)),
        2**30,
        timestamp - 10**6 if chance.random() < 0.1 else NO_DELETE_HORIZON,
    )
    if is_control:
        kind = kafka.marker_type.COMMIT if chance.random() < 0.5 else kafka.marker_type.ABORT
        builder.appendEndTxnMarker(timestamp, kafka.marker(kind, 3))
    else:
        append_records(kafka, builder, chance, base_offset, timestamp)
    return bytes(kafka.to_bytes(builder.build().buffer()))


def append_records(kafka: Kafka, builder: Any, chance: random.Random, first: int, timestamp: int) -> None:
    """Append random records."""
    last = 0
    for record in random_records(chance, chance.choice((1, 1, 2, 3, 5, 10, 30))):
        value = record.value
        if chance.random() < 0.002:
            value = chance.randbytes(LARGE) if chance.random() < 0.5 else bytes(LARGE)
        headers = [kafka.header(key.decode(), java_bytes(one)) for key, one in record.headers]
        builder.appendWithOffset(
            first + record.offset_delta,
            timestamp + record.timestamp_delta,
            java_bytes(record.key),
            java_bytes(value),
            kafka.headers(headers),
        )
        last = first + record.offset_delta
    if chance.random() < 0.1:
        builder.overrideLastOffset(last + chance.randrange(1, 100))  # as compaction leaves the end of a batch


def java_bytes(value: bytes | None) -> Any:
    """Return bytes as Java's."""
    import jpype

    array_of_bytes = jpype.JArray(jpype.JByte)
    # A null with its type, for methods that take other classes too.
    return jpype.JObject(None, array_of_bytes) if value is None else array_of_bytes(value)


def read(kafka: Kafka, data: bytes) -> dict[str, Any] | None:
    """Return what Kafka reads of the only batch in some bytes; None: it refuses it."""
    buffer = kafka.buffer.wrap(java_bytes(data))
    try:
        batches = list(kafka.memory_records.readableRecords(buffer).batches())
        if len(batches) != 1:
            return None
        batches[0].ensureValid()
        return fields_of(batches[0])
    except kafka.refusals:
        return None


def fields_of(batch: Any) -> dict[str, Any]:
    """Return everything that Kafka says of a batch and its records."""
    return {
        "base_offset": int(batch.baseOffset()),
        "last_offset": int(batch.lastOffset()),
        "leader_epoch": int(batch.partitionLeaderEpoch()),
        "codec": int(batch.compressionType().id),
        "timestamp_type": int(batch.timestampType().id),
        "max_timestamp": int(batch.maxTimestamp()),
        "producer": [int(batch.producerId()), int(batch.producerEpoch()), int(batch.baseSequence())],
        "is_transactional": bool(batch.isTransactional()),
        "is_control": bool(batch.isControlBatch()),
        "delete_horizon": int(batch.deleteHorizonMs().orElse(-1)),
        "count": int(batch.countOrNull()),
        "size": int(batch.sizeInBytes()),
        "records": [record_of(record) for record in batch],
    }


def record_of(record: Any) -> list[Any]:
    """Return offset, timestamp, key, value and headers of a record; bytes in hex."""
    headers = [[str(one.key()), hex_of(one.value())] for one in record.headers()]
    return [
        int(record.offset()),
        int(record.timestamp()),
        hex_of(record.key()),
        hex_of(record.value()),
        headers,
    ]


def hex_of(value: Any) -> str | None:
    """Return Java's bytes, in a buffer or not, in hex."""
    if value is None:
        return None
    if hasattr(value, "remaining"):
        from java_vm import java_class

        value = java_class("org.apache.kafka.common.utils.Utils").toArray(value)
    return bytes(value).hex()


if __name__ == "__main__":
    main()
