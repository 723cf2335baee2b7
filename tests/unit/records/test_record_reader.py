import pytest

from bifrost.records.batch_reader import LogRecord
from bifrost.records.record_reader import read_records
from bifrost.records.record_writer import encode_records

RECORDS = [(1_000, b"k", b"v"), (900, None, b"x" * 70_000), (2_000_000_000_000, b"", None)]


def read(data: bytes, count: int = len(RECORDS)) -> list[LogRecord]:
    return read_records(data, LogRecord, 5, 1_000, count)


def test_records_are_read_as_they_were_written() -> None:
    found = read(encode_records(list(RECORDS), 1_000))

    assert found == [LogRecord(5 + number, *one) for number, one in enumerate(RECORDS)]
    assert {type(one) for one in found} == {LogRecord}


def test_headers_are_skipped() -> None:
    record = b"\x00\x00\x00\x02k\x02v\x02\x02h\x02x"  # one header, h: x
    data = bytes([2 * len(record)]) + record

    assert read(data * 2, 2) == [LogRecord(5, 1_000, b"k", b"v")] * 2


def test_records_that_end_too_early_are_refused_wherever_they_end() -> None:
    data = encode_records([(1_000, b"key", b"value")], 1_000)

    for size in range(len(data)):
        with pytest.raises(ValueError, match="record"):
            read(data[:size], 1)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"\x01", "longer than its batch"),
        (b"\x00", "longer than its batch"),
        (b"\xff" * 11, "too long"),
        (b"\x0a\x00\x00\x00\x7e\x02", "longer than its record"),
        (b"\x0e\x00\x00\x00\x02k\x7e", "longer than its record"),
    ],
)
def test_lengths_beyond_the_bytes_are_refused(data: bytes, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        read(data + bytes(3), 1) if why == "longer than its record" else read(data, 1)
