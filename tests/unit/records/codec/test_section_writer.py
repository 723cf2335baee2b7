"""Columns that do not fit together, as a broken transform may return them."""

from __future__ import annotations

from array import array
from collections.abc import Callable

import pytest

from bifrost.records.codec.client_batch import build_batch
from bifrost.records.codec.columns import BytesColumn, ColumnRecord, Columns
from support.records.record_columns import batch_of, only_batch, plenty

RECORDS = [ColumnRecord(i, i, b"key", b"value", ((b"a", b"1"),)) for i in range(3)]


def ints(*values: int) -> array[int]:
    return array("i", values)


def changed(change: Callable[[Columns], Columns]) -> bytes:
    return build_batch(only_batch(batch_of(RECORDS)), change(Columns.of(RECORDS)), plenty())


@pytest.mark.parametrize(
    ("offsets", "sizes"),
    [
        ((0, 1, 5), (1, 1, 1)),
        ((0, -1, 2), (1, 1, 1)),
        ((0, 1, 2), (1, -1, 1)),
        ((0, 1, 2), (1, 1, 2**31 - 1)),
        ((2**31 - 1, 0, 0), (2**31 - 1, 0, 0)),
    ],
)
def test_rows_outside_of_their_bytes_are_refused(offsets: tuple[int, ...], sizes: tuple[int, ...]) -> None:
    column = BytesColumn(b"abcde", ints(*offsets), ints(*sizes))

    with pytest.raises(ValueError, match="lies outside"):
        changed(lambda columns: columns.with_values(column))


@pytest.mark.parametrize("count", [0, 2, 4])
def test_columns_of_other_lengths_are_refused(count: int) -> None:
    with pytest.raises(ValueError, match="belong"):
        changed(lambda columns: columns.with_keys(BytesColumn.of([b"x"] * count)))


def test_an_array_of_another_width_is_refused() -> None:
    wide = BytesColumn(b"abc", array("q", [0, 0, 0]), ints(0, 0, 0))

    with pytest.raises(ValueError, match="24 bytes where 12 belong"):
        changed(lambda columns: columns.with_values(wide))


def test_too_few_bits_of_validity_are_refused() -> None:
    column = BytesColumn(b"", ints(0, 0, 0), ints(0, 0, 0), b"")

    with pytest.raises(ValueError, match="fewer bits"):
        changed(lambda columns: columns.with_values(column))


@pytest.mark.parametrize("starts", [(0, 1, 2, 4), (-1, 0, 1, 2), (0, 2, 1, 3)])
def test_headers_that_are_not_there_are_refused(starts: tuple[int, ...]) -> None:
    names = BytesColumn.of([b"a", b"b", b"c"])

    with pytest.raises(ValueError, match="headers"):
        changed(lambda columns: columns.with_headers(ints(*starts), names, names))


def test_a_header_without_a_key_is_refused() -> None:
    names, values = BytesColumn.of([b"a", None]), BytesColumn.of([None, None])

    with pytest.raises(ValueError, match="the key of header 1 is null"):
        changed(lambda columns: columns.with_headers(ints(0, 1, 2, 2), names, values))


def test_memory_of_refused_columns_is_let_go() -> None:
    data = bytearray(b"abc")
    columns = Columns.of(RECORDS).with_values(BytesColumn(data, ints(0, 0, 9), ints(1, 1, 1)))

    with pytest.raises(ValueError, match="outside"):
        build_batch(only_batch(batch_of(RECORDS)), columns, plenty())
    del columns
    data.append(1)  # a BufferError while a view of it is held

    assert data == b"abc\x01"
