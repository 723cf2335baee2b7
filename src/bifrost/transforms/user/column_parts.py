"""Columns of records as the parts of a message to or from the process of a transform (`user_transforms/parts.py`)."""

from collections.abc import Sequence

from bifrost.confined.frames import BrokenFrame, Frame
from bifrost.records.codec.columns import BytesColumn, Columns
from bifrost.user_transforms.parts import parts_of


def parts_from(columns: Columns) -> Sequence[memoryview | None]:
    """Return the parts of a batch, in the order of `PARTS`; nothing is copied."""
    return [
        columns.offset_deltas,
        columns.timestamp_deltas,
        *_bytes_parts(columns.keys),
        *_bytes_parts(columns.values),
        columns.header_starts,
        *_bytes_parts(columns.header_keys),
        *_bytes_parts(columns.header_values),
    ]


def _bytes_parts(column: BytesColumn) -> tuple[memoryview | None, ...]:
    return column.data, column.offsets, column.sizes, column.validity


def columns_from(frame: Frame) -> Columns:
    """Return the columns of an answer; their rows are not looked at.

    Raises:
        BrokenFrame, TypeError: it has none, or their numbers are cut off.
    """
    parts = parts_of(frame)
    columns = [parts[at : at + 4] for at in (2, 6, 11, 15)]
    keys, values, header_keys, header_values = (
        BytesColumn(_there(data), _there(offsets).cast("i"), _there(sizes).cast("i"), validity)
        for data, offsets, sizes, validity in columns
    )
    return Columns(
        _there(parts[0]).cast("i"),
        _there(parts[1]).cast("q"),
        keys,
        values,
        _there(parts[10]).cast("i"),
        header_keys,
        header_values,
    )


def _there(part: memoryview | None) -> memoryview:
    if part is None:
        raise BrokenFrame("a part that has to be there")
    return part
