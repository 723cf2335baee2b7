import io
import json
from dataclasses import replace
from datetime import date
from typing import Any

import fastavro
import pytest

from bifrost.encryption.dek import Dek, WritingDek
from bifrost.records.codec.client_batch import read_columns
from bifrost.records.codec.columns import ColumnRecord, Header
from bifrost.schemas.registered_schema import SchemaType
from bifrost.schemas.schema_key import SubjectStrategy
from bifrost.transforms.chain import transform_batch
from bifrost.transforms.encryption.avro_sealing import SealTargets
from bifrost.transforms.encryption.dek_needs import DekToOpen, DekToSeal
from bifrost.transforms.encryption.field_sealing import FieldSealing, no_mask
from bifrost.transforms.encryption.seal_rules import SealRules
from bifrost.transforms.masking.field_path import path_of
from bifrost.transforms.masking.fields_by_schema import FieldRules, FieldsBySchema
from bifrost.transforms.record_transform import Buffer, Direction, Failure, Known, Needs, Rejected
from bifrost.wire.error_codes import ErrorCode
from support.records.record_columns import batch_of, only_batch, plenty
from support.records.schema_answers import REGISTRY, answers, of_schema

PRODUCE, FETCH = Direction.PRODUCE, Direction.FETCH
Deks = tuple[WritingDek, Dek, bytes]
PII = {"confluent:tags": ["PII"]}
SCHEMA = {
    "type": "record",
    "name": "Order",
    "namespace": "shop",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "email", "type": "string"} | PII,
        {"name": "phone", "type": ["null", "string"]} | PII,
        {"name": "photo", "type": "bytes"},
        {"name": "either", "type": ["int", "bytes", "string", "null"]},
        {"name": "labels", "type": {"type": "map", "values": "string"}},
        {"name": "names", "type": {"type": "array", "items": ["null", "string"]}} | PII,
        {
            "name": "home",
            "type": {
                "type": "record",
                "name": "Address",
                "fields": [
                    {"name": "street", "type": "string"},
                    {"name": "zip", "type": "int"},
                    {"name": "before", "type": ["null", "Address"], "default": None},
                ],
            },
        },
        {"name": "work", "type": ["null", "Address"]},
        {"name": "free", "type": ["string", "Address"]},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
    ],
}
VALUE: dict[str, Any] = {
    "id": 7,
    "email": "SECRET-é@b.c",
    "phone": "SECRET-1",
    "photo": b"SECRET-\xff",
    "either": 12345,
    "labels": {"ssn": "SECRET-2", "seen": "visible-1"},
    "names": ["SECRET-3", None, "SECRET-4"],
    "home": {
        "street": "SECRET-5",
        "zip": 9,
        "before": {"street": "visible-2", "zip": 8, "before": None},
    },
    "work": {"street": "visible-3", "zip": 10, "before": None},
    "free": "SECRET-6",
    "day": 20000,
}
PATHS = ("photo", "either", "labels.ssn", "home.street", "free.street")
SEALED = 9
"""Fields of VALUE that are sealed, among them those with a tag."""


def encoded(schema: Any, value: Any) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), value)
    return out.getvalue()


def decoded(schema: Any, data: bytes) -> Any:
    return fastavro.schemaless_reader(io.BytesIO(data), fastavro.parse_schema(schema), None)


def run(
    rules: SealRules,
    data: Buffer,
    direction: Direction,
    known: Known,
    paths: tuple[str, ...] = PATHS,
    tags: tuple[str, ...] = ("PII",),
) -> Buffer | Rejected | Needs:
    fields = FieldRules([path_of(one) for one in paths], frozenset(tags), SealTargets, no_mask, no_mask)
    found = FieldsBySchema(fields, REGISTRY, (("orders",), SubjectStrategy.TOPIC))
    steps = [FieldSealing(rules, found).at(3)]
    return transform_batch(only_batch(bytes(data)), steps, direction, known, plenty())


def known_of(rules: SealRules, deks: Deks, *more: Known) -> Known:
    found: dict[Any, object] = {
        DekToSeal(rules.kek, rules.context): deks[0],
        DekToOpen(rules.kek, rules.context, deks[2]): deks[1],
    }
    for one in more:
        found |= one
    return found


def of(*values: bytes | None, headers: tuple[Header, ...] = (), codec: int = 0) -> bytes:
    return batch_of([ColumnRecord(at, 0, b"k", one, headers) for at, one in enumerate(values)], codec=codec)


