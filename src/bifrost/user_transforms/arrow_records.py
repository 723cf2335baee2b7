"""The records of a batch as an Arrow record batch, as users' transforms get and return it; and back to columns.

    offset_delta   int32                                      place of the record in its batch, from 0
    timestamp      timestamp[ms, UTC]
    key, value     binary, may be null
    headers        list<struct<key: string, value: binary>>   the value may be null

Keys of headers are UTF-8 in Kafka.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Sequence

_HEADER = pa.struct([pa.field("key", pa.string(), nullable=False), pa.field("value", pa.binary())])

SCHEMA = pa.schema(
    [
        pa.field("offset_delta", pa.int32(), nullable=False),
        pa.field("timestamp", pa.timestamp("ms", tz="UTC"), nullable=False),
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("headers", pa.list_(pa.field("element", _HEADER, nullable=False)), nullable=False),
    ]
)


class WrongBatch(Exception):
    """What a transform returned is not what it may return."""


def read_batch(parts: Sequence[memoryview | None], base_timestamp_ms: int) -> Any:
    """Return the record batch of parts (parts.py), whose timestamps are milliseconds after `base_timestamp_ms`."""
    deltas, timestamps, *others = parts
    assert deltas is not None
    count = len(deltas) // 4
    offsets = _numbers(pa.int32(), deltas)
    times = pc.add(_numbers(pa.int64(), timestamps), base_timestamp_ms).cast(SCHEMA.field("timestamp").type)
    key, value = _binary(others[0:4]), _binary(others[4:8])
    starts = _numbers(pa.int32(), others[8])
    names = _binary(others[9:13]).cast(pa.string())
    structs = pa.StructArray.from_arrays([names, _binary(others[13:17])], fields=list(_HEADER))
    headers = pa.Array.from_buffers(
        SCHEMA.field("headers").type, count, [None, starts.buffers()[1]], children=[structs]
    )
    return pa.RecordBatch.from_arrays([offsets, times, key, value, headers], schema=SCHEMA)


def check_batch(returned: Any, given: Any, *, is_produce: bool) -> Any:
    """Return what a transform returned, in the schema of records.

    Raises:
        WrongBatch: it is no record batch with these columns, or its records have other places than they may have.
    """
    if not isinstance(returned, pa.RecordBatch):
        raise WrongBatch(f"it returned a {type(returned).__name__}, no pyarrow.RecordBatch")
    missing = [name for name in SCHEMA.names if name not in returned.schema.names]
    if missing or returned.num_columns != len(SCHEMA.names):
        raise WrongBatch(f"it returned other columns than {', '.join(SCHEMA.names)}")
    try:
        arrays = [returned.column(name).cast(SCHEMA.field(name).type) for name in SCHEMA.names]
        found = pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)
        found.validate(full=True)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
        raise WrongBatch("it returned columns of other types, or with nulls where none may be") from None
    names = found.column("headers").flatten().field("key")
    if any(found.column(at).null_count for at in (0, 1, 4)) or names.null_count:
        raise WrongBatch("only keys, values and values of headers may be null")
    places = found.column("offset_delta")
    if is_produce and not places.equals(given.column("offset_delta")):
        raise WrongBatch(
            f"it returned {found.num_rows} records for {given.num_rows}, or others at their places"
        )
    if not is_produce and not _is_part(places, given.column("offset_delta")):
        raise WrongBatch("it returned records at places where none were, or in another order")
    return found


def parts_from(batch: Any, base_timestamp_ms: int) -> list[memoryview | None]:
    """Return the parts of a record batch in the schema of records."""
    times = pc.subtract(batch.column("timestamp").cast(pa.int64()), base_timestamp_ms)
    headers = batch.column("headers")
    structs = headers.flatten()
    lengths = pc.list_value_length(headers)
    return [
        _view(batch.column("offset_delta")),
        _view(times),
        *_split(batch.column("key")),
        *_split(batch.column("value")),
        _view(_starts(lengths)),
        *_split(structs.field("key").cast(pa.binary())),
        *_split(structs.field("value")),
    ]


def _is_part(places: Any, given: Any) -> bool:
    if not len(places):
        return True
    later, earlier = places.slice(1), places.slice(0, len(places) - 1)
    is_rising = pc.all(pc.greater(later, earlier), min_count=0).as_py()
    return bool(is_rising and pc.all(pc.is_in(places, value_set=given)).as_py())


def _numbers(kind: Any, data: memoryview | None) -> Any:
    assert data is not None
    width = kind.bit_width // 8
    return pa.Array.from_buffers(kind, len(data) // width, [None, pa.py_buffer(data)])


def _binary(parts: Sequence[memoryview | None]) -> Any:
    """Return bytes that lie anywhere one after the other."""
    data, offsets, sizes, validity = parts
    assert data is not None
    assert offsets is not None
    assert sizes is not None
    lengths = _numbers(pa.int32(), sizes)
    if not len(lengths):
        return pa.array([], pa.binary())
    values = pa.Array.from_buffers(pa.uint8(), len(data), [None, pa.py_buffer(data)])
    scattered = pa.Array.from_buffers(
        pa.list_view(pa.uint8()),
        len(lengths),
        [None, pa.py_buffer(offsets), pa.py_buffer(sizes)],
        children=[values],
    )
    bits = None if validity is None else pa.py_buffer(validity)
    # What lies together already is not copied, and does not begin at its buffer's beginning.
    flat = scattered.flatten()
    buffers = [bits, _starts(lengths).buffers()[1], flat.buffers()[1].slice(flat.offset, len(flat))]
    return pa.Array.from_buffers(pa.binary(), len(lengths), buffers)


def _starts(lengths: Any) -> Any:
    return pa.concat_arrays([pa.array([0], pa.int32()), pc.cumulative_sum(lengths.cast(pa.int32()))])


def _split(column: Any) -> list[memoryview | None]:
    """Return data, offsets, sizes and validity of a column of bytes."""
    whole = pa.concat_arrays(
        [column, pa.array([], column.type)]
    )  # an array that begins at its buffers' beginning
    count = len(whole)
    sizes = pc.fill_null(pc.binary_length(whole), 0)
    _, offsets, data = whole.buffers()
    validity = None
    if whole.null_count:
        validity = memoryview(pc.if_else(whole.is_valid(), True, False).buffers()[1])
    return [
        memoryview(b"") if data is None else memoryview(data),
        memoryview(b"") if not count else memoryview(offsets)[: 4 * count],
        _view(sizes),
        validity,
    ]


def _view(array: Any) -> memoryview:
    """Return the numbers of an array without nulls."""
    width = array.type.bit_width // 8
    if not len(array):
        return memoryview(b"")
    at = array.offset * width
    return memoryview(array.buffers()[1])[at : at + len(array) * width]
