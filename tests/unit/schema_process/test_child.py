"""The program itself, without a process: one message. Processes are in tests/unit/gateway/sources/reading."""

import json
import signal

import pytest

from bifrost.confined.frames import Frame
from bifrost.schema_process import child
from bifrost.schema_process.child import TOO_MUCH_MEMORY, judged
from bifrost.schema_process.messages import records_message
from bifrost.schemas.readers.json_reader import JsonReader
from bifrost.schemas.record_check import ReadPart
from bifrost.schemas.registered_schema import RegisteredSchema, SchemaType
from bifrost.schemas.schema_checks import SchemaChecks
from bifrost.schemas.wire_format import Payload
from unit.schema_process.test_messages import received

AGE = JsonReader(RegisteredSchema(SchemaType.JSON, json.dumps({"required": ["age"]})))
ADULT = SchemaChecks([("adult", "value.age >= 18")])


def frame(*values: bytes) -> Frame:
    records = [[ReadPart("value", AGE, Payload(1, one))] for one in values]
    return received(records_message(records, lambda _: 0, [5.0] * len(values)))


def test_each_record_has_its_reason() -> None:
    found = judged(frame(b'{"age": 18}', b'{"age": 1}', b"{}"), {0: AGE}, ADULT)

    assert found == (
        [
            None,
            "it breaks the rule adult",
            "value: it does not read under its schema: it breaks the schema at /required",
        ],
        False,
    )
    assert signal.getitimer(signal.ITIMER_PROF)[0] == 0


def test_memory_that_comes_to_an_end_is_that_of_the_last_record(monkeypatch: pytest.MonkeyPatch) -> None:
    def reason(parts: list[ReadPart], _checks: object) -> str | None:
        if bytes(parts[0].payload.data) == b"large":
            raise MemoryError
        return None

    monkeypatch.setattr(child, "_reason", reason)

    assert judged(frame(b"1", b"large", b"2"), {0: AGE}, None) == ([None, TOO_MUCH_MEMORY], True)
