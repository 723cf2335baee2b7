import io
import json
from pathlib import Path

import fastavro
from bench.records.batches import (
    NONE,
    SCHEMA,
    SHAPES,
    ZSTD,
    avro_values,
    batch_of,
    full_batch,
    json_values,
    only_batch,
)
from bench.records.filtered import BATCHES, BOTH, IDS, OTHERS, PLAIN, VALUES, filters_of
from bench.records.registry import answers_about

from bifrost.records.codec.client_batch import read_columns
from bifrost.records.codec.memory import MemoryBudget


def test_values_have_their_size_and_compress_as_text_does() -> None:
    for count, size in SHAPES:
        found = json_values(count, size)
        assert {len(one) for one in found} == {size}
    packed = batch_of(ZSTD, json_values(64, 1024)).data
    assert 0.2 < len(packed) / (64 * 1024) < 0.6


def test_values_in_avro_read_under_their_schema() -> None:
    parsed = fastavro.parse_schema(SCHEMA)
    for value in avro_values(5, 1024):
        rest = io.BytesIO(value[5:])
        order = fastavro.schemaless_reader(rest, parsed, None)
        assert value[:5] == b"\0\0\0\0\1"
        assert order["currency"] == "EUR"
        assert len(value) == 1024
        assert not rest.read()


def test_a_full_batch_has_no_room_for_one_record_more() -> None:
    data, count = full_batch(64 * 1024, 1024)

    batch = only_batch(data)
    columns = read_columns(batch, MemoryBudget("batch", 1 << 20))
    assert (len(columns), batch.record_count, batch.producer_id) == (count, count, -1)
    assert len(data) <= 64 * 1024 < len(batch_of(NONE, avro_values(count + 1, 1024)).data)


def test_each_gateway_has_the_filters_that_its_name_says() -> None:
    found = filters_of("http://127.0.0.1:1", Path("keks"))

    assert {name: [one["name"] for one in filters] for name, filters in found.items()} == {
        PLAIN: [],
        OTHERS: ["EnvelopeEncryption"],
        BATCHES: ["EnvelopeEncryption"],
        VALUES: ["EnvelopeEncryption"],
        IDS: ["SchemaValidator"],
        BOTH: ["SchemaValidator", "EnvelopeEncryption"],
    }
    assert [name for name, filters in found.items() if any("rules" in one for one in filters)] == [OTHERS]


def test_the_schema_belongs_to_every_topic() -> None:
    found = answers_about(["orders", "bills"])

    assert found["/schemas/ids/1"] == {"schema": json.dumps(SCHEMA)}
    assert found["/schemas/ids/1/versions"] == [
        {"subject": "orders-value", "version": 1},
        {"subject": "bills-value", "version": 1},
    ]
