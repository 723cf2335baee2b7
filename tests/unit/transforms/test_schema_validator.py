import json
import time
from collections import ChainMap
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from bifrost.config.records.filter_configs import FilterConfig
from bifrost.records.codec.client_batch import read_columns
from bifrost.records.codec.columns import ColumnRecord
from bifrost.schemas.readers.avro_reader import AvroReader
from bifrost.schemas.readers.json_reader import JsonReader
from bifrost.schemas.readers.reader import NO_BOUND
from bifrost.schemas.registered_schema import RegisteredSchema, SchemaType
from bifrost.schemas.schema_key import SchemaAnswer, SchemaKey, SubjectStrategy
from bifrost.schemas.wire_format import VALUE_HEADER, SchemaId
from bifrost.transforms.large_values import ReadRecords, RecordsToRead
from bifrost.transforms.record_transform import (
    Direction,
    Failure,
    Key,
    Needs,
    Noted,
    Outcome,
    Rejected,
    Rejection,
)
from bifrost.transforms.schema_validator import KIND, MAX_IDS, MAX_REJECTIONS, SchemaValidator
from bifrost.transforms.transform_kind import Topic
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.steps import set_pause
from support.records.record_columns import batch_of, only_batch, plenty

TOPIC = Topic("acme", "eu:orders", b"p")
URL = {"registry_url": "http://registry:8081"}
LONG = AvroReader(RegisteredSchema(SchemaType.AVRO, '"long"'))
USER = JsonReader(RegisteredSchema(SchemaType.JSON, json.dumps({"type": "object", "required": ["age"]})))
ANSWERS: dict[SchemaId, object] = {
    1: SchemaAnswer(None, LONG),
    2: SchemaAnswer("schema 2 is not registered"),
    3: Failure("the schema registry cannot be asked now", is_retriable=True),
    4: Failure("schema 4 cannot be used", is_retriable=False),
    5: SchemaAnswer(None, USER),
    6: SchemaAnswer(),
}


class Answers(Mapping[Key, object]):
    """What is known, by the IDs of schemas."""

    def __getitem__(self, key: Key) -> object:
        if not isinstance(key, SchemaKey):
            raise KeyError(key)
        return ANSWERS[key.schema_id]

    def __iter__(self) -> Iterator[Key]:
        return iter(())

    def __len__(self) -> int:
        return 0


def of(schema_id: int, payload: bytes = b"\2") -> bytes:
    return b"\0" + schema_id.to_bytes(4) + payload


def judged(config: dict[str, Any], *records: ColumnRecord | bytes | None) -> Outcome:
    rows = [
        one if isinstance(one, ColumnRecord) else ColumnRecord(at, 0, None, one)
        for at, one in enumerate(records)
    ]
    batch = only_batch(batch_of(rows))
    validator = KIND.make("schemas", FilterConfig.model_validate(URL | config), TOPIC)
    columns = read_columns(batch, plenty())
    outcome: Outcome = validator.transform(batch, columns, Direction.PRODUCE, Answers(), plenty())  # type: ignore[union-attr]
    if outcome is columns:
        return "passes"  # type: ignore[return-value]
    if isinstance(outcome, Noted):
        assert outcome.outcome is columns
    return outcome


def rejected(*pairs: tuple[int, str]) -> Rejected:
    return Rejected(tuple(Rejection(at, f"schemas: {reason}") for at, reason in pairs))


def test_it_is_for_producers_and_asks_for_schemas() -> None:
    assert KIND.directions == {Direction.PRODUCE}
    assert KIND.sources == {"schemas", "readings"}


def test_valid_records_and_tombstones_pass() -> None:
    header = ColumnRecord(0, 0, b"k", b"\2", ((VALUE_HEADER, of(1, b"")),))

    assert judged({}, header, of(1), None, of(1, b"\4"), of(5, b'{"age": 3}')) == "passes"
    assert judged({"level": "id"}, of(6, b"anything"), None) == "passes"


def test_records_whose_schema_is_wrong_are_rejected_one_by_one() -> None:
    twice = ((VALUE_HEADER, of(1)), (VALUE_HEADER, of(1)))

    outcome = judged({"level": "id"}, of(1), of(2), b"{}", of(2), ColumnRecord(4, 0, None, b"", twice))

    assert outcome == rejected(
        (1, "value: schema 2 is not registered"),
        (2, "value: it names no schema: there is neither an ID in front of it nor one in a header"),
        (3, "value: schema 2 is not registered"),
        (4, "value: the header that names its schema is there twice"),
    )
    assert isinstance(outcome, Rejected)
    assert outcome.error_code is ErrorCode.INVALID_RECORD


def test_payloads_that_do_not_read_are_rejected_without_their_content() -> None:
    assert judged({}, of(1), of(1, b"\2\2"), of(5, b'{"name": "secret"}')) == rejected(
        (1, "value: it does not read under its schema: bytes behind the value at byte 1"),
        (2, "value: it does not read under its schema: it breaks the schema at /required"),
    )
    assert judged({"max_payload_bytes": 10}, of(5, b'{"age": 1}   ')) == rejected(
        (0, "value: more than 10 bytes")
    )