def values_of(data: object) -> list[bytes]:
    assert isinstance(data, bytes | memoryview), data
    return [one.value or b"" for one in read_columns(only_batch(bytes(data)), plenty()).records()]


def test_fields_come_back_byte_for_byte_and_the_sealed_value_reads_under_its_schema(
    rules: SealRules, deks: Deks
) -> None:
    known = known_of(rules, deks, answers(5, SchemaType.AVRO, SCHEMA))
    sent = of_schema(5, encoded(SCHEMA, VALUE))

    made = run(rules, of(sent, None, codec=4), PRODUCE, known)

    sealed, tombstone = values_of(made)
    assert tombstone == b""
    assert b"SECRET" not in sealed
    assert sealed.count(b"bifrost:sealed:") + sealed.count(b"BFST\1\5") == SEALED
    seen = decoded(SCHEMA, sealed[5:])
    assert (seen["id"], seen["labels"]["seen"], seen["day"]) == (7, "visible-1", date(2024, 10, 4))
    assert seen["email"].startswith("bifrost:sealed:")
    assert seen["photo"].startswith(b"BFST")
    assert seen["either"].startswith(b"BFST"), "the first branch that has room"
    assert seen["names"][1] is None
    assert (seen["home"]["zip"], seen["home"]["before"]["street"]) == (9, "visible-2")
    assert seen["work"] == VALUE["work"], "another place of the same type"
    assert isinstance(made, bytes | memoryview)
    assert values_of(run(rules, made, FETCH, known)) == [sent, b""]


@pytest.mark.parametrize("header_first", [False, True])
def test_a_schema_may_be_named_by_a_header_or_a_guid(
    rules: SealRules, deks: Deks, header_first: bool
) -> None:
    guid = bytes(range(16))
    answer = answers(5, SchemaType.AVRO, SCHEMA)
    known = known_of(rules, deks, {_with(one, guid): what for one, what in answer.items()})
    payload = encoded(SCHEMA, VALUE)
    sent = payload if header_first else b"\1" + guid + payload
    headers = ((b"__value_schema_id", b"\1" + guid),) if header_first else ()

    made = run(rules, of(sent, headers=headers), PRODUCE, known)

    assert b"SECRET" not in values_of(made)[0]
    assert isinstance(made, bytes | memoryview)
    assert values_of(run(rules, made, FETCH, known)) == [sent]


def _with(key: Any, schema_id: bytes) -> Any:
    return replace(key, schema_id=schema_id)


def test_blocks_with_their_size_get_the_new_one(rules: SealRules, deks: Deks) -> None:
    schema = {
        "type": "record",
        "name": "R",
        "fields": [
            {
                "name": "rows",
                "type": {"type": "array", "items": {"type": "array", "items": "string"}},
            }
            | PII,
            {"name": "end", "type": "string"},
        ],
    }
    text = b"\x0cSECRET"
    inner = b"\3" + bytes([2 * 2 * len(text)]) + text * 2 + b"\0"
    payload = b"\1" + _long(len(inner)) + inner + b"\2\2\x0cSECRET\0\0\6end"
    assert decoded(schema, payload) == {"rows": [["SECRET", "SECRET"], ["SECRET"]], "end": "end"}
    known = known_of(rules, deks, answers(5, SchemaType.AVRO, schema))
    sent = of_schema(5, payload)

    made = run(rules, of(sent), PRODUCE, known)

    [sealed] = values_of(made)
    assert b"SECRET" not in sealed
    assert [len(one) for one in decoded(schema, sealed[5:])["rows"]] == [2, 1]
    assert isinstance(made, bytes | memoryview)
    assert values_of(run(rules, made, FETCH, known)) == [sent]


def _long(number: int) -> bytes:
    assert number < 64
    return bytes([2 * number])


def test_a_field_without_room_refuses_all_records_of_its_schema(rules: SealRules, deks: Deks) -> None:
    schema = {"type": "record", "name": "R", "fields": [{"name": "age", "type": ["null", "int"]} | PII]}
    known = known_of(rules, deks, answers(5, SchemaType.AVRO, schema))
    data = of(of_schema(5, b"\0"))

    refused = run(rules, data, PRODUCE, known)

    assert isinstance(refused, Rejected)
    assert refused.error_code == ErrorCode.INVALID_RECORD
    assert "a field of type int has no room" in refused.rejections[0].reason
    assert run(rules, data, PRODUCE, known, (), ("OTHER",)) == data


