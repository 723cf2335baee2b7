import random

from bifrost.records.codec.columns import ColumnRecord, Columns, Header
from bifrost.schemas.schema_ids import find_records_with, find_schema_ids
from bifrost.schemas.wire_format import KEY_HEADER, NO_ID, TWO_IDS, VALUE_HEADER, read_payload

ONE, TWO = b"\0\0\0\0\1x", b"\0\xff\0\0\2"
GUID = b"\1" + bytes(range(16))


def of_values(*values: bytes | None) -> Columns:
    return Columns.of([ColumnRecord(at, 0, None, value) for at, value in enumerate(values)])


def test_ids_of_values_are_found_once_each() -> None:
    columns = of_values(ONE, ONE, None, TWO, ONE, GUID, b"text", b"")

    assert find_schema_ids(columns, False, 10) == {1, 0xFF000002, GUID[1:], NO_ID}
    assert find_schema_ids(columns, True, 10) == set()
    assert len(find_schema_ids(columns, False, 1)) == 2


def test_records_with_an_id_are_found_in_their_order() -> None:
    columns = of_values(ONE, TWO, TWO, None, TWO, b"text", ONE)

    assert find_records_with(columns, False, {0xFF000002, NO_ID}, 10) == [
        (1, 0xFF000002),
        (2, 0xFF000002),
        (4, 0xFF000002),
        (5, NO_ID),
    ]
    assert find_records_with(columns, False, {1}, 1) == [(0, 1)]


def test_headers_name_schemas_of_keys_and_values_apart() -> None:
    columns = Columns.of(
        [
            ColumnRecord(0, 0, b"k", b"v", ((VALUE_HEADER, GUID), (KEY_HEADER, ONE))),
            ColumnRecord(1, 0, b"k", b"v", ((VALUE_HEADER, ONE), (VALUE_HEADER, ONE))),
            ColumnRecord(2, 0, None, None, ((VALUE_HEADER, b""),)),
        ]
    )

    assert find_schema_ids(columns, False, 10) == {GUID[1:], TWO_IDS}
    assert find_schema_ids(columns, True, 10) == {1, NO_ID}


def test_random_batches_are_read_as_record_by_record() -> None:
    chance = random.Random(18)
    pieces = (None, b"", b"\0", ONE, TWO, GUID, GUID[:16], b"\2\0\0\0\1", b"plain text")
    for _ in range(300):
        records = []
        for at in range(chance.randrange(1, 12)):
            headers: list[Header] = [
                (chance.choice((KEY_HEADER, VALUE_HEADER, b"other")), chance.choice(pieces))
                for _ in range(chance.choice((0, 0, 1, 2)))
            ]
            records.append(ColumnRecord(at, 0, chance.choice(pieces), chance.choice(pieces), tuple(headers)))
        columns = Columns.of(records)
        for is_key, name in ((True, KEY_HEADER), (False, VALUE_HEADER)):
            said = [
                (at, read_payload(data, one.headers, name).schema_id)
                for at, one in enumerate(records)
                if (data := one.key if is_key else one.value) is not None
            ]
            ids = {schema_id for _, schema_id in said}
            assert find_schema_ids(columns, is_key, 100) == ids
            assert find_records_with(columns, is_key, ids, 100) == said