def test_keys_are_checked_where_they_have_schemas() -> None:
    parts = {"parts": ["key", "value"], "level": "id"}

    assert judged(parts, ColumnRecord(0, 0, None, of(6)), ColumnRecord(1, 0, of(1), None)) == "passes"
    assert judged(parts, ColumnRecord(0, 0, b"plain", of(6))) == rejected(
        (0, "key: it names no schema: there is neither an ID in front of it nor one in a header")
    )


def test_rules_are_applied_to_records_with_a_value() -> None:
    config = {"level": "rules", "checks": [{"name": "adult", "expression": "value.age >= 18"}]}

    assert judged(config, of(5, b'{"age": 18}'), None) == "passes"
    assert judged(config, of(5, b'{"age": 17}')) == rejected((0, "it breaks the rule adult"))


def test_rules_that_cannot_be_used_let_nothing_pass() -> None:
    config = {"level": "rules", "checks": [{"name": "adult", "expression": "value.age >"}]}

    outcome = judged(config, None)

    assert isinstance(outcome, Rejected)
    assert "its rules cannot be used" in str(outcome.reason)


def test_records_are_not_rejected_without_enforcement_but_noted() -> None:
    outcome = judged({"enforce": False}, of(2))

    assert isinstance(outcome, Noted)
    assert outcome.what == "unenforced"
    assert outcome.reason == "schemas: value: schema 2 is not registered"


def test_a_registry_that_is_away_is_an_error_after_which_clients_try_again() -> None:
    outcome = judged({}, of(1), of(3))

    assert outcome == Rejected(
        (), "schemas: the schema registry cannot be asked now", ErrorCode.REQUEST_TIMED_OUT
    )
    final = judged({}, of(4))
    assert isinstance(final, Rejected)
    assert final.error_code is ErrorCode.INVALID_RECORD


def test_a_registry_that_is_away_is_final_where_records_are_put_aside() -> None:
    outcome = judged({"fail": "quarantine", "quarantine_topic": "bad"}, of(1), of(3))

    assert outcome == Rejected(
        (), "schemas: the schema registry cannot be asked now", ErrorCode.INVALID_RECORD
    )


@pytest.mark.parametrize("level", ["id", "schema"])
def test_a_registry_that_is_away_lets_records_pass_where_the_operator_wants_it(level: str) -> None:
    outcome = judged({"fail": "open", "level": level}, of(1), of(3), of(4))

    assert isinstance(outcome, Noted)
    assert outcome.what == "unchecked"
    assert isinstance(judged({"fail": "open", "level": level}, of(3), of(2)), Rejected)
    if level == "schema":
        assert isinstance(judged({"fail": "open"}, of(3), of(1, b"")), Rejected)


def test_what_is_not_known_is_asked_for() -> None:
    config = FilterConfig.model_validate(
        URL | {"subject": "record", "parts": ["key", "value"], "level": "id"}
    )
    validator = KIND.make("schemas", config, TOPIC)
    batch = only_batch(batch_of([ColumnRecord(0, 0, of(7), of(8)), ColumnRecord(1, 0, of(7), None)]))

    outcome = validator.transform(batch, read_columns(batch, plenty()), Direction.PRODUCE, {}, plenty())  # type: ignore[union-attr]

    assert isinstance(outcome, Needs)
    asked = {key for key in outcome.names if isinstance(key, SchemaKey)}
    assert {(key.schema_id, key.is_key) for key in asked} == {(7, True), (8, False)}
    for key in asked:
        assert (key.topics, key.strategy, key.is_read) == (
            ("eu:orders", "orders"),
            SubjectStrategy.RECORD,
            False,
        )


def test_many_schemas_in_a_batch_are_refused_and_many_rejections_are_told_in_part() -> None:
    outcome = judged({}, *(of(at + 100) for at in range(MAX_IDS + 1)))
    assert isinstance(outcome, Rejected)
    assert "more than 100 schemas" in str(outcome.reason)
    for wrong in (of(2), of(1, b"")):
        outcome = judged({}, *[wrong] * (MAX_REJECTIONS + 5))
        assert isinstance(outcome, Rejected)
        assert len(outcome.rejections) == MAX_REJECTIONS


LARGE = of(5, b'{"age": 1, "text": "' + b"x" * 200_000 + b'"}')
MEDIUM = of(5, b'{"age": 1, "list": [' + b"1," * 10_000 + b"1]}")


