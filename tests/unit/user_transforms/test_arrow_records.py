import random
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest

from bifrost.confined.frames import LENGTHS, Frame, pack, read_head, read_lengths
from bifrost.records.codec.columns import ColumnRecord, Columns
from bifrost.transforms.user.column_parts import columns_from
from bifrost.transforms.user.column_parts import parts_from as parts_of_columns
from bifrost.user_transforms.arrow_records import SCHEMA, WrongBatch, check_batch, parts_from, read_batch
from bifrost.user_transforms.parts import parts_of
from support.records.record_columns import random_records

BASE_MS = 1_700_000_000_000
RECORDS = [
    ColumnRecord(0, 5, b"k", b"v", ((b"a", b"1"), (b"b", None))),
    ColumnRecord(2, -3, None, b"", ()),
    ColumnRecord(3, 0, b"", None, ((b"", b""),)),
]


def sent(parts: Sequence[memoryview | None]) -> Frame:
    """Return parts as they arrive in a message."""
    data = b"".join(bytes(piece) for piece in pack({}, parts))
    head, _ = read_lengths(data[: LENGTHS.size], 1 << 30)
    at = LENGTHS.size + head
    return Frame(read_head(data[LENGTHS.size : at]), memoryview(data)[at:])


def batch_of(records: list[ColumnRecord]) -> Any:
    return read_batch(parts_of(sent(parts_of_columns(Columns.of(records)))), BASE_MS)


def records_of(batch: Any) -> list[ColumnRecord]:
    return columns_from(sent(parts_from(batch, BASE_MS))).records()


def test_records_have_the_documented_columns() -> None:
    batch = batch_of(RECORDS)

    batch.validate(full=True)
    assert batch.schema.equals(SCHEMA)
    assert batch.column("offset_delta").to_pylist() == [0, 2, 3]
    assert batch.column("timestamp").cast(pa.int64()).to_pylist() == [BASE_MS + 5, BASE_MS - 3, BASE_MS]
    assert batch.column("key").to_pylist() == [b"k", None, b""]
    assert batch.column("value").to_pylist() == [b"v", b"", None]
    assert batch.column("headers").to_pylist() == [
        [{"key": "a", "value": b"1"}, {"key": "b", "value": None}],
        [],
        [{"key": "", "value": b""}],
    ]


def test_random_records_come_back_as_they_were() -> None:
    chance = random.Random(18)
    for _ in range(100):
        records = [
            one._replace(headers=tuple((b"h%d" % len(key), value) for key, value in one.headers))
            for one in random_records(chance, chance.randrange(1, 40))
        ]
        batch = batch_of(records)

        assert records_of(check_batch(batch, batch, is_produce=True)) == records
        part = check_batch(batch.slice(1, 3), batch, is_produce=False)
        assert records_of(part) == records[1:4]


def test_a_header_whose_key_is_not_utf_8_is_refused() -> None:
    with pytest.raises(pa.ArrowInvalid):
        batch_of([ColumnRecord(0, 0, b"k", b"v", ((b"\xff", b""),))])


def changed(batch: Any, name: str, values: Any) -> Any:
    columns = [values if one == name else batch.column(one) for one in batch.schema.names]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def test_columns_of_similar_types_and_in_another_order_are_taken() -> None:
    batch = batch_of(RECORDS)
    texts = changed(batch, "value", pa.array(["x", None, "é"], pa.large_string()))
    turned = texts.select(["value", "headers", "key", "timestamp", "offset_delta"])

    found = check_batch(turned, batch, is_produce=True)

    assert [one.value for one in records_of(found)] == [b"x", None, "é".encode()]


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (lambda batch: None, "a NoneType"),
        (lambda batch: pa.Table.from_batches([batch]), "a Table"),
        (lambda batch: batch.select(["key", "value"]), "other columns"),
        (lambda batch: batch.append_column("x", pa.array([1, 2, 3])), "other columns"),
        (lambda batch: batch.slice(1), "2 records for 3"),
        (lambda batch: batch.take(pa.array([1, 0, 2])), "others at their places"),
        (lambda batch: changed(batch, "value", pa.array([1.5, 2.5, 3.5])), "other types"),
        (lambda batch: changed(batch, "timestamp", pa.array(["a", "b", "c"])), "other types"),
        (lambda batch: changed(batch, "timestamp", pa.array([None, 1, 2])), "null"),
        (lambda batch: changed(batch, "headers", pa.array([None] * 3, SCHEMA.field("headers").type)), "null"),
    ],
)
def test_what_breaks_the_contract_is_refused(wrong: Any, why: str) -> None:
    batch = batch_of(RECORDS)

    with pytest.raises(WrongBatch, match=why):
        check_batch(wrong(batch), batch, is_produce=True)


@pytest.mark.parametrize("places", [[2, 0], [0, 0], [1], [4]])
def test_on_fetch_records_are_left_out_and_not_moved(places: list[int]) -> None:
    batch = batch_of(RECORDS)
    some = batch.slice(0, len(places))

    with pytest.raises(WrongBatch, match="where none were"):
        check_batch(changed(some, "offset_delta", pa.array(places, pa.int32())), batch, is_produce=False)
    assert check_batch(batch.slice(0, 0), batch, is_produce=False).num_rows == 0
