import gzip

from bifrost.records.crc32c import crc32c
from bifrost.records.record_batch import NO_PRODUCER, ProducerId, build_batch, compress
from bifrost.records.record_writer import encode_records
from support.clients.record_batches import read_batches

RECORDS = [(1000, b"acme", b"one"), (999, None, b"two"), (90_000_000, b"", b"x" * 5000)]


def test_a_batch_is_read_as_it_was_written() -> None:
    batch = build_batch(RECORDS, compress(RECORDS), ProducerId(4000, 3), 17)

    assert batch[16] == 2
    assert int.from_bytes(batch[8:12], "big") == len(batch) - 12
    assert int.from_bytes(batch[17:21], "big") == crc32c(batch[21:])
    assert batch[22] == 1
    assert int.from_bytes(batch[27:35], "big") == 1000
    assert int.from_bytes(batch[35:43], "big") == 90_000_000
    assert int.from_bytes(batch[43:51], "big") == 4000
    assert int.from_bytes(batch[53:57], "big") == 17
    assert int.from_bytes(batch[57:61], "big") == 3
    assert gzip.decompress(batch[61:]) == encode_records(RECORDS, 1000)


def test_a_record_is_as_kafka_lays_it_out() -> None:
    (record,) = [encode_records([(998, b"k", b"vv")], 1000)]

    #     length 9  attributes  -2   offset 0  key 1 "k"  value 2 "vv"  no headers
    assert record == b"\x12" + b"\0" + b"\x03" + b"\0" + b"\x02k" + b"\x04vv" + b"\0"


def test_a_null_key_is_minus_one() -> None:
    assert encode_records([(0, None, b"v")], 0) == b"\x0e\0\0\0\x01\x02v\0"


def test_without_a_producer_nothing_is_idempotent() -> None:
    batch = build_batch(RECORDS, compress(RECORDS))

    assert ProducerId(-1, -1) == NO_PRODUCER
    assert batch[43:57] == b"\xff" * 14
    assert len(list(read_batches(batch))) == 1
