"""How tools/fuzz_records.py reads records without the codec: one byte after the other, into Python objects."""

from bifrost.records.codec.columns import ColumnRecord, Header


class Malformed(Exception):
    """The bytes are no records."""


class PlainReader:
    """Reads the unpacked records of a batch, as Kafka's DefaultRecord does."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def records(self, count: int) -> list[ColumnRecord]:
        """Read all of them.

        Raises:
            Malformed: there are others than that many, or one is malformed.
        """
        found = [self._record() for _ in range(max(count, 0))]
        if count < 0 or self._at != len(self._data):
            raise Malformed
        return found

    def _record(self) -> ColumnRecord:
        size = self._varint(len(self._data), 32)
        end = self._at + size
        if not 1 <= size <= len(self._data) - self._at:
            raise Malformed
        self._at += 1
        timestamp_delta, offset_delta = self._varint(end, 64), self._varint(end, 32)
        key, value = self._bytes(end), self._bytes(end)
        count = self._varint(end, 32)
        if not 0 <= count <= end - self._at:
            raise Malformed
        headers = tuple(self._header(end) for _ in range(count))
        if self._at != end:
            raise Malformed
        return ColumnRecord(offset_delta, timestamp_delta, key, value, headers)

    def _header(self, end: int) -> Header:
        key, value = self._bytes(end), self._bytes(end)
        if key is None:
            raise Malformed
        return key, value

    def _bytes(self, end: int) -> bytes | None:
        size = self._varint(end, 32)
        if size < 0:
            return None
        if size > end - self._at:
            raise Malformed
        self._at += size
        return self._data[self._at - size : self._at]

    def _varint(self, end: int, bits: int) -> int:
        value = 0
        for shift in range(0, bits + 6, 7)[: (bits + 6) // 7]:
            if self._at >= end:
                raise Malformed
            byte = self._data[self._at]
            self._at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                value &= (1 << bits) - 1  # what has no place is dropped, as in Java
                return value >> 1 ^ -(value & 1)
        raise Malformed
