"""The records of a batch as columns: flat arrays, not one Python object per record.

    offset_deltas            int32 per record
    timestamp_deltas         int64 per record, in ms
    keys, values             bytes per record, or null
    header_starts            int32 per record and one more: where its headers begin, those of the next end them
    header_keys              bytes per header
    header_values            bytes per header, or null

Bytes are where they were in the unpacked records; a column has where each one begins and how long it is. That is
Arrow's layout of a list-view, so an Arrow array of a column needs no copy (`header_starts` is that of a list). Nothing
here needs Arrow.

Source: Arrow Columnar Format 1.4, "ListView Layout", "Validity bitmaps"; Kafka's DefaultRecord.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing_extensions import Buffer

Header = tuple[bytes, bytes | None]
"""A header's key and value."""


class ColumnRecord(NamedTuple):
    """One record as Python objects, for those who ask for them."""

    offset_delta: int
    timestamp_delta: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...] = ()


class BytesColumn:
    """A column of bytes, of which some may be null.

    Attributes:
        data: what the offsets point into.
        offsets: int32 per row: where its bytes begin.
        sizes: int32 per row: how many they are; 0 where null.
        validity: a bit per row, the lowest first, 0 where null; None where no row is null.
    """

    __slots__ = ("data", "offsets", "sizes", "validity")

    def __init__(self, data: Buffer, offsets: Buffer, sizes: Buffer, validity: Buffer | None = None) -> None:
        self.data = memoryview(data)
        self.offsets = memoryview(offsets)
        self.sizes = memoryview(sizes)
        self.validity = None if validity is None else memoryview(validity)

    @classmethod
    def of(cls, rows: Iterable[Buffer | None]) -> BytesColumn:
        """Return a column of these rows, whose bytes are copied."""
        data, offsets, sizes, bits, nulls = bytearray(), array("i"), array("i"), bytearray(), 0
        for count, row in enumerate(rows):
            if count % 8 == 0:
                bits.append(0)
            offsets.append(len(data))
            if row is None:
                nulls += 1
            else:
                data += row
                bits[-1] |= 1 << count % 8
            sizes.append(len(data) - offsets[-1])
        return cls(bytes(data), offsets, sizes, bits if nulls else None)

    def __len__(self) -> int:
        return len(self.offsets)

    def is_null(self, row: int) -> bool:
        """Whether a row is null."""
        return self.validity is not None and not self.validity[row >> 3] >> (row & 7) & 1

    def __getitem__(self, row: int) -> bytes | None:
        if self.is_null(row):
            return None
        start = self.offsets[row]
        return bytes(self.data[start : start + self.sizes[row]])

    def __iter__(self) -> Iterator[bytes | None]:
        return (self[row] for row in range(len(self)))


class Columns:
    """The records of one batch. A transform replaces columns; it does not write into them."""

    __slots__ = (
        "header_keys",
        "header_starts",
        "header_values",
        "keys",
        "offset_deltas",
        "timestamp_deltas",
        "values",
    )

    def __init__(
        self,
        offset_deltas: Buffer,
        timestamp_deltas: Buffer,
        keys: BytesColumn,
        values: BytesColumn,
        header_starts: Buffer,
        header_keys: BytesColumn,
        header_values: BytesColumn,
    ) -> None:
        self.offset_deltas = memoryview(offset_deltas)
        self.timestamp_deltas = memoryview(timestamp_deltas)
        self.keys = keys
        self.values = values
        self.header_starts = memoryview(header_starts)
        self.header_keys = header_keys
        self.header_values = header_values

    @classmethod
    def of(cls, records: Sequence[ColumnRecord]) -> Columns:
        """Return the columns of these records."""
        headers = [header for record in records for header in record.headers]
        starts = array("i", [0])
        for record in records:
            starts.append(starts[-1] + len(record.headers))
        return cls(
            array("i", [record.offset_delta for record in records]),
            array("q", [record.timestamp_delta for record in records]),
            BytesColumn.of(record.key for record in records),
            BytesColumn.of(record.value for record in records),
            starts,
            BytesColumn.of(key for key, _ in headers),
            BytesColumn.of(value for _, value in headers),
        )

    def __len__(self) -> int:
        return len(self.offset_deltas)

    def with_values(self, values: BytesColumn) -> Columns:
        """Return the same records with other values."""
        return self._with(self.keys, values)

    def with_keys(self, keys: BytesColumn) -> Columns:
        """Return the same records with other keys."""
        return self._with(keys, self.values)

    def with_headers(self, starts: Buffer, keys: BytesColumn, values: BytesColumn) -> Columns:
        """Return the same records with other headers."""
        return Columns(
            self.offset_deltas, self.timestamp_deltas, self.keys, self.values, starts, keys, values
        )

    def _with(self, keys: BytesColumn, values: BytesColumn) -> Columns:
        return Columns(
            self.offset_deltas,
            self.timestamp_deltas,
            keys,
            values,
            self.header_starts,
            self.header_keys,
            self.header_values,
        )

    def headers(self, row: int) -> tuple[Header, ...]:
        """Return the headers of a record."""
        places = range(self.header_starts[row], self.header_starts[row + 1])
        return tuple((self.header_keys[place] or b"", self.header_values[place]) for place in places)

    def records(self) -> list[ColumnRecord]:
        """Return all records as objects; for tests and small batches."""
        return [
            ColumnRecord(
                self.offset_deltas[row],
                self.timestamp_deltas[row],
                self.keys[row],
                self.values[row],
                self.headers(row),
            )
            for row in range(len(self))
        ]
