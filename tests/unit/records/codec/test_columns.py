import random

import pyarrow as pa

from bifrost.records.codec.client_batch import read_columns
from bifrost.records.codec.columns import BytesColumn, ColumnRecord, Columns
from support.records.record_columns import batch_of, only_batch, plenty, random_records

RECORDS = [
    ColumnRecord(0, 5, b"k", b"value", ((b"a", b"1"), (b"b", None))),
    ColumnRecord(1, -3, None, b"", ()),
    ColumnRecord(7, 0, b"", None, ((b"", b""),)),
]


def test_columns_of_records_give_the_records_back() -> None:
    columns = Columns.of(RECORDS)

    assert len(columns) == 3
    assert columns.records() == RECORDS
    assert list(columns.keys) == [b"k", None, b""]
    assert columns.headers(0) == ((b"a", b"1"), (b"b", None))


def test_a_column_without_nulls_has_no_validity() -> None:
    assert BytesColumn.of([b"a", b""]).validity is None
    assert BytesColumn.of([b"a", None]).validity is not None
    assert [BytesColumn.of([b"a", None]).is_null(row) for row in range(2)] == [False, True]


def test_replacing_one_column_leaves_the_others() -> None:
    columns = Columns.of(RECORDS)

    changed = columns.with_values(BytesColumn.of([b"x", b"y", b"z"])).with_keys(BytesColumn.of([None] * 3))

    assert [one.value for one in changed.records()] == [b"x", b"y", b"z"]
    assert [one.key for one in changed.records()] == [None] * 3
    assert [one.headers for one in changed.records()] == [one.headers for one in RECORDS]
    bare = columns.with_headers(bytes(16), BytesColumn.of([]), BytesColumn.of([]))
    assert memoryview(bare.header_starts).nbytes == 16


def list_view(column: BytesColumn) -> pa.Array:
    """Return a column as an Arrow array over the same memory."""
    bits = None if column.validity is None else pa.py_buffer(column.validity)
    buffers = [bits, pa.py_buffer(column.offsets), pa.py_buffer(column.sizes)]
    data = pa.Array.from_buffers(pa.uint8(), len(column.data), [None, pa.py_buffer(column.data)])
    return pa.Array.from_buffers(pa.list_view(pa.uint8()), len(column), buffers, children=[data])


def test_arrow_arrays_of_columns_share_their_memory() -> None:
    records = random_records(random.Random(3), 200)
    columns = read_columns(only_batch(batch_of(records, codec=4)), plenty())

    values, keys = list_view(columns.values), list_view(columns.keys)
    values.validate(full=True)
    keys.validate(full=True)

    assert [None if one is None else bytes(one) for one in values.to_pylist()] == list(columns.values)
    assert [None if one is None else bytes(one) for one in keys.to_pylist()] == list(columns.keys)
    assert values.buffers()[1].address == pa.py_buffer(columns.values.offsets).address
    assert values.values.buffers()[1].address == keys.values.buffers()[1].address


def test_arrow_sees_deltas_and_headers_as_they_are() -> None:
    records = random_records(random.Random(4), 50)
    columns = read_columns(only_batch(batch_of(records)), plenty())

    deltas = pa.Array.from_buffers(pa.int64(), 50, [None, pa.py_buffer(columns.timestamp_deltas)])
    offsets = pa.Array.from_buffers(pa.int32(), 50, [None, pa.py_buffer(columns.offset_deltas)])
    headers = pa.Array.from_buffers(
        pa.list_(pa.list_view(pa.uint8())),
        50,
        [None, pa.py_buffer(columns.header_starts)],
        children=[list_view(columns.header_keys)],
    )
    headers.validate(full=True)

    assert deltas.to_pylist() == [one.timestamp_delta for one in records]
    assert offsets.to_pylist() == [one.offset_delta for one in records]
    assert [len(one) for one in headers.to_pylist()] == [len(one.headers) for one in records]
