"""Batches like those of real topics: values in JSON and Avro, some of it random, with any codec."""

import io
import json
import random
from collections.abc import Sequence

import fastavro

from bifrost.records.codec.client_batch import ClientBatch, build_batch, split_batches
from bifrost.records.codec.columns import ColumnRecord, Columns
from bifrost.records.codec.memory import MemoryBudget

NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)
HEADER = 61
SHAPES = ((64, 1024), (640, 100), (1, 100))
"""Records of a batch, and bytes of a value."""
WORDS = [random.Random(word).randbytes(2 + word % 3).hex() for word in range(400)]
LONG_AGO_MS = 1_700_000_000_000
SCHEMA_ID = 1
SCHEMA = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "order_id", "type": "long"},
        {"name": "customer", "type": "string"},
        {"name": "currency", "type": "string"},
        {"name": "reference", "type": "bytes"},
        {"name": "note", "type": "string"},
    ],
}
_BEFORE_PAYLOAD = b"\0" + SCHEMA_ID.to_bytes(4, "big")
"""Confluent's wire format."""


def orders(count: int, size: int) -> list[dict[str, object]]:
    """Return so many orders, always the same, with notes of that many bytes or more."""
    chance = random.Random(1)
    return [
        {
            "order_id": number,
            "customer": f"customer-{chance.randrange(1000)}",
            "currency": "EUR",
            "note": " ".join(chance.choices(WORDS, k=size // 4)),
            "reference": chance.randbytes(8).hex(),
        }
        for number in range(count)
    ]


def json_values(count: int, size: int) -> list[bytes]:
    """Return values in JSON, each cut to its size."""
    order = ("order_id", "customer", "currency", "reference", "note")
    return [json.dumps({key: one[key] for key in order}).encode()[:size] for one in orders(count, size)]


def avro_values(count: int, size: int) -> list[bytes]:
    """Return values in Avro behind the ID of SCHEMA; each has `size` bytes in all, of which there must be 100."""
    parsed, found = fastavro.parse_schema(SCHEMA), []
    for one in orders(count, size):
        one["reference"] = str(one["reference"]).encode()
        note = str(one["note"])
        data = b""
        for length in range(size, size - 100, -1):
            out = io.BytesIO()
            fastavro.schemaless_writer(out, parsed, one | {"note": note[:length]})
            data = _BEFORE_PAYLOAD + out.getvalue()
            if len(data) == size:
                break
        assert len(data) == size
        found.append(data)
    return found


def batch_of(codec: int, values: Sequence[bytes], *, is_idempotent: bool = True) -> ClientBatch:
    """Return a client's batch; one of an idempotent producer is taken by a broker only once."""
    records = [ColumnRecord(i, i, b"key-%d" % i, value) for i, value in enumerate(values)]
    producer = (1, 0, 0) if is_idempotent else (-1, -1, -1)
    last = len(records) - 1
    header = ClientBatch(
        memoryview(b""), 0, 0, -1, 2, 0, codec, last, LONG_AGO_MS, -1, *producer, len(records)
    )
    return only_batch(build_batch(header, Columns.of(records), MemoryBudget("batch", 1 << 26)))


def only_batch(data: bytes) -> ClientBatch:
    """Return the one batch that is there."""
    (batch,) = split_batches(memoryview(data), is_whole=True)
    return batch


def full_batch(max_bytes: int, record_bytes: int) -> tuple[bytes, int]:
    """Return a batch of Avro values that is not compressed, as large as it may be, and its number of records."""
    count = max_bytes // record_bytes
    while (
        len(found := batch_of(NONE, avro_values(count, record_bytes), is_idempotent=False).data) > max_bytes
    ):
        count -= 1
    return bytes(found), count