def test_values_that_name_no_schema_or_do_not_read_are_refused(rules: SealRules, deks: Deks) -> None:
    known = known_of(rules, deks, answers(5, SchemaType.AVRO, SCHEMA))
    good = of_schema(5, encoded(SCHEMA, VALUE))

    for wrong, why in (
        (b"no ID", "names no schema"),
        (good + b"x", "does not read"),
        (good[:-1], "does not read"),
    ):
        refused = run(rules, of(good, wrong), PRODUCE, known)
        assert isinstance(refused, Rejected)
        assert [one.index for one in refused.rejections] == [1]
        assert why in refused.rejections[0].reason
        fetched = run(rules, of(wrong), FETCH, known)
        assert isinstance(fetched, Rejected)
        assert fetched.error_code == ErrorCode.CORRUPT_MESSAGE


def test_plaintext_on_fetch_is_an_error(rules: SealRules, deks: Deks) -> None:
    known = known_of(rules, deks, answers(5, SchemaType.AVRO, SCHEMA))
    empty = VALUE | {"email": "", "photo": b"", "names": [], "labels": {}}

    for value in (VALUE, empty):
        refused = run(rules, of(of_schema(5, encoded(SCHEMA, value))), FETCH, known)
        assert isinstance(refused, Rejected)
        assert refused.error_code == ErrorCode.CORRUPT_MESSAGE


def test_a_field_is_bound_to_its_schema_and_its_place(rules: SealRules, deks: Deks) -> None:
    schema = {
        "type": "record",
        "name": "R",
        "fields": [{"name": "a", "type": "string"} | PII, {"name": "b", "type": "string"} | PII],
    }
    known = known_of(
        rules, deks, answers(5, SchemaType.AVRO, schema), answers(6, SchemaType.AVRO, schema | {"doc": "x"})
    )
    made = run(rules, of(of_schema(5, encoded(schema, {"a": "1", "b": "2"}))), PRODUCE, known)
    [sealed] = values_of(made)
    seen = decoded(schema, sealed[5:])
    crossed = encoded(schema, {"a": seen["b"], "b": seen["a"]})

    for changed in (of_schema(6, sealed[5:]), of_schema(5, crossed)):
        refused = run(rules, of(changed), FETCH, known)
        assert isinstance(refused, Rejected)
        assert "was changed, or sealed for another" in (refused.reason or "")


def test_schemas_are_asked_for_and_a_registry_that_is_away_is_told(rules: SealRules, deks: Deks) -> None:
    known = answers(5, SchemaType.AVRO, SCHEMA)
    data = of(of_schema(5, encoded(SCHEMA, VALUE)))
    own, any_subject = known

    assert run(rules, data, PRODUCE, {}) == Needs(frozenset({own, DekToSeal(rules.kek, rules.context)}))
    assert run(rules, data, FETCH, {}) == Needs(frozenset({any_subject}))
    away = dict.fromkeys(known, Failure("away", is_retriable=True))
    for direction, code in ((PRODUCE, ErrorCode.REQUEST_TIMED_OUT), (FETCH, ErrorCode.KAFKA_STORAGE_ERROR)):
        refused = run(rules, data, direction, known_of(rules, deks, away))
        assert isinstance(refused, Rejected)
        assert refused.error_code == code


def test_tags_of_a_json_schema_lead_to_fields(rules: SealRules, deks: Deks) -> None:
    schema = {
        "type": "object",
        "properties": {
            "email": {"type": "string", "confluent:tags": ["PII", "GDPR"]},
            "age": {"type": "integer", "confluent:tags": ["PII"]},
            "open": {"type": "string", "confluent:tags": ["PUBLIC"]},
            "cards": {"type": "array", "items": {"$ref": "#/$defs/card"}},
        },
        "$defs": {"card": {"properties": {"number": {"type": "string", "confluent:tags": ["PII"]}}}},
    }
    known = known_of(rules, deks, answers(5, SchemaType.JSON, schema))
    text = b'{"email": "SECRET", "age": 77777, "open": "o", "cards": [{"number": "SECRET", "x": 1.50}]}'
    sent = of_schema(5, text)

    made = run(rules, of(sent), PRODUCE, known, ())

    [sealed] = values_of(made)
    assert b"SECRET" not in sealed
    assert b"77777" not in sealed
    seen = json.loads(sealed[5:])
    assert (seen["open"], seen["cards"][0]["x"]) == ("o", 1.5)
    assert isinstance(made, bytes | memoryview)
    assert values_of(run(rules, made, FETCH, known, ())) == [sent]
