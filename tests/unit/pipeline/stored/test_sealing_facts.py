import random

from bifrost.encryption.place import Place
from bifrost.encryption.sealed_fields import FieldSealer
from bifrost.encryption.sealed_values import seal_values
from bifrost.pipeline.stored.sealing_facts import (
    LATEST_MS,
    MARKER,
    PLAIN,
    SEALED_BATCH,
    SEALED_FIELDS,
    SEALED_VALUES,
    UNREADABLE,
    Fact,
    Facts,
    facts_of,
)
from bifrost.pipeline.stored.topic_log import StoredBatch
from bifrost.records.codec.client_batch import build_batch, read_columns
from bifrost.records.codec.columns import ColumnRecord, Columns
from support.encryption.sealing import WRAPPED, produced, sealed, sealing, with_header
from support.records.record_columns import batch_of, marker_of, only_batch, plenty

RECORDS = [ColumnRecord(0, 0, b"k", b"v"), ColumnRecord(1, 5, b"k", None)]
PLACE = Place("cluster", "orders", 0)
KEK = WRAPPED[:2]


def facts(data: bytes) -> list[Fact]:
    return facts_of(only_batch(data), plenty())


def stored(data: bytes, timestamp_ms: int = 1_700_000_000_000, offset: int = 10) -> StoredBatch:
    return StoredBatch("orders", 0, offset, offset + 1, timestamp_ms, memoryview(data))


def rows(*batches: StoredBatch) -> list[dict[str, object]]:
    found = Facts()
    for one in batches:
        found.add(one)
    columns = found.take()
    assert len(found) == 0
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def test_a_sealed_batch_names_its_kek_and_version() -> None:
    assert facts(sealed(produced(random.Random(1), 65, 4))) == [Fact(SEALED_BATCH, *KEK, 65)]


def test_plaintext_and_markers_are_told_apart() -> None:
    plain = batch_of(RECORDS, codec=4)

    assert facts(plain) == [Fact(PLAIN, records=2, plain_records=1)]
    assert facts(marker_of(batch_of(RECORDS[:1]))) == [Fact(MARKER, records=1)]


def test_sealed_values_name_each_kek_and_count_what_is_not_sealed() -> None:
    batch = only_batch(batch_of([*RECORDS, ColumnRecord(2, 6, b"k", b"w")]))
    columns = seal_values(read_columns(batch, plenty()), PLACE.binding, sealing(), plenty())
    values = [*list(columns.values)[:2], b"plain"]
    mixed = read_columns(
        only_batch(batch_of([ColumnRecord(i, 0, b"k", value) for i, value in enumerate(values)])), plenty()
    )

    found = facts(build_batch(batch, mixed, plenty()))

    assert found == [Fact(SEALED_VALUES, *KEK, 3, 1)]


def test_batches_are_added_up_by_producer_kek_and_day() -> None:
    data = batch_of(RECORDS, producer=(7, 3, 0))
    day = 86_400_000

    first, second = rows(
        stored(data), stored(data, 1_700_000_000_001, 4), stored(data, 1_700_000_000_000 + day)
    )

    assert (first["producer_id"], first["producer_epoch"], first["kind"]) == (7, 3, PLAIN)
    assert (first["day"], second["day"]) == ("2023-11-14", "2023-11-15")
    assert (first["first_offset"], first["last_offset"]) == (4, 11)
    assert (first["first_timestamp_ms"], first["last_timestamp_ms"]) == (1_700_000_000_000, 1_700_000_000_001)
    assert (first["batches"], first["records"], first["plain_records"]) == (2, 4, 2)
    assert first["bytes"] == 2 * len(data)


def test_what_cannot_be_read_is_counted_and_says_why() -> None:
    spoilt = bytearray(sealed(produced(random.Random(1), 3)))
    spoilt[-1] ^= 1
    other_version = bytearray(sealed(produced(random.Random(1), 3)))
    other_version[other_version.index(b"BFST") + 4] = 9

    checksum, version = (rows(stored(bytes(one)))[0] for one in (spoilt, with_header(bytes(other_version))))

    assert checksum["kind"] == version["kind"] == UNREADABLE
    assert "checksum" in str(checksum["reason"])
    assert "version" in str(version["reason"])


def test_times_beyond_any_calendar_are_counted_as_the_last_one_there_is() -> None:
    data = batch_of(RECORDS)

    never, far = rows(stored(data, -1), stored(data, 2**63 - 1))

    assert (never["day"], never["first_timestamp_ms"]) == ("", -1)
    assert (far["day"], far["last_timestamp_ms"]) == ("9999-12-31", LATEST_MS)


def test_sealed_fields_name_their_kek() -> None:
    columns = Columns.of([ColumnRecord(0, 0, b"k", b"{}")])
    field = FieldSealer(columns, PLACE.binding, sealing())(0, [b"a"], b"1") or b""
    values = [b'{"a": ' + field + b"}", b'{"b": 1}', None]
    data = batch_of([ColumnRecord(at, 0, b"k", one) for at, one in enumerate(values)], codec=4)

    assert facts(data) == [Fact(SEALED_FIELDS, *KEK, 3, 1)]
    broken = batch_of([ColumnRecord(0, 0, b"k", b'{"a": "bifrost:sealed:AAAA"}')])
    assert [row["kind"] for row in rows(stored(broken))] == [UNREADABLE]
