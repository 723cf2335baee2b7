import pytest

from bifrost.records import batch_reader
from bifrost.records.batch_reader import LogRecord, UnreadableBatch, read_batches
from bifrost.records.record_batch import ProducerId, build_batch, compress
from support.clients import record_batches
from support.clients.log import batch_at, marker_at

RECORDS = [(1000, b"k", b"one"), (999, None, b"two"), (90_000_000, b"", None)]


def test_what_the_gateway_writes_is_read() -> None:
    data = build_batch(RECORDS, compress(RECORDS), ProducerId(4000, 3), 17, is_transactional=True)

    [batch] = read_batches(data)

    assert batch.records == [
        LogRecord(0, 1000, b"k", b"one"),
        LogRecord(1, 999, None, b"two"),
        LogRecord(2, 90_000_000, b"", None),
    ]
    assert (batch.base_offset, batch.last_offset, batch.producer_id) == (0, 2, 4000)
    assert (batch.is_transactional, batch.is_commit, batch.is_abort) == (True, False, False)


def test_what_kafka_python_writes_is_read() -> None:
    data = record_batches.build_batch([b"one", b"x" * 3000], producer_id=7, is_transactional=True)

    [batch] = read_batches(data)

    assert [one.value for one in batch.records] == [b"one", b"x" * 3000]
    assert batch.is_transactional


def test_an_incomplete_last_batch_is_left_out() -> None:
    data = batch_at(5, [b"one"]) + batch_at(6, [b"two"])

    for cut in range(len(batch_at(5, [b"one"])), len(data)):
        assert [one.base_offset for one in read_batches(data[:cut])] == [5]


@pytest.mark.parametrize("is_commit", [True, False])
def test_a_marker_ends_a_transaction_and_has_no_records(is_commit: bool) -> None:
    [batch] = read_batches(marker_at(9, 4000, is_commit=is_commit))

    assert (batch.is_commit, batch.is_abort, batch.records) == (is_commit, not is_commit, [])
    assert (batch.base_offset, batch.last_offset, batch.producer_id) == (9, 9, 4000)


def test_every_changed_byte_behind_the_checksum_is_found() -> None:
    data = batch_at(5, [b"one", b"two"])
    for at in range(17, len(data)):
        changed = bytearray(data)
        changed[at] ^= 0x40
        with pytest.raises(UnreadableBatch, match="offset 5: the batch's checksum is wrong"):
            list(read_batches(bytes(changed)))


def test_another_format_is_refused() -> None:
    data = bytearray(batch_at(5, [b"one"]))
    data[16] = 1

    with pytest.raises(UnreadableBatch, match="offset 5: the batch is not of format v2"):
        list(read_batches(bytes(data)))


def test_a_length_that_no_batch_has_is_refused() -> None:
    with pytest.raises(UnreadableBatch, match="a batch of 12 bytes"):
        list(read_batches(bytes(40)))


def test_a_codec_that_the_gateway_does_not_write_is_named() -> None:
    data = record_batches.build_batch([b"x" * 1000], compression_type=4)

    with pytest.raises(UnreadableBatch, match=r"compressed by zstd: set compression\.type=producer"):
        list(read_batches(data))


def test_records_that_decompress_to_too_much_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    records = [(0, b"k", bytes(5000))]
    monkeypatch.setattr(batch_reader, "MAX_RECORDS_BYTES", 5000)

    with pytest.raises(UnreadableBatch, match="more than 5000 bytes"):
        list(read_batches(build_batch(records, compress(records))))


def test_a_count_above_the_records_is_refused() -> None:
    data = build_batch([*RECORDS, *RECORDS], compress(RECORDS))

    with pytest.raises(UnreadableBatch, match="offset 0: "):
        list(read_batches(data))
