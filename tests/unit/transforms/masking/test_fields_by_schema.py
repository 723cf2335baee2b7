import io
import json
from typing import Any

import fastavro
import pytest

from bifrost.config.kept_secret import KeptSecret
from bifrost.config.records.filter_configs import FilterConfig
from bifrost.records.codec.client_batch import read_columns
from bifrost.records.codec.columns import ColumnRecord, Columns
from bifrost.schemas.registered_schema import SchemaType
from bifrost.schemas.schema_key import SchemaAnswer
from bifrost.transforms.masking.masking import KIND
from bifrost.transforms.record_transform import Direction, Failure, Known, Needs, Outcome, Rejected
from bifrost.transforms.transform_kind import Topic
from bifrost.wire.error_codes import ErrorCode
from support.physical_names import physical_name
from support.records.record_columns import batch_of, only_batch, plenty
from support.records.schema_answers import REGISTRY, answers, of_schema

TOPIC = Topic("acme", "orders", physical_name("acme", "orders").encode())
SCHEMA = {
    "type": "record",
    "name": "R",
    "fields": [
        {"name": "card", "type": "string"},
        {"name": "rows", "type": {"type": "array", "items": ["null", "string"]}},
        {"name": "age", "type": ["null", "int"]},
        {"name": "name", "type": "string"},
    ],
}
FIELDS = [
    {"path": "card", "action": "last_four"},
    {"path": "rows[*]", "action": "hash"},
    {"path": "age", "action": "set_null"},
]


def seen_by(known: Known, *values: bytes | None, **more: Any) -> Outcome:
    given = {
        "fields": FIELDS,
        "format": "schema",
        "registry_url": REGISTRY.url,
        "hash_key": KeptSecret(b"k" * 32),
    }
    config = FilterConfig.model_validate(given | more)
    assert KIND.sources_of(config) == {"schemas"}
    assert KIND.sources_of(FilterConfig.model_validate({"fields": FIELDS})) == frozenset()
    batch = only_batch(
        batch_of([ColumnRecord(at, 0, b"k", one) for at, one in enumerate(values)], base_offset=70)
    )
    transform: Any = KIND.make("gdpr", config, TOPIC)
    outcome: Outcome = transform.transform(
        batch, read_columns(batch, plenty()), Direction.FETCH, known, plenty()
    )
    return outcome


def written(value: Any) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(SCHEMA), value)
    return out.getvalue()


VALUE = {"card": "4111111111111111", "rows": ["x", None], "age": 44, "name": "n"}


def test_fields_of_avro_and_json_are_masked_alike() -> None:
    known = answers(5, SchemaType.AVRO, SCHEMA) | answers(6, SchemaType.JSON, {"type": "object"})
    avro, text = of_schema(5, written(VALUE)), of_schema(6, json.dumps(VALUE).encode())

    outcome = seen_by(known, avro, text, None)

    assert isinstance(outcome, Columns)
    first, second, tombstone = outcome.values
    assert first is not None
    assert second is not None
    seen = fastavro.schemaless_reader(io.BytesIO(first[5:]), fastavro.parse_schema(SCHEMA), None)
    assert seen == json.loads(second[5:])
    assert (seen["card"], seen["age"], seen["name"]) == ("****1111", None, "n")
    assert (len(seen["rows"][0]), seen["rows"][1]) == (64, None)
    assert tombstone is None


@pytest.mark.parametrize("value", [b"no ID", of_schema(5, b"x"), of_schema(9, b"x"), of_schema(7, b"x")])
def test_a_value_that_does_not_read_never_passes(value: bytes) -> None:
    known = dict(answers(5, SchemaType.AVRO, SCHEMA) | answers(7, SchemaType.AVRO, "bytes"))
    for key in answers(9, SchemaType.AVRO, SCHEMA):
        known[key] = SchemaAnswer("schema 9 is not registered")

    lenient = seen_by(known, of_schema(5, written(VALUE)), value)
    strict = seen_by(known, of_schema(5, written(VALUE)), value, unreadable="error")

    assert isinstance(lenient, Columns)
    assert lenient.values[0] is not None
    assert lenient.values[1] is None
    assert isinstance(strict, Rejected)
    assert strict.error_code == ErrorCode.CORRUPT_MESSAGE
    assert "offset 71" in (strict.reason or "")


def test_a_registry_that_is_away_is_a_passing_error() -> None:
    known = answers(5, SchemaType.AVRO, SCHEMA)
    data = of_schema(5, written(VALUE))

    assert seen_by({}, data) == Needs(frozenset(key for key in known if not key.topics))  # type: ignore[attr-defined]
    away = seen_by(dict.fromkeys(known, Failure("away", is_retriable=True)), data)
    assert isinstance(away, Rejected)
    assert away.error_code == ErrorCode.KAFKA_STORAGE_ERROR
    unusable = seen_by(dict.fromkeys(known, Failure("cannot be used", is_retriable=False)), data)
    assert isinstance(unusable, Columns)
    assert list(unusable.values) == [None]


def test_a_batch_names_a_bounded_number_of_schemas() -> None:
    values = [of_schema(at, b"x") for at in range(101)]

    outcome = seen_by({}, *values, unreadable="error")

    assert isinstance(outcome, Rejected)
    assert "more than 100 schemas" in (outcome.reason or "")
