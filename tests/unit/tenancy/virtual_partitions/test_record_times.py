import struct

import pytest

from bifrost.records.codec.columns import ColumnRecord
from bifrost.tenancy.virtual_partitions import record_times
from bifrost.tenancy.virtual_partitions.record_times import (
    TimedRecord,
    first_record_of,
    first_record_since,
)
from support.records.record_columns import batch_of

LOG_APPEND_TIME = 0x08


def batch(*times: int, base: int = 0, **fields: int) -> bytes:
    records = [ColumnRecord(at, time - times[0], None, b"v", ()) for at, time in enumerate(times)]
    return batch_of(records, base_offset=base, base_timestamp_ms=times[0], **fields)


@pytest.mark.parametrize("codec", [0, 1])
def test_the_first_record_that_is_late_enough_is_found(codec: int) -> None:
    data = batch(5, 9, 7, 9, base=100, codec=codec)

    assert first_record_since(data, 0, 9) == TimedRecord(101, 9, -1)
    assert first_record_since(data, 102, 9) == TimedRecord(103, 9, -1)
    assert first_record_since(data, 0, 6) == TimedRecord(101, 9, -1)
    assert first_record_since(data, 104, 9) is None
    assert first_record_since(data, 0, 10) is None


def test_records_with_the_time_of_the_broker_have_one() -> None:
    data = bytearray(batch(5, 9, base=100, attributes=LOG_APPEND_TIME))
    struct.pack_into(">q", data, 35, 9)

    assert first_record_since(bytes(data), 101, 9) == TimedRecord(101, 9, -1)


def test_what_is_too_large_to_unpack_stands_for_its_records(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_times, "MAX_UNPACKED", 1)

    assert first_record_since(batch(5, 9, base=100, codec=1), 0, 9) == TimedRecord(100, 9, -1)


def test_a_record_where_the_batch_begins() -> None:
    assert first_record_of(batch(5, base=100), 7) == TimedRecord(100, 7, -1)
    assert first_record_of(batch(5, base=100), 7, 120) == TimedRecord(120, 7, -1)
