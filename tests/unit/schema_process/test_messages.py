import json
from collections.abc import Sequence

from bifrost.confined.frames import LENGTHS, Frame, pack, read_head, read_lengths
from bifrost.schema_process.messages import (
    FirstMessage,
    Message,
    first_message,
    read_first,
    read_records,
    read_schema,
    records_message,
    schema_message,
)
from bifrost.schemas.readers.json_reader import JsonReader
from bifrost.schemas.readers.reader import Reader
from bifrost.schemas.record_check import ReadPart
from bifrost.schemas.registered_schema import Reference, RegisteredSchema, SchemaType
from bifrost.schemas.wire_format import Payload

ANY = JsonReader(RegisteredSchema(SchemaType.JSON, "true"))
AGE = JsonReader(RegisteredSchema(SchemaType.JSON, json.dumps({"required": ["age"]})))


def received(message: Message) -> Frame:
    data = b"".join(bytes(piece) for piece in pack(*message))
    at = LENGTHS.size + read_lengths(data[: LENGTHS.size], 1 << 30)[0]
    return Frame(read_head(data[LENGTHS.size : at]), memoryview(data)[at:])


def test_rules_and_schemas_arrive_as_they_are() -> None:
    first = FirstMessage(1 << 20, (("adult", "value.age >= 18"),))
    schema = RegisteredSchema(SchemaType.PROTOBUF, "text", (Reference("money.proto", "ä"),), b"\0descriptors")

    assert read_first(received(first_message(first))) == first
    frame = received(schema_message(3, schema, forgets=True))
    assert (frame.head["number"], frame.head["forgets"]) == (3, True)
    assert read_schema(frame) == schema
    plain = RegisteredSchema(SchemaType.AVRO, '"long"')
    assert read_schema(received(schema_message(0, plain, forgets=False))) == plain


def test_records_arrive_with_their_readers_and_times() -> None:
    records: Sequence[Sequence[ReadPart]] = [
        [
            ReadPart("key", ANY, Payload(1, memoryview(b"1"))),
            ReadPart("value", AGE, Payload(2, b"{}", b"\0")),
        ],
        [ReadPart("value", ANY, Payload(1, b""))],
    ]
    numbers: dict[Reader, int] = {ANY: 0, AGE: 1}

    frame = received(records_message(records, numbers.__getitem__, [1.5, 2.0]))
    found = read_records(frame, [ANY, AGE].__getitem__)

    assert [time_s for time_s, _ in found] == [1.5, 2.0]
    told = [
        [(one.name, one.reader, bytes(one.payload.data), bytes(one.payload.indexes)) for one in parts]
        for _, parts in found
    ]
    assert told == [[("key", ANY, b"1", b""), ("value", AGE, b"{}", b"\0")], [("value", ANY, b"", b"")]]