def asked(config: dict[str, Any], known: Mapping[Key, object], *values: bytes | None) -> Outcome:
    """Return what becomes of a batch of which something is known that was read elsewhere."""
    batch = only_batch(batch_of([ColumnRecord(at, 0, None, one) for at, one in enumerate(values)]))
    validator = KIND.make("schemas", FilterConfig.model_validate(URL | config), TOPIC)
    columns = read_columns(batch, plenty())
    answers = ChainMap(dict(known), Answers())  # type: ignore[arg-type]
    outcome: Outcome = validator.transform(batch, columns, Direction.PRODUCE, answers, plenty())  # type: ignore[union-attr]
    return "passes" if outcome is columns else outcome  # type: ignore[return-value]


def only_key(outcome: Outcome) -> RecordsToRead:
    assert isinstance(outcome, Needs)
    [key] = outcome.names
    assert isinstance(key, RecordsToRead)
    return key


def test_records_that_take_long_are_read_elsewhere_with_what_is_known_of_the_others() -> None:
    values = (of(5, b'{"age": 1}'), LARGE, of(5, b"{}"), MEDIUM)

    key = only_key(asked({}, {}, *values))

    assert (key.spec.tenant, key.spec.filter, key.topic) == ("acme", "schemas", "eu:orders")
    assert key.given.large is not None
    assert [one.index for one in key.given.large] == [1, 3]
    assert [part.name for part in key.given.large[0].parts] == ["value"]
    assert list(key.given.reasons) == [2]
    assert asked({}, {key: ReadRecords({})}, *values) == "passes"
    assert asked({}, {key: ReadRecords({1: "wrong"})}, *values) == rejected((1, "wrong"))


def test_a_batch_whose_records_cannot_be_read_elsewhere_is_treated_as_the_operator_wants() -> None:
    key = only_key(asked({}, {}, LARGE))
    away = {key: Failure("large records cannot be read now", is_retriable=True)}

    refused = asked({}, away, LARGE)

    assert refused == Rejected((), "schemas: large records cannot be read now", ErrorCode.REQUEST_TIMED_OUT)
    passed = asked({"fail": "open"}, away, LARGE, of(5, b'{"age": 1}'))
    assert isinstance(passed, Needs)  # of another batch
    both = only_key(passed)
    found = asked({"fail": "open"}, {both: away[key]}, LARGE, of(5, b'{"age": 1}'))
    assert isinstance(found, Noted)
    assert found.what == "unchecked"
    wrong = only_key(asked({"fail": "open"}, {}, LARGE, of(5, b"{}")))
    assert isinstance(asked({"fail": "open"}, {wrong: away[key]}, LARGE, of(5, b"{}")), Rejected)


def test_large_avro_is_checked_here_and_larger_values_than_allowed_are_not_read() -> None:
    text = AvroReader(RegisteredSchema(SchemaType.AVRO, '"string"'))
    ANSWERS[7] = SchemaAnswer(None, text)

    assert judged({}, of(7, b"\x80\x89\x7a" + b"a" * 1_000_000)) == "passes"
    assert judged({"max_payload_bytes": 100_000}, LARGE) == rejected((0, "value: more than 100000 bytes"))


def test_where_nothing_waits_all_is_read_at_once() -> None:
    batch = only_batch(batch_of([ColumnRecord(0, 0, None, LARGE)]))
    validator = SchemaValidator("schemas", FilterConfig.model_validate(URL), TOPIC, most_ns=NO_BOUND)
    columns = read_columns(batch, plenty())

    assert validator.transform(batch, columns, Direction.PRODUCE, Answers(), plenty()) is columns


@pytest.mark.parametrize("level", ["schema", "rules"])
def test_no_record_keeps_others_waiting_for_long(level: str) -> None:
    """The longest time of the processor between two pauses, for records of all sizes up to where others read them."""
    config: dict[str, Any] = {"level": level}
    if level == "rules":
        config["checks"] = [{"name": f"c{at}", "expression": "value.age > 0"} for at in range(3)]
    batches = [
        [of(5, b'{"age": 1, "list": [' + b"1," * (size // 2) + b"1]}")] * (1 + 40_000 // size)
        for size in (10, 100, 500, 2_000, 4_000, 8_000, 30_000, 4_000_000)
    ]
    batches += [
        [of(5, b'{"age": 1, "text": "' + b"x" * size + b'"}')] for size in (20_000, 80_000, 4_000_000)
    ]

    longest = []
    for values in batches:
        times = []
        for _ in range(3):
            last_ns, gaps = time.thread_time_ns(), []

            def pause(gaps: list[int] = gaps) -> None:
                nonlocal last_ns
                now_ns = time.thread_time_ns()
                gaps.append(now_ns - last_ns)
                last_ns = now_ns

            set_pause(pause)
            try:
                asked(config, {}, *values)
            finally:
                pause()
                set_pause(None)
            # The first ones are those of the test itself.
            times.append(max(gaps[1:-1], default=0) if len(values) > 1 else max(gaps[-2:]))
        longest.append(min(times))
    # Half a millisecond of work before it may still be without a pause: together less than two.
    assert max(longest) < 1_500_000, longest
