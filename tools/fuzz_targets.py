"""What tools/fuzz_engine.py fuzzes: every version of every message, with valid frames of random content."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from bifrost.wire.codec import Layout, encode_body
from bifrost.wire.message import Message, Struct, message_class
from bifrost.wire.program import Peek, Program
from bifrost.wire.programs import compile_layout, compile_peek, compile_program
from bifrost.wire.schema import Field, FieldType, MessageSchema, all_schemas
from frame_mutations import pick
from fuzz_ways import slots

FRAMES_PER_VERSION = 8
"""Valid frames kept of each version."""

_INTEGERS = {
    FieldType.INT8: (8, True),
    FieldType.INT16: (16, True),
    FieldType.UINT16: (16, False),
    FieldType.INT32: (32, True),
    FieldType.UINT32: (32, False),
    FieldType.INT64: (64, True),
}
TEXTS = ("", "a", "orders", "acme-1_tenant.orders", "ж", "日本", "\0", "n" * 126, "n" * 127, "n" * 300)


@dataclass
class Target:
    """One version of one message, and all that is done to its frames."""

    schema: MessageSchema
    version: int
    layout: Layout
    program: Program
    peek: Peek | None
    frames: list[bytes] = field(default_factory=list)

    def renew(self, rng: random.Random) -> None:
        """Put a new valid frame into the place of an old one."""
        frame = encode_body(self.layout, self._message(rng))
        if len(self.frames) < FRAMES_PER_VERSION:
            self.frames.append(frame)
        else:
            self.frames[pick(rng, FRAMES_PER_VERSION)] = frame

    def large_frame(self, rng: random.Random, size: int) -> bytes:
        """Make a valid frame whose last records, or bytes, have `size` bytes; a usual one if it has no such field."""
        message = self._message(rng)
        cls = message_class(self.schema.name)
        _enlarge(rng, cls, self.schema.fields, self.version, message, _batches(rng, size))
        return encode_body(self.layout, message)

    def _message(self, rng: random.Random) -> Any:
        cls = message_class(self.schema.name)
        return random_struct(rng, cls, cls, self.schema.fields, self.version)


def _enlarge(
    rng: random.Random,
    message: type[Message],
    fields: tuple[Field, ...],
    version: int,
    to: Any,
    records: bytes,
) -> bool:
    """Put the records into the last field of `to` that may hold them; return whether there is one."""
    for f in reversed(fields):
        if version not in f.versions or f.is_tagged(version):
            continue
        if f.type in (FieldType.RECORDS, FieldType.BYTES) and not f.is_array:
            setattr(to, f.name, records)
            return True
        if f.type is FieldType.STRUCT and f.is_array:
            elements = getattr(to, f.name) or [_maker(rng, message, f, version)()]
            setattr(to, f.name, elements)
            if _enlarge(rng, message, f.fields, version, elements[-1], records):
                return True
    return False


def _batches(rng: random.Random, size: int) -> bytes:
    """Make `size` bytes that look like record batches, as far as a header says how long each is."""
    made = bytearray()
    while len(made) < size:
        head, length = rng.randbytes(49), 49 + pick(rng, (100, 20_000)[pick(rng, 2)])
        magic = (0, 1, 2, 2, 2, 2)[pick(rng, 6)]
        made += bytes(8) + length.to_bytes(4, "big") + bytes(4) + bytes([magic]) + head
        made += bytes(max(0, length - 54))
    return bytes(made[:size])


def random_struct(
    rng: random.Random, cls: type[Struct], message: type[Message], fields: tuple[Field, ...], version: int
) -> Any:
    """Make a struct that can be written at `version`."""
    present = [f for f in fields if version in f.versions and not (f.is_tagged(version) and pick(rng, 2))]
    return cls(**{f.name: random_value(rng, message, f, version) for f in present})


def random_value(rng: random.Random, message: type[Message], f: Field, version: int) -> Any:
    """Make a value of a field, now and then null where it may be."""
    if version in f.nullable and pick(rng, 4) == 0:
        return None
    make = _maker(rng, message, f, version)
    return [make() for _ in range((0, 1, 1, 2, 3)[pick(rng, 5)])] if f.is_array else make()


def _maker(rng: random.Random, message: type[Message], f: Field, version: int) -> Callable[[], Any]:
    if f.type is FieldType.STRUCT:
        return partial(random_struct, rng, getattr(message, str(f.struct_name)), message, f.fields, version)
    if f.type in _INTEGERS:
        bits, signed = _INTEGERS[f.type]
        lowest = -(2 ** (bits - 1)) if signed else 0
        # Shifted, so that small numbers are as common as large ones.
        return lambda: (rng.getrandbits(bits) + lowest) >> pick(rng, bits)
    makers: dict[FieldType, Callable[[], Any]] = {
        FieldType.BOOL: lambda: bool(pick(rng, 2)),
        FieldType.FLOAT64: rng.random,
        FieldType.UUID: lambda: rng.randbytes(16) if pick(rng, 3) else bytes(16),
        FieldType.STRING: lambda: TEXTS[pick(rng, len(TEXTS))],
        FieldType.BYTES: lambda: rng.randbytes(pick(rng, 40)),
        FieldType.RECORDS: lambda: rng.randbytes(5000 if pick(rng, 8) == 0 else pick(rng, 40)),
    }
    return makers[f.type]


def build_targets(rng: random.Random) -> list[Target]:
    """Compile every version of every message, with its first valid frames."""
    targets = []
    for schema in all_schemas():
        for version in schema.versions:
            program = compile_program(schema.name, version, dict(slots(schema.fields, version, "")))
            layout = compile_layout(schema.name, version)
            targets.append(Target(schema, version, layout, program, _front(schema, version)))
            for _ in range(FRAMES_PER_VERSION):
                targets[-1].renew(rng)
    return targets


def _front(schema: MessageSchema, version: int) -> Peek | None:
    """Compile a peek at the numbers before the first array or struct."""
    wanted = []
    for f in schema.fields:
        if version in f.versions and not f.is_tagged(version):
            if f.is_array or f.type is FieldType.STRUCT:
                break
            if f.type in _INTEGERS or f.type is FieldType.BOOL:
                wanted.append(f.kafka_name)
    return compile_peek(schema.name, version, wanted) if wanted else None
