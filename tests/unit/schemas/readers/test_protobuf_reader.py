import pytest

from bifrost.registry.protobuf_compiler import compile_protobuf
from bifrost.schemas.readers.protobuf_reader import ProtobufReader
from bifrost.schemas.readers.reader import SchemaError, TakesLong
from bifrost.schemas.registered_schema import Reference, RegisteredSchema, SchemaType
from bifrost.schemas.wire_format import Payload, Unreadable

TEXT = """
syntax = "proto3";
package shop;
import "money.proto";
message Payment {
  int64 id = 1;
  Money amount = 2;
  repeated string tags = 3;
  map<string, Money> parts = 4;
  message Inner { string x = 1; }
}
message Other { string y = 1; optional int32 z = 2; }
"""
MONEY = 'syntax = "proto3"; package shop; message Money { int64 units = 1; }'


@pytest.fixture(scope="module")
def reader() -> ProtobufReader:
    schema = RegisteredSchema(SchemaType.PROTOBUF, TEXT, (Reference("money.proto", MONEY),))
    return ProtobufReader(
        RegisteredSchema(schema.kind, TEXT, schema.references, descriptors=compile_protobuf(schema))
    )


def test_a_message_is_read_by_its_indexes(reader: ProtobufReader) -> None:
    assert reader.value(Payload(1, b"\0\x08\x2a\x12\2\x08\7\x1a\1a")) == {
        "id": 42,
        "amount": {"units": 7},
        "tags": ["a"],
        "parts": {},
    }
    for nested in (b"\0", b"\2"):
        assert reader.value(Payload(1, b"\4\0" + nested + b"\x0a\1x")) == {"x": "x"}
    assert reader.value(Payload(1, b"\x0a\1y", b"\2\2")) == {"y": "y"}
    assert reader.names == {"shop.Payment", "shop.Payment.Inner", "shop.Other"}


def test_maps_are_read(reader: ProtobufReader) -> None:
    assert reader.value(Payload(1, b"\0\x22\7\x0a\1k\x12\2\x08\5")) == {
        "id": 0,
        "tags": [],
        "parts": {"k": {"units": 5}},
    }


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\2\4",
        b"\0\x08",
        b"\0\x12\5\x08\7",
        b"\0\xff\xff",
        b"\0\x2a\1a",
        b"\2\2\x0a\1\xff",
    ],
)
def test_what_is_no_such_message_is_refused(reader: ProtobufReader, data: bytes) -> None:
    with pytest.raises(Unreadable):
        reader.check(Payload(1, data))


def test_required_fields_of_proto2_are_asked_for() -> None:
    text = 'syntax = "proto2"; message Old { required int32 a = 1; }'
    made = compile_protobuf(RegisteredSchema(SchemaType.PROTOBUF, text))
    old = ProtobufReader(RegisteredSchema(SchemaType.PROTOBUF, text, descriptors=made))

    old.check(Payload(1, b"\0\x08\1"))
    with pytest.raises(Unreadable):
        old.check(Payload(1, b"\0"))


def test_descriptors_that_do_not_fit_are_refused() -> None:
    for descriptors in (b"", b"\xff", b"\x0a\6\x0a\1a\x1a\1b"):
        with pytest.raises(SchemaError):
            ProtobufReader(RegisteredSchema(SchemaType.PROTOBUF, TEXT, descriptors=descriptors))


def test_what_takes_long_is_not_begun(reader: ProtobufReader) -> None:
    tags = b"\0" + b"\x1a\0" * 1_000

    reader.check(Payload(1, tags), 1_000_000)
    with pytest.raises(TakesLong):
        reader.value(Payload(1, tags), 1_000_000)
    with pytest.raises(TakesLong):
        reader.check(Payload(1, b"\0" + b"\x1a\0" * 10_000), 1_000_000)
    assert reader.value(Payload(1, memoryview(b"\0\x1a\1a")), 1_000_000) == {
        "id": 0,
        "tags": ["a"],
        "parts": {},
    }


def test_fields_that_are_not_set_count_as_values() -> None:
    fields = "".join(f"int32 f{number} = {number + 2};" for number in range(1_000))
    text = f'syntax = "proto3"; message M {{ repeated M inner = 1; {fields} }}'
    schema = RegisteredSchema(SchemaType.PROTOBUF, text)
    wide = ProtobufReader(RegisteredSchema(schema.kind, text, descriptors=compile_protobuf(schema)))

    with pytest.raises(Unreadable, match="more values"):
        wide.value(Payload(1, b"\0" + b"\x0a\0" * 200))
