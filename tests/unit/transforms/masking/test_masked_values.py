from bifrost.records.codec.columns import ColumnRecord, Columns, Header
from bifrost.schemas.wire_format import SchemaId
from bifrost.transforms.masking.field_path import path_of
from bifrost.transforms.masking.json_masker import JsonMasker
from bifrost.transforms.masking.masked_values import FieldMasker, NoFields, mask_values
from support.records.record_columns import plenty
from support.records.schema_answers import of_schema

GUID = bytes(range(16))


def masker(path: str) -> JsonMasker:
    return JsonMasker([path_of(path)], lambda _path, _kind, _content: b'"***"')


def test_each_value_is_read_by_what_its_schema_says() -> None:
    maskers: dict[SchemaId, FieldMasker] = {1: masker("a"), 2: NoFields(), GUID: masker("b")}
    text = b'{"a": 1, "b": 2}'
    by_header: tuple[Header, ...] = ((b"__value_schema_id", b"\0\0\0\0\1"),)
    rows: list[tuple[bytes | None, tuple[Header, ...]]] = [
        (of_schema(1, text), ()),
        (of_schema(1, text), ()),
        (None, ()),
        (of_schema(2, text), ()),
        (b"\1" + GUID + text, ()),
        (text, by_header),
        (of_schema(1, text), by_header),
        (of_schema(3, text), ()),
        (text, ()),
    ]
    columns = Columns.of(
        [ColumnRecord(at, 0, b"k", value, headers) for at, (value, headers) in enumerate(rows)]
    )

    found, unreadable = mask_values(columns, maskers, plenty())

    masked = b'{"a": "***", "b": 2}'
    assert unreadable == [6, 7, 8], "a header counts, not what looks like an ID behind it"
    assert list(found.values) == [
        of_schema(1, masked),
        of_schema(1, masked),
        None,
        of_schema(2, text),
        b"\1" + GUID + b'{"a": 1, "b": "***"}',
        masked,
        None,
        None,
        None,
    ]


def test_what_has_no_fields_keeps_its_columns() -> None:
    columns = Columns.of(
        [ColumnRecord(0, 0, b"k", of_schema(1, b"any bytes")), ColumnRecord(1, 0, b"k", None)]
    )

    assert mask_values(columns, {1: NoFields()}, plenty()) == (columns, [])
