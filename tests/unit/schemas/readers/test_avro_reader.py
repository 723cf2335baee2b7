import json
from typing import Any

import pytest

from bifrost.schemas.readers.avro_reader import AvroReader
from bifrost.schemas.readers.reader import SchemaError, TakesLong
from bifrost.schemas.registered_schema import Reference, RegisteredSchema, SchemaType
from bifrost.schemas.wire_format import Payload, Unreadable

ORDER = {
    "type": "record",
    "name": "Order",
    "namespace": "shop",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}, "default": 0},
    ],
}


def reader_of(schema: Any, *references: Reference) -> AvroReader:
    return AvroReader(RegisteredSchema(SchemaType.AVRO, json.dumps(schema), references))


def test_a_payload_is_checked_and_read_without_logical_types() -> None:
    reader = reader_of(ORDER)

    reader.check(Payload(1, b"\x54\2"))
    assert reader.value(Payload(1, b"\x54\2")) == {"id": 42, "day": 1}
    assert reader.names == {"shop.Order"}


@pytest.mark.parametrize("data", [b"", b"\x54", b"\x54\2\0"])
def test_a_payload_of_another_length_is_refused(data: bytes) -> None:
    with pytest.raises(Unreadable):
        reader_of(ORDER).check(Payload(1, data))


def test_schemas_that_it_refers_to_are_known() -> None:
    cart = {"type": "array", "items": "shop.Order"}
    reader = reader_of(cart, Reference("shop.Order", json.dumps(ORDER)))

    assert reader.value(Payload(1, b"\2\x54\2\0")) == [{"id": 42, "day": 1}]
    with pytest.raises(SchemaError):
        reader_of(cart)


def test_bytes_of_javas_clients_are_taken_as_they_are() -> None:
    reader = reader_of("bytes")

    reader.check(Payload(1, b"anything"))
    assert reader.value(Payload(1, b"anything")) == b"anything"


@pytest.mark.parametrize("text", ["", "{", '{"type": "record"}', '"unknown"', "3", "[" * 5000])
def test_what_is_no_schema_is_refused(text: str) -> None:
    with pytest.raises(SchemaError):
        AvroReader(RegisteredSchema(SchemaType.AVRO, text))


def test_many_values_in_few_bytes_are_not_made() -> None:
    reader = reader_of({"type": "array", "items": {"type": "record", "name": "R", "fields": []}})
    many = Payload(1, b"\x80\x80\x80\x80\x80\x80\x80\x80\x80\1\0")

    for read in (reader.check, reader.value):
        with pytest.raises(Unreadable, match="more values"):
            read(many)


def test_what_takes_long_is_not_made_and_checked_all_the_same() -> None:
    reader = reader_of({"type": "array", "items": "null"})
    nulls = b"\xa0\x9c\1\0"  # 10,000 of them, in a block

    reader.check(Payload(1, memoryview(nulls)), 1)
    with pytest.raises(TakesLong):
        reader.value(Payload(1, nulls), 1_000_000)
    assert reader.value(Payload(1, nulls)) == [None] * 10_000
    assert reader.value(Payload(1, memoryview(b"\2\0")), 1_000_000) == [None]
    assert reader_of("bytes").value(Payload(1, memoryview(b"any"))) == b"any"
