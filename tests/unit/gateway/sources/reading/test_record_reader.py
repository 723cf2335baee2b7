"""Records read in real processes: what is found, and what becomes of records that take too much."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import psutil
import pytest

from bifrost.forwarding.clock import monotonic_ns
from bifrost.gateway.sources.reading import record_reader
from bifrost.gateway.sources.reading.process_room import ProcessRoom
from bifrost.gateway.sources.reading.record_reader import TOO_MUCH, RecordReader
from bifrost.registry.protobuf_compiler import compile_protobuf
from bifrost.schemas.readers.avro_reader import AvroReader
from bifrost.schemas.readers.json_reader import JsonReader
from bifrost.schemas.readers.protobuf_reader import ProtobufReader
from bifrost.schemas.readers.reader import Reader
from bifrost.schemas.record_check import ReadPart
from bifrost.schemas.registered_schema import RegisteredSchema, SchemaType
from bifrost.schemas.wire_format import Payload
from bifrost.transforms.large_values import GivenRecords, LargeRecord, ReadRecords, ReadSpec, RecordsToRead
from bifrost.transforms.record_transform import Failure
from support.records.transforms import all_gone

pytestmark = pytest.mark.timeout(300)

AGE = {"type": "object", "required": ["age"]}
_TWICE = [{"items": {"$ref": "#/$defs/a"}}] * 2
ENDLESS = {"$defs": {"a": {"allOf": _TWICE}}, "$ref": "#/$defs/a"}
"""A value of 50 brackets is compared 2^50 times."""


def json_reader(schema: Any) -> Reader:
    return JsonReader(RegisteredSchema(SchemaType.JSON, json.dumps(schema)))


def key_of(reader: Reader, *payloads: bytes, reasons: dict[int, str] | None = None) -> RecordsToRead:
    large = [
        LargeRecord(at, (ReadPart("value", reader, Payload(1, one)),)) for at, one in enumerate(payloads)
    ]
    return RecordsToRead(SPEC, "orders", repr(payloads).encode(), GivenRecords(large, reasons or {}))


SPEC = ReadSpec("acme", "schemas", 1 << 20, ())


class Case:
    """A reader with a clock that a test moves, and what it counts."""

    def __init__(self, spec: ReadSpec = SPEC) -> None:
        self.spec = spec
        self.counts: Counter[str] = Counter()
        self.skipped_ns = 0

    def count(self, name: str, number: str, amount: int, tenant: str) -> None:
        assert (name, tenant) == ("schemas", "acme")
        self.counts[number] += amount

    def now_ns(self) -> int:
        return monotonic_ns() + self.skipped_ns

    def play(self, scenario: Callable[[RecordReader], Awaitable[None]]) -> None:
        async def whole() -> None:
            reader = RecordReader(self.spec, self.now_ns, self.count, ProcessRoom())
            try:
                await scenario(reader)
            finally:
                reader.close()
                await all_gone()

        asyncio.run(whole())


async def reasons(reader: RecordReader, key: RecordsToRead) -> dict[int, str]:
    found = await reader.read(key)
    assert isinstance(found, ReadRecords), found
    return dict(found.reasons)


def test_records_of_all_kinds_are_read_in_one_process() -> None:
    case = Case()
    text = 'syntax = "proto3"; message M { int64 a = 1; }'
    schema = RegisteredSchema(SchemaType.PROTOBUF, text)
    proto = ProtobufReader(RegisteredSchema(schema.kind, text, descriptors=compile_protobuf(schema)))
    avro = AvroReader(RegisteredSchema(SchemaType.AVRO, '"long"'))
    large = b'{"age": 1, "list": [' + b"1," * 500_000 + b"1]}"

    async def scenario(reader: RecordReader) -> None:
        found = await reasons(reader, key_of(json_reader(AGE), large, b"{}", reasons={7: "known"}))
        assert list(found) == [7, 1]
        assert found[1] == "value: it does not read under its schema: it breaks the schema at /required"
        assert await reasons(reader, key_of(proto, b"\0\x08\1")) == {}
        assert list(await reasons(reader, key_of(proto, b"\0\x08"))) == [0]
        assert list(await reasons(reader, key_of(avro, b"\2", b"\2\2"))) == [1]

    case.play(scenario)
    assert (case.counts["readings"], case.counts["reading_starts"]) == (4, 1)
    assert case.counts["reading_ns"] > 0


def test_rules_are_applied_there() -> None:
    case = Case(SPEC._replace(checks=(("adult", "value.age >= 18"),)))

    async def scenario(reader: RecordReader) -> None:
        found = await reasons(reader, key_of(json_reader(AGE), b'{"age": 18}', b'{"age": 17}'))
        assert found == {1: "it breaks the rule adult"}

    case.play(scenario)


def test_a_record_that_takes_too_long_is_not_valid_and_no_other_is_refused_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(record_reader, "TIME_S", 0.3)
    case, endless = Case(), json_reader(ENDLESS)
    bomb = b"[" * 50 + b"]" * 50

    async def scenario(reader: RecordReader) -> None:
        assert await reasons(reader, key_of(endless, b"[]", bomb, b"[]")) == {1: TOO_MUCH}
        assert await reasons(reader, key_of(json_reader(AGE), b'{"age": 1}')) == {}

    case.play(scenario)
    # Once with the others, once by itself.
    assert case.counts["unread_time"] == 2


def test_a_record_that_takes_too_much_memory_is_not_valid(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_reader, "MEMORY_FACTOR", 0)
    monkeypatch.setattr(record_reader, "MEMORY_BYTES", 16 << 20)
    case = Case()

    async def scenario(reader: RecordReader) -> None:
        large = b"[" + b"{}," * 1_000_000 + b"{}]"
        assert await reasons(reader, key_of(json_reader(True), large, b"1")) == {0: TOO_MUCH}
        assert await reasons(reader, key_of(json_reader(True), b"1")) == {}

    case.play(scenario)
    assert case.counts["unread_memory"] + case.counts["unread_crash"] >= 1


def test_a_process_that_is_killed_is_an_error_after_which_clients_try_again() -> None:
    case = Case()

    async def scenario(reader: RecordReader) -> None:
        bomb = b"[" * 50 + b"]" * 50
        running = asyncio.ensure_future(reader.read(key_of(json_reader(ENDLESS), bomb)))
        while reader._child is None:  # noqa: ASYNC110 - nothing tells of it
            await asyncio.sleep(0.01)
        child = psutil.Process(reader._child.pid)
        child.send_signal(signal.SIGKILL)
        found = await running
        assert isinstance(found, Failure)
        assert found.is_retriable
        resting = await reader.read(key_of(json_reader(AGE), b"{}"))
        assert isinstance(resting, Failure)
        case.skipped_ns = 60_000_000_000
        assert list(await reasons(reader, key_of(json_reader(AGE), b"{}"))) == [0]

    case.play(scenario)
    assert case.counts["unread_unavailable"] == 2


def test_a_process_that_cannot_be_started_is_an_error_after_which_clients_try_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(record_reader, "PROGRAM", "bifrost.absent")

    async def scenario(reader: RecordReader) -> None:
        found = await reader.read(key_of(json_reader(AGE), b"{}"))
        assert found == Failure("large records cannot be read now", is_retriable=True)

    Case().play(scenario)


def test_what_waits_is_bounded_and_what_waits_no_more_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_reader, "MAX_WAITING", 2)
    case = Case()

    async def scenario(reader: RecordReader) -> None:
        first = asyncio.ensure_future(reader.read(key_of(json_reader(AGE), b"{}")))
        second_key = key_of(json_reader(AGE), b"{}")
        second = asyncio.ensure_future(reader.read(second_key))
        await asyncio.sleep(0)
        third = await reader.read(key_of(json_reader(AGE), b"{}"))
        assert third == Failure("too many batches wait to be read", is_retriable=True)
        second.cancel()
        assert isinstance(await first, ReadRecords)
        assert second_key.given.large is None
        await asyncio.gather(*reader._tasks)

    case.play(scenario)
    assert case.counts["readings"] == 1


def test_many_schemas_are_forgotten_and_given_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_reader, "MAX_SCHEMAS", 3)
    case = Case()

    async def scenario(reader: RecordReader) -> None:
        readers = [json_reader({"const": number}) for number in range(5)]
        for _ in range(2):
            for number, one in enumerate(readers):
                assert await reasons(reader, key_of(one, b"%d" % number)) == {}
        mixed = [
            LargeRecord(at, (ReadPart("value", one, Payload(1, b"%d" % at)),))
            for at, one in enumerate(readers)
        ]
        key = RecordsToRead(SPEC, "orders", b"mixed", GivenRecords(mixed, {}))
        assert await reasons(reader, key) == {}

    case.play(scenario)


def test_many_records_are_read_in_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_reader, "MAX_GROUP", 3)
    payloads: Sequence[bytes] = [b"{}" if number % 2 else b'{"age": 1}' for number in range(10)]

    async def scenario(reader: RecordReader) -> None:
        assert list(await reasons(reader, key_of(json_reader(AGE), *payloads))) == [1, 3, 5, 7, 9]

    Case().play(scenario)


def test_a_process_without_work_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_reader, "IDLE_S", 0.05)

    async def scenario(reader: RecordReader) -> None:
        await reasons(reader, key_of(json_reader(AGE), b"{}"))
        assert reader._child is not None
        pid = reader._child.pid
        while reader._child is not None:  # noqa: ASYNC110 - nothing tells of it
            await asyncio.sleep(0.01)
        await all_gone()
        assert not os.path.exists(f"/proc/{pid}")  # noqa: ASYNC240
        assert list(await reasons(reader, key_of(json_reader(AGE), b"{}"))) == [0]

    Case().play(scenario)
