from bifrost.gateway.sources.quarantine_batches import HEADERS, MAX_REASON_BYTES, PIECE_BYTES, batches_of
from bifrost.records.codec.client_batch import read_columns, split_batches
from bifrost.records.codec.columns import ColumnRecord, Columns
from bifrost.transforms.quarantine import BadRecords, QuarantinePlace, ToQuarantine
from bifrost.transforms.record_transform import Rejected, Rejection
from support.physical_names import physical_name
from support.records.record_columns import CODECS, batch_of, only_batch, plenty

PLACE = QuarantinePlace("acme", "eu:orders", "bad", physical_name("acme", "bad").encode())


def made(records: list[ColumnRecord], rejected: Rejected, **fields: object) -> list[bytes]:
    batch = only_batch(batch_of(records, **fields))  # type: ignore[arg-type]
    columns = Columns.of(records)
    given = BadRecords(batch, columns, rejected)
    return batches_of(ToQuarantine(PLACE, "checks", 3, b"", given), batch, columns, given)


def test_a_bad_record_keeps_all_but_its_place_and_gets_the_reason() -> None:
    forged = ((HEADERS.encode() + b"reason", b"fine"), (b"trace", None))
    records = [ColumnRecord(0, 0, b"a", b"good"), ColumnRecord(1, 9, None, b"wrong", forged)]

    (data,) = made(
        records,
        Rejected((Rejection(1, "ü" * MAX_REASON_BYTES),)),
        codec=CODECS.index("lz4"),
        producer=(7, 1, 5),
        attributes=0x10,
    )

    (batch,) = split_batches(memoryview(data), is_whole=True)
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence) == (-1, -1, -1)
    assert (batch.base_timestamp_ms, batch.attributes) == (1_700_000_000_000, CODECS.index("lz4"))
    (record,) = read_columns(batch, plenty()).records()
    assert record == ColumnRecord(
        0,
        9,
        None,
        b"wrong",
        (
            (b"trace", None),
            (b"bifrost.quarantine.topic", b"eu:orders"),
            (b"bifrost.quarantine.partition", b"3"),
            (b"bifrost.quarantine.filter", b"checks"),
            (b"bifrost.quarantine.reason", ("ü" * MAX_REASON_BYTES).encode()[:MAX_REASON_BYTES]),
        ),
    )


def test_no_batch_is_larger_than_brokers_take_unless_one_record_is() -> None:
    sizes = (PIECE_BYTES // 2, PIECE_BYTES // 3, PIECE_BYTES // 2, 3 * PIECE_BYTES, 1)
    records = [ColumnRecord(place, 0, b"", bytes(size)) for place, size in enumerate(sizes)]

    found = [only_batch(one) for one in made(records, Rejected((), "all"))]

    read = [read_columns(one, plenty()).records() for one in found]
    assert [[len(record.value or b"") for record in batch] for batch in read] == [
        [*sizes[:2]],
        [sizes[2]],
        [sizes[3]],
        [sizes[4]],
    ]
    assert [record.offset_delta for record in read[0]] == [0, 1]
