"""What compiled code accepts as Avro, beside what fastavro writes and reads."""

import io
import random
from collections.abc import Iterator
from time import thread_time_ns
from typing import Any

import fastavro
import pytest

from bifrost.schemas.avro_check import AvroProgram
from bifrost.schemas.avro_program import avro_program
from bifrost.wire.steps import set_pause

SCHEMA: Any = {
    "type": "record",
    "name": "Everything",
    "fields": [
        {"name": "a", "type": "boolean"},
        {"name": "b", "type": ["null", "int", "string"]},
        {"name": "c", "type": {"type": "array", "items": {"type": "map", "values": "long"}}},
        {"name": "d", "type": {"type": "enum", "name": "E", "symbols": ["X", "Y"]}},
        {"name": "e", "type": {"type": "fixed", "name": "F", "size": 3}},
        {"name": "f", "type": "float"},
        {"name": "g", "type": "double"},
        {"name": "h", "type": "bytes"},
        {"name": "i", "type": "null"},
        {"name": "j", "type": "E"},
    ],
}


def program_of(schema: Any) -> AvroProgram:
    named: dict[str, Any] = {}
    return avro_program(fastavro.parse_schema(schema, named_schemas=named), named)


def value(chance: random.Random) -> dict[str, Any]:
    return {
        "a": chance.random() < 0.5,
        "b": chance.choice([None, -(2**31), 2**31 - 1, "", "töst"]),
        "c": [
            {str(at): chance.randrange(-(2**63), 2**63) for at in range(3)}
            for _ in range(chance.randrange(4))
        ],
        "d": chance.choice("XY"),
        "e": chance.randbytes(3),
        "f": 1.5,
        "g": 2.5,
        "h": chance.randbytes(chance.randrange(90)),
        "i": None,
        "j": "X",
    }


def written(schema: Any, datum: Any) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), datum)
    return out.getvalue()


def test_what_fastavro_writes_is_accepted_and_each_shorter_or_longer_one_refused() -> None:
    chance, program = random.Random(1), program_of(SCHEMA)
    for _ in range(50):
        data = written(SCHEMA, value(chance))
        assert program.check(data, 1000) > 10
        for wrong in (data[:-1], data + b"\0", data[: len(data) // 2]):
            with pytest.raises(ValueError, match="at byte"):
                program.check(wrong, 1000)


def test_what_passes_can_be_read_by_fastavro() -> None:
    chance, program, passed = random.Random(2), program_of(SCHEMA), 0
    parsed = fastavro.parse_schema(SCHEMA)
    for _ in range(3000):
        data = bytearray(written(SCHEMA, value(chance)))
        data[chance.randrange(len(data))] = chance.randrange(256)
        try:
            program.check(bytes(data), 1000)
        except ValueError:
            continue
        passed += 1
        fastavro.schemaless_reader(io.BytesIO(bytes(data)), parsed, None)
    assert passed > 300


@pytest.mark.parametrize(
    ("schema", "data", "reason"),
    [
        ("int", b"\x80\x80\x80\x80\x20", "beyond 32 bits"),
        ("long", b"\xff" * 10 + b"\1", "more than 10 bytes"),
        ("boolean", b"\2", "neither 0 nor 1"),
        ("string", b"\2\xff", "UTF-8"),
        ("string", b"\1", "length"),
        ("bytes", b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\1", "length"),
        (["null", "int"], b"\4", "branch"),
        ({"type": "enum", "name": "E", "symbols": ["X"]}, b"\2", "symbol"),
        ({"type": "array", "items": "int"}, b"\1\4\2\0", "another size"),
        ({"type": "map", "values": "int"}, b"\2\2\xff\2\0", "UTF-8"),
        ({"type": "array", "items": "null"}, b"\xfe\xff\xff\xff\xff\xff\xff\xff\x7f\0", "more values"),
        (
            {"type": "array", "items": "null"},
            b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\1\0\0",
            "more values",
        ),
    ],
)
def test_what_avro_cannot_be_is_refused_with_its_place(schema: Any, data: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        program_of(schema).check(data, 10_000)


def test_blocks_with_their_size_are_read() -> None:
    assert program_of({"type": "array", "items": "int"}).check(b"\3\4\2\2\2\4\0", 100) == 4


def test_data_deeper_than_stacks_is_refused() -> None:
    node = {"type": "record", "name": "N", "fields": [{"name": "next", "type": ["null", "N"]}]}

    with pytest.raises(ValueError, match="more depth"):
        program_of(node).check(b"\2" * 1_000_000, 10_000_000)


def test_a_program_that_does_not_fit_together_is_refused() -> None:
    for lists in (([], [], [], []), ([12], [0], [1], []), ([12], [0], [1], [1]), ([0], [], [], [])):
        with pytest.raises(ValueError, match=r"no such|differ"):
            AvroProgram(*lists)


LONGS = {"type": "array", "items": "long"}
MIB = 1 << 20
PIECE = 16384


@pytest.mark.parametrize("character", ["\u00fc", "\u20ac", "\U0001f600"])
@pytest.mark.parametrize("shift", range(4))
def test_a_character_may_stand_across_two_pieces_of_a_text(character: str, shift: int) -> None:
    text = "x" * shift + character * PIECE
    data = written("string", text)

    assert program_of("string").check(data, 1) == 1
    for place in (PIECE, 2 * PIECE - 1, len(data) - 1):
        broken = bytearray(data)
        broken[place] = 0xFF
        with pytest.raises(ValueError, match="UTF-8"):
            program_of("string").check(bytes(broken), 1)


def test_a_text_that_ends_within_a_character_is_refused() -> None:
    data = "\u20ac".encode() * PIECE
    size = written("bytes", data[:-1])[: -len(data) + 1]

    with pytest.raises(ValueError, match="UTF-8"):
        program_of("string").check(size + data[:-1], 1)


@pytest.fixture
def pauses() -> Iterator[list[int]]:
    """Note when loops may pause, each time with the nanoseconds since the pause before."""
    found, last = [], [thread_time_ns()]

    def pause() -> None:
        found.append(thread_time_ns() - last[0])
        last[0] = thread_time_ns()

    set_pause(pause)
    yield found
    set_pause(None)


def of_size(schema: Any, item: bytes, count: int) -> bytes:
    """Return a text, or an array of numbers, that has an item so often."""
    number = count if schema is LONGS else count * len(item)
    return written("long", number) + item * count + (b"\0" if schema is LONGS else b"")


@pytest.mark.parametrize(
    ("schema", "item", "count"),
    [
        (LONGS, written("long", 2**20), 999_999),
        ("string", b"x", 4 * MIB),
        ("string", b"\xe2\x82\xac", 4 * MIB // 3),
    ],
    ids=["a million numbers", "a text", "a text beyond ASCII"],
)
def test_a_payload_of_4_mib_is_checked_in_steps(
    schema: Any, item: bytes, count: int, pauses: list[int]
) -> None:
    """No step takes longer than 2 ms of this thread's own time; some 0.03 ms are usual."""
    program_of(schema).check(of_size(schema, item, count), 1_000_000)

    assert len(pauses) > 100
    assert max(pauses[1:]) < 2_000_000
